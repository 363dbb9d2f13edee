"""perf raw events of the roofline: floating-point operations, loads and stores by each core's metric definition.

Codes and weights: `quantities.metric_table`. A definition's events go into as few groups as its counters allow;
the kernel takes the groups in turn where they do not all fit, and counts are then scaled and marked as estimates.
"""

from __future__ import annotations

from dataclasses import replace

from turbotui.machine.core_metrics import core_types_of, metric_definition_of, vector_bits
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances
from turbotui.quantities.metric_definitions import MetricDefinition, MetricEvent, plan_level_sets, plan_sets
from turbotui.quantities.roofline import NO_BYTES, NO_FLOPS, VECTOR_BITS, signal_of
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources import perf_group
from turbotui.sources.perf_group import Times
from turbotui.sources.perf_source import Findings, Offer, OfferGroup, PerfSource, count_signal, try_offers

_BY_HOST = ("have the host pass its PMU on (QEMU: -cpu host,pmu=on, which not every hypervisor can), or "
            "run it on a whole machine")
_INSTEAD = "a simulated machine has them: turbotui roofline --machine laptop-old -- calculix"


class PerfRoofline(PerfSource):
    """perf's raw events of the roofline definitions."""

    id = "perf-roofline"

    def _find(self, machine: Machine) -> Findings:
        facts = circumstances(machine)
        definition = metric_definition_of(machine.model)
        if definition is None:
            why = _no_definition(machine)
            return Findings((), {NO_FLOPS: why, NO_BYTES: why})
        if not (core_types := tuple(core_types_of(machine))):
            return Findings((), dict.fromkeys((NO_FLOPS, NO_BYTES), _no_pmu(machine, definition)))
        signals: dict[SignalId, Signal | Unavailable] = {}
        groups: list[OfferGroup] = []
        notes: list[str] = []
        whys: list[tuple[Unavailable | None, Unavailable | None]] = []
        for core_type in core_types:
            if not core_type.definition.flops:
                why = _no_events(core_type.definition)
                notes.append(why.detail)
                whys.append((why, why))
                continue
            refused: dict[SignalId, Unavailable] = {}
            metric = core_type.definition
            for number, events in enumerate((*plan_sets(metric), *plan_level_sets(metric))):
                offers = [Offer(perf_group.GroupEvent(signal_of(metric, event.key), core_type.attr(event),
                                                      core_type.title(event)), core_type.cpus) for event in events]
                usable, missing = try_offers(machine, offers, facts)
                refused |= missing
                if usable:
                    group = f"roofline.{metric.slug}.{number}"
                    times = Times.of(group)
                    groups.append(OfferGroup(usable, times))
                    signals |= times.signals(f"the perf group {group}")
                    named = {signal_of(metric, event.key): event for event in events}
                    signals |= {offer.event.signal: _signal(core_type.definition, offer.event,
                                                            named[offer.event.signal], times) for offer in usable}
            for signal, why in refused.items():
                signals.setdefault(signal, why)
            lacking = _whys(core_type.definition, refused)
            notes += [f"{core_type.definition.name}: {why.detail}" for why in dict.fromkeys(lacking) if why is not None]
            if core_type.definition.unverified:
                notes.append(f"{core_type.definition.name}: {core_type.definition.unverified}")
            whys.append(lacking)
        _say_why(signals, whys)
        _say_where(signals, groups, machine)
        if any(width.per_vector for core_type in core_types for width in core_type.definition.widths):
            signals[VECTOR_BITS] = _vector_length(machine)
        return Findings(tuple(groups), signals, "; ".join(dict.fromkeys(notes)))


def why_uncounted(machine: Machine) -> Unavailable | None:
    """Return why this machine's cores have no floating-point events at all; None if they have some."""
    if (definition := metric_definition_of(machine.model)) is None:
        return _no_definition(machine)
    if not (core_types := tuple(core_types_of(machine))):
        return _no_pmu(machine, definition)
    return None if any(core_type.definition.flops for core_type in core_types) else _no_events(core_types[0].definition)


