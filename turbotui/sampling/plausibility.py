"""Plausibility: find readings of an interval that cannot be true, before cells are computed from them.

Every counter comes from a driver, a firmware or a hypervisor that may answer without having counted. Rules compare
readings of the same interval with each other. A rule that knows which counter is wrong makes the counter's increase
unknown, with the evidence as the reason. If two counters disagree and nobody knows which is right, both stay and are
marked (`disagreement`). Rules work on whole columns, and only on signals that were read anyway; without a suspicion
they cost one pass.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.timed_reads import INTERRUPTED_SHARE
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.answers import SHARED
from turbotui.sampling.arithmetic import Numbers
from turbotui.sampling.conservation import (
    BOOKED,
    CPU_TIMES,
    GUEST_TIMES,
    WHOLE,
    is_conserved,
    times_of_idle_states,
    times_of_kernel,
)
from turbotui.sampling.differences import Differences
from turbotui.sampling.liveness import MUST_MOVE
from turbotui.sampling.plan import reading_cpus
from turbotui.sampling.possible import increases_beyond, time_stamp_counter, values_beyond

Unbelieved: TypeAlias = Mapping[SignalId, Mapping[int, Unavailable]]
"""Signal -> position -> why its increase is not believed."""


@dataclass(frozen=True, slots=True, eq=False)  # its hash is asked for by every counter of every interval
class Rule:
    """A contradiction that shows which counter is wrong."""

    # the signals whose increase the rule may take back; one that ends with "." stands for all ids that begin with it
    subjects: tuple[SignalId, ...]
    find: Callable[[Differences], Unbelieved]  # finds the contradiction in an interval


_PACKAGE_C0: tuple[SignalId, ...] = ("c0.pkg.total", "c0.pkg.any", "c0.pkg.gfx", "c0.pkg.both")
_CORE_STATES: tuple[SignalId, ...] = ("cstate.core.c3", "cstate.core.c6", "cstate.core.c7")
_C1: SignalId = "cstate.core.c1"
_PACKAGE_STATES: tuple[SignalId, ...] = tuple(f"cstate.pkg.c{state}" for state in (2, 3, 6, 7, 8, 9, 10))
_WORK: tuple[SignalId, ...] = ("mperf", "aperf", "cycles", "instructions", "stat.user", "stat.system")
"""Counters that grow on a CPU that runs something."""
_CLOCKS: tuple[SignalId, ...] = ("aperf", "mperf")
_OWN_WORK: tuple[SignalId, ...] = (*_CLOCKS, "cycles", "instructions")
_BUSY_TIMES: tuple[SignalId, ...] = ("stat.user", "stat.system")
_READING_TAKES = 100_000
"""Cycles and instructions below which only the reading may have run, part of it before one counter is read."""

_IDLE_SHARE = 0.1
"""Share of the interval for which a core must have been idle before C-states of 0 are a contradiction: cpuidle counts
an idle period when the period ends, and /proc/stat counts in ticks."""
_BUSY_SHARE = 0.95  # share of the interval in C0 from which nothing is left for C1
_POLL = "POLL"  # cpuidle's name of the state in which a CPU only polls (drivers/cpuidle/poll_state.c)


def unbelieved(interval: Differences, name: SignalId,
               findings: Callable[[Rule], Unbelieved]) -> Mapping[int, Unavailable]:
    """The positions at which a signal's increase or value is not believed, by what rules found, with reasons."""
    signal = interval.capabilities.signals[name]
    if signal.behavior is not Behavior.COUNTER:
        return values_beyond(interval, signal)
    whys = {} if is_conserved(interval, name) else increases_beyond(interval, signal)
    if still := interval.newer.still.get(name):
        whys |= {at: _stands(interval, name, at, seconds) for at, seconds in still.items()}
    for snapshot in (interval.older, interval.newer):
        if snapshot is not None and snapshot.interrupted:
            whys |= _read_too_slowly(interval, name, snapshot.interrupted)
    for rule in _rules_of(name):
        whys |= findings(rule).get(name, {})
    return whys


def _read_too_slowly(interval: Differences, name: SignalId,
                     interrupted: Mapping[tuple[str, int], int]) -> dict[int, Unavailable]:
    """Positions whose reader lost its CPU between two counters for so long that their ratio would be wrong."""
    capabilities, topology = interval.capabilities, interval.topology
    source = capabilities.provider[name].id
    slow = {cpu: took * 1e-9 for (where, cpu), took in interrupted.items() if where == source}
    if not slow:
        return {}
    spans = interval.spans(name)
    if max(slow.values()) <= INTERRUPTED_SHARE * min(filter(None, spans), default=math.inf):
        return {}  # nearly always true, and asked for each counter
    readers = reading_cpus(capabilities.signals[name], topology)
    whys: dict[int, Unavailable] = {}
    every = slow.get(SHARED, 0.0)
    for at, (reader, span) in enumerate(zip(readers, spans, strict=True)):
        took = slow.get(reader, every)
        if span and took > INTERRUPTED_SHARE * span:
            whose = f"cpu {reader}" if reader in slow else "every cpu"
            why = (f"the reader of {whose} lost its CPU for {took * 1e3:.3g} ms of an interval of"
                   f" {span * 1e3:.3g} ms, so that its counters are not of one moment")
            whys[at] = Unavailable(Reason.INTERRUPTED, why, "use a longer interval (-i), in which it matters less")
    return whys


