"""Find counters of one interval that contradict each other when nothing shows which is wrong.

Their cells keep their numbers, are marked, and show the contradiction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from turbotui.machine.topology import Instance
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId
from turbotui.sampling.arithmetic import Numbers
from turbotui.sampling.conservation import unbooked
from turbotui.sampling.interval import Interval
from turbotui.sampling.limits import COMPARED_SECONDS
from turbotui.sampling.plausibility import reference_ticks

Marks: TypeAlias = dict[SignalId, dict[int, str]]
"""Signal -> position among its instances -> what contradicts it."""

PARTS: tuple[tuple[SignalId, SignalId], ...] = (
    ("energy.cores", "energy.pkg"), ("energy.gpu", "energy.pkg"), ("energy.core", "energy.pkg"),
    ("energy.pkg", "energy.psys"),
)
"""Energy domains that lie within another (Intel SDM vol. 3, RAPL; AMD PPR, Core::X86::Msr::CORE_ENERGY_STAT)."""

_OVER_SHARE, _OVER_WATTS = 0.05, 0.5
"""How far a part may exceed its whole: the two are read one after the other, and power changes in between."""
_BEYOND_SHARE, _BEYOND_SECONDS = 0.05, 0.003
"""How far a CPU's states may exceed the interval: as a share of it, and in time between two readings."""


_APART_SHARE = 0.02  # share of the interval by which two readings may differ and still cover the same time

_STATES: tuple[tuple[SignalId, str], ...] = (
    ("mperf", "C0"), ("cstate.core.c1", "C1"), ("cstate.core.c3", "C3"), ("cstate.core.c6", "C6"),
    ("cstate.core.c7", "C7"),
)
"""States that exclude each other on a CPU (Intel SDM vol. 4, residency counters), with their names for people."""


def disagreements(interval: Interval) -> Marks:
    """Every contradiction in an interval; empty if there is none."""
    marks: Marks = {}
    for rule in RULES:
        for name, at in rule(interval).items():
            texts = marks.setdefault(name, {})
            for position, text in at.items():
                texts[position] = f"{texts[position]}; {text}" if position in texts else text
    return marks


def _parts_over_wholes(interval: Interval) -> Marks:
    marks: Marks = {}
    for part, whole in PARTS:
        if not (interval.was_read(part) and interval.was_read(whole)):
            continue
        signals, topology = interval.capabilities.signals, interval.topology
        watts, scope = interval.rates(part), signals[part].scope
        if scope.rank > signals[whole].scope.rank:
            continue  # a part that spans more than the whole does not lie in it
        for position, (outer, limit) in enumerate(zip(topology.instances(signals[whole].scope), interval.rates(whole),
                                                      strict=True)):
            if limit is None:
                continue
            places = topology.parts(outer.row, scope)
            used = math.fsum(item for item in [watts[at] for at in places] if item is not None)
            if used > limit * (1 + _OVER_SHARE) + _OVER_WATTS:
                text = f"{part} {used:.2f} W is more than {whole} {limit:.2f} W, which contains it"
                marks.setdefault(part, {}).update(dict.fromkeys(places, text))
                marks.setdefault(whole, {})[position] = text
    return marks


def _states_beyond_the_interval(interval: Interval) -> Marks:
    read = [(name, word) for name, word in _STATES if interval.was_read(name)]
    if len(read) < 2 or not interval.was_read("tsc"):
        return {}
    topology, signals = interval.topology, interval.capabilities.signals
    ticks, columns = reference_ticks(interval), [_by_cpu(interval, name) for name, _word in read]
    marks: Marks = {}
    for at in _beyond(columns, ticks):
        whole, span = ticks[at] or 0.0, interval.spans_at("tsc", (at,))[0]
        shares = [100.0 * (column[at] or 0.0) / whole for column in columns]
        if math.fsum(shares) <= 100.0 * (1 + _BEYOND_SHARE + _BEYOND_SECONDS / (span or _BEYOND_SECONDS)):
            continue
        terms = " + ".join(f"{word} {share:.1f} %" for (_name, word), share in zip(read, shares, strict=True))
        text = f"cpu {topology.cpus[at]}: {terms} is {math.fsum(shares):.1f} % of the interval"
        for name, _word in read:
            marks.setdefault(name, {})[topology.index(signals[name].scope, topology.cpus[at])] = text
    return marks