def _no_definition(machine: Machine) -> Unavailable:
    name = machine.model.name or "this processor"
    return Unavailable(Reason.UNKNOWN_MODEL, f"no metric definition counts floating-point operations on {name}",
                       _INSTEAD)


def _no_pmu(machine: Machine, definition: MetricDefinition) -> Unavailable:
    if machine.model.hypervisor:
        reason, remedy = Reason.VIRTUALISED, f"{_BY_HOST}; {_INSTEAD}"
        why = "this virtual machine is not given core counters; operations and bytes are unknown without them"
    else:
        reason, why, remedy = Reason.NO_HARDWARE, "the kernel has no such PMU for this processor", _INSTEAD
    events = ", ".join(dict.fromkeys(event.name.split(",")[0] for event in definition.events))
    return Unavailable(reason, f"perf {' or '.join(definition.pmu)} ({events}): {why}", remedy)


def _no_events(definition: MetricDefinition) -> Unavailable:
    return Unavailable(Reason.NO_HARDWARE, f"{definition.name}: {definition.note}", _INSTEAD)


def _signal(definition: MetricDefinition, event: perf_group.GroupEvent, facts: MetricEvent, times: Times) -> Signal:
    weight = next((term.weight for term in definition.flops if term.event == facts.key), None)
    each = "" if weight is None else f"; each counts for {weight:g} operation{'' if weight == 1 else 's'}"
    return count_signal(event, f"{definition.source}{each}", times)


def _vector_length(machine: Machine) -> Signal:
    return Signal(id=VECTOR_BITS, scope=Scope.CPU, unit=Unit.COUNT, behavior=Behavior.CONSTANT, reduce=Reduce.SAME,
                  origin="/proc/sys/abi/sve_default_vector_length (128 bits where there is none)",
                  document="kernel Documentation/arch/arm64/sve.rst", constant=vector_bits(machine.host))


def _say_where(signals: dict[SignalId, Signal | Unavailable], groups: list[OfferGroup], machine: Machine) -> None:
    """Mark the counters of one core type as absent on other core types, which count operations by other events.

    Where one counts none, a sum lacks it, and is marked as incomplete.
    """
    readers = {offer.event.signal: offer.readers for group in groups for offer in group.offers}
    cpus = frozenset(machine.topology.cpus)
    if None in readers.values() or cpus - frozenset().union(*filter(None, readers.values())):
        return
    for name, covered in readers.items():
        signal = signals[name]
        if isinstance(signal, Signal) and covered is not None:
            why = Unavailable(Reason.NO_HARDWARE,
                              f"{signal.origin} is counted by CPUs {format_cpulist(sorted(covered))} alone")
            signals[name] = replace(signal, absent=dict.fromkeys(sorted(cpus - covered), why))


def _whys(definition: MetricDefinition, refused: dict[SignalId, Unavailable]) -> tuple[Unavailable | None,
                                                                                       Unavailable | None]:
    """Return why operations, and why bytes, cannot be counted by a definition; None for each that can."""
    def why(keys: set[str]) -> Unavailable | None:
        return next(
            (
                refused[name]
                for name in (signal_of(definition, key) for key in sorted(keys - definition.optional))
                if name in refused
            ),
            None,
        )

    flops = why({term.event for term in definition.flops})
    exact = bool(definition.exact_bytes) and not any(
        signal_of(definition, term.event) in refused for term in definition.exact_bytes)
    size = why({term.event for term in definition.accesses} | {width.event for width in definition.widths})
    if not definition.widths:
        size = Unavailable(Reason.NO_HARDWARE, f"{definition.name}: {definition.note}",
                           "give the width: w on the roofline screen, turbotui roofline --width BYTES")
    return flops, flops or (None if exact else size)


def _say_why(signals: dict[SignalId, Signal | Unavailable],
             whys: list[tuple[Unavailable | None, Unavailable | None]]) -> None:
    """Give the signals of operations and bytes a reason if no core type can count them."""
    for name, position in ((NO_FLOPS, 0), (NO_BYTES, 1)):
        reasons = [pair[position] for pair in whys]
        missing = [why for why in reasons if why is not None]
        if len(missing) == len(reasons):
            signals[name] = missing[0]