def _stands(interval: Differences, name: SignalId, at: int, seconds: float) -> Unavailable:
    signal = interval.capabilities.signals[name]
    origin = signal.origin.format(cpu=reading_cpus(signal, interval.topology)[at])
    if not interval.newer.still.keys() <= MUST_MOVE.keys():
        return Unavailable(Reason.RECORDED, f"{origin} stands still, as does every counter that was read: the files of"
                                            " this recorded machine are of one instant, in which nothing counts")
    return Unavailable(
        Reason.STANDS_STILL,
        f"{origin} has not moved for {seconds:.1f} s, and {MUST_MOVE[name]}: it does not count; it is read on, and"
        " shown when it moves")


def _package_c0(interval: Differences) -> Unbelieved:
    """Counters of cores in C0 that stand at 0 in a package whose CPUs ran something."""
    read = [name for name in _PACKAGE_C0 if interval.was_read(name)]
    cores = [interval.measured(name) for name in read if name in _PACKAGE_C0[:2]]
    if not cores or 0 not in cores[0]:
        return {}
    whys: dict[SignalId, dict[int, Unavailable]] = {name: {} for name in read}
    instances = interval.topology.instances(interval.capabilities.signals[read[0]].scope)
    for position, items in enumerate(zip(*cores, strict=True)):
        if any(items) or None in items:
            continue
        if evidence := _work_in(interval, instances[position].cpus):
            for name in read:
                why = f"{interval.capabilities.signals[name].origin}: cores in C0 stood at 0, but {evidence}"
                whys[name][position] = Unavailable(Reason.CONTRADICTED, why)
    return whys


def _work_in(interval: Differences, cpus: Sequence[int]) -> str:
    """Evidence in words that one of these CPUs worked; "" if no reading shows it."""
    for name in _WORK:
        if interval.was_read(name):
            grown = interval.measured(name)
            for cpu in cpus:
                if value := grown[interval.topology.index(Scope.CPU, cpu)]:
                    return f"{name} of cpu {cpu} grew by {value:,.10g}"
    return ""


def _clocks(interval: Differences) -> Unbelieved:
    """APERF or MPERF of 0 although the CPU was in C0: both count there and nowhere else (Intel SDM vol. 3, 15.2)."""
    read = [name for name in _CLOCKS if interval.was_read(name)]
    columns = {name: interval.measured(name) for name in read}
    if not any(0 in column for column in columns.values()):
        return {}
    silent = {position: names for position, row in enumerate(zip(*columns.values(), strict=True))
              if (names := [name for name, grown in zip(read, row, strict=True) if grown == 0])}
    clocks: dict[SignalId, dict[int, Unavailable]] = {name: {} for name in read}
    for position, evidence in _ran(interval, tuple(silent)).items():
        for name in silent[position]:
            origin = interval.capabilities.signals[name].origin.format(cpu=interval.topology.cpus[position])
            clocks[name][position] = Unavailable(Reason.CONTRADICTED, f"{origin} stood at 0, but {evidence}")
    return clocks


def _ran(interval: Differences, positions: Sequence[int]) -> Mapping[int, str]:
    """Evidence in words that CPUs ran more than the reading of their counters, by position; only of those with any."""
    cpus, evidence = interval.topology.cpus, dict[int, str]()
    busy = [interval.measured_at(name, positions) for name in _BUSY_TIMES if interval.was_read(name)]
    if busy and interval.was_read(_BUSY_TIMES[0]):
        for position, span, *times in zip(positions, interval.spans_at(_BUSY_TIMES[0], positions), *busy, strict=True):
            share = math.fsum(time or 0.0 for time in times) / span if span else 0.0
            if share >= _IDLE_SHARE:
                evidence[position] = (f"/proc/stat counted cpu {cpus[position]} busy for {100 * share:.0f} % of the"
                                      " interval")
    for name in reversed(_OWN_WORK):  # the first one is the strongest evidence
        if interval.was_read(name):
            for position, value in zip(positions, interval.measured_at(name, positions), strict=True):
                if value is not None and value > _READING_TAKES:
                    evidence[position] = f"{name} of cpu {cpus[position]} grew by {value:,.10g}"
    return evidence