def _beyond(columns: Sequence[Numbers], ticks: Numbers) -> Sequence[int]:
    """The CPUs whose states exceed the interval, among the CPUs for which all states are known."""
    # a tick counter that stood still does not measure the interval: other rules judge it
    return [at for at, (whole, *items) in enumerate(zip(ticks, *columns, strict=True)) if whole and None not in items
            and math.fsum(cast("Sequence[float]", items)) > whole * (1 + _BEYOND_SHARE)]


def _by_cpu(interval: Interval, name: SignalId) -> Numbers:
    """The increase of a signal for each CPU, that is, of the core that contains it."""
    grown, scope = interval.deltas(name), interval.capabilities.signals[name].scope
    if scope is Scope.CPU:
        return grown
    return [grown[at] for at in interval.topology.places_in(scope)]


def _sources_apart(interval: Interval) -> Marks:
    """Domains for which two sources report different power over the same time."""
    marks: Marks = {}
    for name, others in interval.capabilities.beside.items():
        for other in others:
            if interval.was_read(name) and interval.was_read(other):
                for position, text in _apart(interval, name, other):
                    marks.setdefault(name, {})[position] = text
    return marks


def _apart(interval: Interval, name: SignalId, other: SignalId) -> Iterator[tuple[int, str]]:
    """The positions of a signal at which another source reports something else."""
    capabilities, topology = interval.capabilities, interval.topology
    scope = max((capabilities.signals[scope].scope for scope in (name, other)), key=lambda scope: scope.rank)
    for instance in topology.instances(scope):
        ours, theirs = (_watts_in(interval, power, instance) for power in (name, other))
        if ours is None or theirs is None or not _same_time(interval, name, other, instance.cpus[0]):
            continue
        if abs(ours - theirs) > max(ours, theirs) * _OVER_SHARE + _OVER_WATTS:
            place = "" if scope is Scope.SYSTEM else f" of {scope.value} {instance.label}"
            here, there = (capabilities.provider[power].title for power in (name, other))
            text = f"{name}{place}: {ours:.2f} W by {here}, {theirs:.2f} W by {there}"
            for position in topology.parts(instance.row, capabilities.signals[name].scope):
                yield position, text


def _watts_in(interval: Interval, name: SignalId, instance: Instance) -> float | None:
    """Power of a RAPL domain in an instance of its own level or of a coarser level."""
    scope, watts = interval.capabilities.signals[name].scope, interval.rates(name)
    items = [watts[at] for at in interval.topology.parts(instance.row, scope)]
    known = [item for item in items if item is not None]
    return math.fsum(known) if known and len(known) == len(items) else None


def _same_time(interval: Interval, name: SignalId, other: SignalId, cpu: int) -> bool:
    """Whether two readings cover nearly the same time, so that they should agree."""
    moments, spans = [], []
    for power in (name, other):
        at = interval.topology.index(interval.capabilities.signals[power].scope, cpu)
        moments.append(interval.newer.stamps[power][at] * 1e-9)
        spans.append(interval.spans(power)[at] or 0.0)
    shortest = min(spans)
    ends, begins = abs(moments[0] - moments[1]), abs((moments[0] - spans[0]) - (moments[1] - spans[1]))
    return shortest >= 0.9 * COMPARED_SECONDS and max(ends, begins) <= _APART_SHARE * shortest


RULES: tuple[Callable[[Interval], Mapping[SignalId, Mapping[int, str]]], ...] = (
    _parts_over_wholes,
    _states_beyond_the_interval,
    _sources_apart,
    unbooked,
)
"""Every contradiction that does not show which counter is wrong."""
