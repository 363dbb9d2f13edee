"""The functions of a command: shares of its time by timed samples, operations and bytes by sampled events.

A timed sample stands for a millisecond of a CPU. A sample of an event stands for the counter's period; a function's
intensity follows from its counts as a core's does (`quantities.roofline.counted`). Overflow interrupts arrive some
instructions late, so counts of short adjacent functions mix.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.core_metrics import CountedCoreType
from turbotui.machine.elf_symbols import FunctionTable, read_functions
from turbotui.machine.ip_records import KERNEL, OTHER_MODE, UNMAPPED, CodeFile
from turbotui.machine.ip_sampling import IpSampler, SampledAttr
from turbotui.quantities.metric_definitions import MetricEvent
from turbotui.quantities.roofline import Counted, Sizing, counted
from turbotui.quantities.sentences import several
from turbotui.quantities.unavailable import Reason, Unavailable

_SHOWN: Final = 40
_MOST_HELD: Final = 1 << 28  # bytes of symbol tables beyond which no other file's is read: anybody's code is sampled
_PERIOD: Final = 2_000_003
"""The period of sampled events: two events a cycle at 4 GHz give 4,000 samples a second."""
_SOFTWARE: Final = 1  # PERF_TYPE_SOFTWARE, whose events are thousands a second
_RARE_PERIOD: Final = 97
_ALWAYS: Final = 0.98
_OTHERS: Final = "(others)"
_NO_EVENTS: Final = Unavailable(
    Reason.NOT_READ, "operations and bytes are not counted here, so that only time is sampled",
    "run it on a machine whose core counters this user may read: their floating-point events are then sampled too")
_FEW: Final = Unavailable(Reason.NOT_READ, "no samples of loads and stores fell into it")
_NO_WORK: Final = Unavailable(Reason.NOT_READ, "not every event of operations could be sampled")


@dataclass(frozen=True, slots=True)
class FunctionPoint:
    """A function of a command, or all unnamed code of a file."""

    name: str  # the name; in () for unnamed code
    file: str  # the last part of its file's path; "" if unknown
    samples: int  # the number of timed samples
    share: float  # the share of all timed samples
    error: float  # the standard deviation of that share
    flops: float | None  # operations by sampled events; None if not sampled
    bytes: float | None  # bytes loaded and stored; None if not sampled
    why: Unavailable | None = None  # why operations or bytes are unknown; None if they are known

    @property
    def intensity(self) -> float | None:
        """Flop/byte; None without bytes."""
        return self.flops / self.bytes if self.flops is not None and self.bytes else None


@dataclass(frozen=True, slots=True)
class Functions:
    """All functions of a command."""

    points: tuple[FunctionPoint, ...] = ()  # the busiest first, then the rest together
    samples: int = 0  # the number of all timed samples
    notes: tuple[str, ...] = ()  # notes for readers


@dataclass(frozen=True, slots=True)
class SampledEvent:
    """An event of one core type that is sampled at its overflows."""

    core_type: CountedCoreType
    event: MetricEvent

    @property
    def sampled(self) -> SampledAttr:
        """The event with its period, and the CPUs that count it."""
        rare = self.core_type.pmu.type == _SOFTWARE
        return SampledAttr(replace(self.core_type.attr(self.event), sample_period=_RARE_PERIOD if rare else _PERIOD),
                           self.core_type.cpus)


def sampled_events(core_types: Sequence[CountedCoreType]) -> tuple[SampledEvent, ...]:
    """Return the events of operations, accesses and widths of each core type."""
    return tuple(SampledEvent(core_type, event) for core_type in core_types for event in core_type.definition.events)


def function_points(sampler: IpSampler, events: Sequence[SampledEvent], sizing: Sizing, since: float,
                    tables: dict[CodeFile, FunctionTable] | None = None) -> Functions:
    """Compute functions from samples.

    Args:
        sampler: the sampler, whose rings nobody else reads meanwhile.
        since: the start of the command, in seconds since 1970.
        tables: symbol tables of files, to which newly read ones are added.
    """
    tables = {} if tables is None else tables
    times: Counter[tuple[str, str]] = Counter()
    counts: dict[tuple[str, str], dict[int, float]] = {}
    unnamed: Counter[tuple[str, str]] = Counter()
    shares = sampler.shares()
    for (identifier, file, offset), (number, weight) in sampler.spaces.weights.items():
        key, why = _named(file, offset, tables, since)
        at = sampler.keys.get(identifier)
        if at == -1:
            times[key] += number
            if why:
                unnamed[key[1], why] += number
        elif at is not None:
            weights = counts.setdefault(key, {})
            weights[at] = weights.get(at, 0.0) + weight / (shares.get(at) or 1.0)
    total = times.total()
    asked = [at for at in range(len(events)) if at not in sampler.refused and shares.get(at) != 0.0]
    rows = [_point(key, (times[key], total), _counted(counts.get(key, {}), events, asked, sizing), sampled=bool(asked))
            for key in dict.fromkeys([key for key, _number in times.most_common()] + list(counts))]
    rows.sort(key=lambda row: -row.share)
    return Functions(_with_rest(rows, total), total, tuple(_notes(sampler, events, unnamed, (total, shares))))


def _named(file: CodeFile, offset: int, tables: dict[CodeFile, FunctionTable],
           since: float) -> tuple[tuple[str, str], str]:
    """Return (function, file), and why there is no name."""
    if file == KERNEL:
        return ("(kernel)", ""), ""
    if file == OTHER_MODE:
        return ("(hypervisor or guest)", ""), ""
    if file == UNMAPPED:
        return ("(code that nothing was mapped for)", ""), ""
    if not file.path.startswith("/") or file.path.startswith(("//anon", "/memfd:", "/dev/zero")):
        word = "(vDSO)" if file.path == "[vdso]" else "(made at run time)"
        return (word, "" if word == "(vDSO)" else file.path), ""
    if file not in tables:
        held = sum(table.size for table in tables.values())
        tables[file] = read_functions(file.path, file.inode, since) if held < _MOST_HELD else FunctionTable(
            why=f"functions of other files take {held >> 20} MiB already")
    name = tables[file].name(offset)
    return (name or "(no symbol)", os.path.basename(file.path)), "" if name else tables[file].why


def _point(key: tuple[str, str], number: tuple[int, int], counts: Counted | None, *, sampled: bool) -> FunctionPoint:
    samples, total = number
    share = samples / total if total else 0.0
    error = math.sqrt(share * (1.0 - share) / total) if total else 0.0
    why: Unavailable | None = None
    if not sampled:
        why = _NO_EVENTS
    elif counts is None:
        why = _NO_WORK
    elif not counts.bytes:
        why = _FEW
    return FunctionPoint(*key, samples, share, error, None if counts is None else counts.flops,
                         None if counts is None else counts.bytes, why)


def _counted(counts: Mapping[int, float], events: Sequence[SampledEvent], asked: Sequence[int],
             sizing: Sizing) -> Counted | None:
    """Return operations and bytes of a function over all core types, from events that have samples."""
    flops, size, known = 0.0, 0.0, False
    for core_type in {id(event.core_type): event.core_type for event in events}.values():
        by_key = {events[at].event.key: counts.get(at, 0.0) for at in asked if events[at].core_type is core_type}
        here = core_type.definition.without(core_type.definition.optional - by_key.keys())
        counted_type = counted(here, by_key, sizing) if by_key else None
        if counted_type is None:
            return None
        flops, size, known = flops + counted_type.flops, size + (counted_type.bytes
                                                                 or 0.0), known or counted_type.bytes is not None
        last = counted_type
    if not asked:
        return None
    return Counted(flops, size if known else None, None, last.width, "")


def _with_rest(rows: Sequence[FunctionPoint], total: int) -> tuple[FunctionPoint, ...]:
    if len(rows) <= _SHOWN:
        return tuple(rows)
    rest = rows[_SHOWN:]
    samples = sum(row.samples for row in rest)
    share = samples / total if total else 0.0
    flops = None if any(row.flops is None for row in rest) else math.fsum(row.flops or 0.0 for row in rest)
    size = None if any(row.bytes is None for row in rest) else math.fsum(row.bytes or 0.0 for row in rest)
    return (*rows[:_SHOWN], FunctionPoint(_OTHERS, f"{len(rest)} functions", samples, share,
                                          math.sqrt(share * (1 - share) / total) if total else 0.0, flops, size,
                                          rest[0].why))


def _notes(sampler: IpSampler, events: Sequence[SampledEvent], unnamed: Counter[tuple[str, str]],
           known: tuple[int, Mapping[int, float]]) -> list[str]:
    total, shares = known
    notes = [f"functions: {total:,} samples, one for each millisecond of a CPU (perf cpu-clock)"]
    if sampler.user_only:
        notes.append("functions: without the kernel's part, which kernel.perf_event_paranoid hides from this user")
    if events and len(sampler.refused) < len(events):
        notes.append("functions: operations and bytes by samples at overflows, which are taken some instructions late")
    least = min((share for at, share in shares.items() if at not in sampler.refused), default=1.0)
    if least < _ALWAYS:
        notes.append(f"functions: their events were multiplexed, one of them counted {100 * least:.0f} % of the time: "
                     "counts are scaled to the whole time")
    for at, error in list(sampler.refused.items())[:1]:
        notes.append(f"functions: {events[at].event.name} cannot be sampled: {error}")
    for (file, why), number in unnamed.most_common(3):
        notes.append(f"functions: no names for {100 * number / max(1, total):.0f} % of the samples, in {file}: {why}")
    if sampler.spaces.lost or sampler.spaces.left_out:
        notes.append(f"functions: {several(sampler.spaces.lost + sampler.spaces.left_out, 'sample')} lost")
    if sampler.damaged:
        notes.append(f"functions: {several(sampler.damaged, 'reading')} of a ring could not be understood")
    return notes