def _core_states(interval: Differences) -> Unbelieved:
    """Residencies of a core that all stand at 0 although its CPUs were idle for a part of the interval.

    A core that only entered C1 has true zeros in the deeper states, so C1 must be known to be 0 as well, by its own
    counter or because C0 took the whole interval.
    """
    deep = [name for name in _CORE_STATES if interval.was_read(name)]
    shallow = [_C1] if interval.was_read(_C1) else []
    derived = _C1 not in interval.capabilities.signals and interval.was_read("mperf")
    if not shallow and not (deep and derived):
        return {}
    if not (silent := _never_in_c1(interval, derived=not shallow)):
        return {}
    whys: dict[SignalId, dict[int, Unavailable]] = {name: {} for name in (*deep, *shallow)}
    topology, cpus = interval.topology, interval.topology.cpus
    times, counted_by = _idle_times(interval)
    awake = _awake(interval, sorted(silent), times)
    gone: set[int] = set()
    for at in sorted({topology.index(Scope.CORE, cpus[place]) for place in silent}):
        core = topology.instances(Scope.CORE)[at].cpus
        places = [topology.index(Scope.CPU, cpu) for cpu in core]
        states = [interval.measured_at(name, (at,))[0] for name in deep]
        if any(states) or (states and 0 not in states) or not silent.issuperset(places):
            continue
        idle = 1.0 - math.fsum(awake[place] for place in places)
        if idle < _IDLE_SHARE:
            continue
        why = Unavailable(
            Reason.CONTRADICTED,
            f"every C-state counter of the core stood at 0, but {counted_by} counted it idle for {100 * idle:.0f} % of"
            " the interval")
        for name in deep:
            whys[name][at] = why
        for name in shallow:
            whys[name] |= dict.fromkeys(places, why)
        gone.update(core)
    _spread_to_packages(interval, whys, gone)
    return whys


def _never_in_c1(interval: Differences, *, derived: bool) -> frozenset[int]:
    """The CPUs that were not in C1, by its counter or because C0 left nothing of the interval."""
    if not derived:
        return frozenset(place for place, grown in enumerate(interval.measured(_C1)) if grown == 0)
    return frozenset(
        place for place, (active, whole) in
        enumerate(zip(interval.measured("mperf"), reference_ticks(interval), strict=True))
        if active is not None and whole and active >= _BUSY_SHARE * whole
    )


def _spread_to_packages(interval: Differences, whys: dict[SignalId, dict[int, Unavailable]], cpus: set[int]) -> None:
    """Package states of 0 are not believed if no core's states in the package are believed."""
    if not cpus:
        return
    for name in _PACKAGE_STATES:
        if not interval.was_read(name):
            continue
        instances = interval.topology.instances(interval.capabilities.signals[name].scope)
        why = Unavailable(
            Reason.CONTRADICTED,
            f"{interval.capabilities.signals[name].origin} stood at 0, as did the C-state"
            " counters of all cores of the package, which were idle for a part of the interval")
        whys[name] = {at: why for at, (instance,
                                       grown) in enumerate(zip(instances, interval.measured(name), strict=True))
                      if grown == 0 and cpus.issuperset(instance.cpus)}


def reference_ticks(interval: Differences) -> Numbers:
    """TSC ticks of each CPU in the unit of residencies (docs/specs/turbostat.md 2.1)."""
    if not interval.was_read("tsc"):
        return [None] * len(interval.topology.cpus)
    tweak = interval.capabilities.signals.get("tsc_tweak")
    factor = None if tweak is None else tweak.value(tweak.constant)
    ticks = interval.measured("tsc")
    return ticks if not factor or factor == 1.0 else [None if item is None else item * factor for item in ticks]


def _awake(interval: Differences, places: Sequence[int], times: Sequence[SignalId]) -> Mapping[int, float]:
    """The longest time in which each of these CPUs was not idle, as a share of the interval; all of it if unknown."""
    if not times:
        return dict.fromkeys(places, 1.0)
    columns = [interval.measured_at(name, places) for name in times]
    spans = interval.spans_at(times[0], places)
    return {place: 1.0 - min(1.0, math.fsum(item for item in items if item is not None) / span) if span else 1.0
            for place, span, items in zip(places, spans, zip(*columns, strict=True), strict=True)}


def _idle_times(interval: Differences) -> tuple[list[SignalId], str]:
    """The idle times of each CPU and who reports them: cpuidle without its polling state, or /proc/stat."""
    signals = interval.capabilities.signals
    titles = ((name, signals.get(f"{name.removesuffix('.time')}.name")) for name in interval.capabilities.idle_times)
    names = [name for name, title in titles
             if title is not None and title.constant != _POLL and interval.was_read(name)]
    if names:
        return names, "cpuidle"
    return [name for name in ("stat.idle", "stat.iowait") if interval.was_read(name)], "/proc/stat"


RULES: tuple[Rule, ...] = (
    Rule(_PACKAGE_C0, _package_c0),
    Rule((*_CORE_STATES, _C1, *_PACKAGE_STATES), _core_states),
    Rule(_CLOCKS, _clocks),
    Rule(("tsc",), time_stamp_counter),
    Rule((*CPU_TIMES, *GUEST_TIMES, WHOLE, BOOKED), times_of_kernel),
    Rule(("cpuidle.",), times_of_idle_states),
)
"""Every contradiction that makes a counter unknown."""


@functools.cache  # without it a summary row of two CPUs takes 0.65 ms instead of 0.48
def _rules_of(name: SignalId) -> tuple[Rule, ...]:
    return tuple(rule for rule in RULES if any(
        name == subject or (subject.endswith(".") and name.startswith(subject)) for subject in rule.subjects))
