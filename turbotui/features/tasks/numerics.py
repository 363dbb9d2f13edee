"""FLOPs and bytes of tasks, by the part of the core's metric definition whose events fit into the task's set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.events.encoder import encode_event
from turbotui.machine.core_metrics import task_metric_definition_of
from turbotui.machine.machine import Machine
from turbotui.machine.pmus import EventError
from turbotui.machine.small_files import text_of
from turbotui.machine.tasks.sets import TaskCounter, core_kinds
from turbotui.quantities.metric_definitions import MetricDefinition, Term
from turbotui.quantities.precision import Precision
from turbotui.quantities.roofline import Sizing, counted
from turbotui.quantities.unavailable import Reason, Unavailable

FLOPS: Final = "flops"
DOUBLE: Final = "double"
"""Words among events that stand for the definition's: of all precisions, or of double precision with the bytes."""
_PMUS: Final = "/sys/bus/event_source/devices"


@dataclass(frozen=True, slots=True)
class Numerics:
    """FLOPs and bytes as far as a set's counters give them."""

    definition: MetricDefinition | None = None  # cut down to what is counted; None where nothing is
    # has_flops, has_bytes: which of the two can be computed
    has_flops: bool = False
    has_bytes: bool = False
    double_only: bool = False  # FLOPs are those in double precision, for the events of the others found no counter
    note: str = ""  # what the numbers leave out, for people; "" where nothing
    why: Unavailable | None = None  # the reason for what cannot be computed; None where both can
    counted: frozenset[str] = frozenset()  # the definition's counters that the sets have
    refused: Unavailable | None = None  # why nothing is counted at all; None where perf counts

    @property
    def counters(self) -> frozenset[str]:
        """The counters from which FLOPs and bytes are computed."""
        definition = self.definition
        return frozenset() if definition is None else frozenset(event.key for event in definition.events)

    def flops(self, counts: Mapping[str, float]) -> float | None:
        """Floating-point operations in these counts; None if a count is missing."""
        if (self.definition is None or not self.has_flops
                or any(term.event not in counts for term in self.definition.flops)):
            return None
        return sum(counts.get(term.event, 0) * term.weight for term in self.definition.flops)

    def bytes(self, counts: Mapping[str, float]) -> float | None:
        """Bytes that the cores loaded and stored; the width of an access is that of `points.WidthModel.MIX`."""
        if self.definition is None or not self.has_bytes or not self.counted <= counts.keys():
            return None
        moved = counted(self.definition, counts, Sizing())
        return None if moved is None else moved.bytes


def definition_counters(machine: Machine) -> tuple[TaskCounter, ...] | Unavailable:
    """The counters of the machine's metric definition, or the reason why there are none."""
    if (definition := task_metric_definition_of(machine.model)) is None:
        return Unavailable(
            Reason.UNKNOWN_MODEL, f"no metric definition counts FLOPs on {machine.model.name or 'this processor'}")
    pmu = next((name for name in definition.pmu if machine.host.exists(f"{_PMUS}/{name}")), None)
    if pmu is None:
        return Unavailable(
            Reason.VIRTUALISED if "hypervisor" in text_of(machine.host, "/proc/cpuinfo") else Reason.NO_HARDWARE,
            f"the kernel offers no core PMU here ({' or '.join(definition.pmu)} below {_PMUS}), and FLOPs "
            f"and bytes are counted by it ({definition.name})",
            "ask the host of a virtual machine to pass the PMU through")
    if core_kinds(machine.host):
        return Unavailable(Reason.NO_HARDWARE, "this machine has several kinds of core, which count FLOPs by different "
                           "events: one set cannot hold a thread that moves between them")
    counters = []
    for event in definition.events:
        if any(term.per_vector for term in definition.flops if term.event == event.key) and _vectors_unknown(machine):
            continue
        try:
            encoded = encode_event(machine.host, f"{pmu}/{event.perf}/")
        except EventError:
            continue  # its format has no such field: as if the core did not have the event
        counters.append(TaskCounter(event.key, encoded[0].attr))
    return tuple(counters)


def _vectors_unknown(machine: Machine) -> bool:
    """Tell whether Arm's SCALE events, which count by 128 bits, would need a factor for longer vectors.

    Neoverse V1 (part 0xd40) has vectors of 256 bits, the others here 128 (their Technical Reference Manuals).
    """
    return machine.model.part == 0xD40


def numerics_of(machine: Machine, has: tuple[TaskCounter, ...] | Unavailable, names: frozenset[str], *,
                asked_double: bool = False) -> Numerics:
    """Determine which of FLOPs and bytes the counters of the sets allow.

    A mean width is that of all instructions or of none: without one of their events every access would be taken for
    one of the others' width.

    Args:
        has: counters of the definition that the machine has, or why there are none.
        names: of the counters in the sets.
    """
    if isinstance(has, Unavailable):
        return Numerics(why=has)
    if (definition := task_metric_definition_of(machine.model)) is None:
        return Numerics(why=Unavailable(Reason.UNKNOWN_MODEL, "no metric definition counts FLOPs on this processor"))
    available = frozenset(counter.name for counter in has)
    usable = names & available
    optional = frozenset(event.key for event in definition.events if event.optional)
    double = tuple(term for term in definition.flops if term.precision is Precision.DOUBLE)
    flops: tuple[Term, ...] = ()
    for terms in (definition.flops, double):
        if not flops and terms and {term.event for term in terms} <= usable | optional:
            flops = tuple(term for term in terms if term.event in usable)
    partial = bool(flops) and not {term.event for term in definition.flops} <= usable | optional
    exact = definition.exact_bytes if _exact(definition, usable) else ()
    single = {term.event for term in definition.flops} - {term.event for term in double} if partial else set()
    widths = tuple(width for width in definition.widths if width.event in available - single)
    accesses = tuple(term.event for term in definition.accesses)
    sized = bool(widths) and usable.issuperset((*accesses, *(width.event for width in widths)))
    has_bytes = bool(flops) and (bool(exact) or sized)
    cut = replace(definition, flops=flops, widths=widths, exact_bytes=exact)
    counted = {term.event for term in (*flops, *exact)}
    if has_bytes and not exact:
        counted.update(accesses, (width.event for width in widths))
    note = definition.note
    if partial:
        because = "as asked for" if asked_double else "the other events found no counter"
        note = f"double precision only, FLOPs and width of accesses, {because}; {definition.note}".rstrip("; ")
    why = None
    if not definition.flops:
        why = Unavailable(Reason.NO_HARDWARE, definition.note)
    elif not flops or not has_bytes:
        lacking = "bytes" if flops else "FLOPs and bytes"
        events = ", ".join(_lacking(definition, available, names, flops=not flops)) or "their events"
        why = Unavailable(Reason.IN_USE, f"{lacking} need {events}, which found no room in one group or were not asked "
                          "for", f"ask for the event {FLOPS}, or {DOUBLE} for double precision and bytes")
    return Numerics(cut, bool(flops), has_bytes, partial, note, why, frozenset(counted))


def _exact(definition: MetricDefinition, names: frozenset[str]) -> bool:
    return bool(definition.exact_bytes) and all(term.event in names for term in definition.exact_bytes)


def in_order(definition: MetricDefinition, counters: Sequence[TaskCounter], *, double: bool) -> tuple[TaskCounter, ...]:
    """The order in which counters are tried: FLOPs of all precisions first, or those of double precision and bytes."""
    first = [term.event for term in definition.flops if not double or term.precision in (Precision.DOUBLE, None)]
    first += [term.event for term in (*definition.exact_bytes, *definition.accesses)]
    if not any(width.event in first for width in definition.widths):
        first += [width.event for width in definition.widths]  # without one of them accesses are no bytes
    rest = [] if double and definition.separates_precision else [counter.name for counter in counters]
    by_name = {counter.name: counter for counter in counters}
    return tuple(by_name[name] for name in dict.fromkeys((*first, *rest)) if name in by_name)


def needed(definition: MetricDefinition, available: frozenset[str]) -> frozenset[str]:
    """The available counters required for FLOPs of all precisions, or for bytes."""
    terms = [*definition.flops, *(definition.exact_bytes if _exact(definition, available) else definition.accesses)]
    widths = () if _exact(definition, available) else definition.widths
    return available.intersection((*(term.event for term in terms), *(width.event for width in widths)))


def _lacking(definition: MetricDefinition, available: frozenset[str], names: frozenset[str], *,
             flops: bool) -> list[str]:
    wanted = needed(definition, available) - names
    if not flops:
        wanted -= {term.event for term in definition.flops} - {width.event for width in definition.widths}
    return [event.name for event in definition.events if event.key in wanted and not event.optional]
