"""Command mode of `turbotui roofline`: counts the definition's events over a command and its descendants."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from turbotui.counting.commands import CommandCounters
from turbotui.counting.totals import difference, scaled
from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.features.roofline.function_points import Functions, SampledEvent, function_points, sampled_events
from turbotui.features.roofline.live import RooflinePoint
from turbotui.features.roofline.region_points import Regions, RegionWatch, point_of, speed_of_rates
from turbotui.machine.core_metrics import CountedCoreType, vector_bits
from turbotui.machine.host import HostError, PerfAttr
from turbotui.machine.ip_sampling import CPU_CLOCK, IpSampler, SampledCode
from turbotui.machine.machine import Machine
from turbotui.machine.observing import Observation, observe
from turbotui.machine.perf_errors import circumstances, explain_perf
from turbotui.machine.region_pipes import RegionPipe
from turbotui.quantities.joined_sets import Joined, SetInterval, join_rotation
from turbotui.quantities.metric_definitions import MetricEvent, plan_sets
from turbotui.quantities.roofline import Sizing
from turbotui.quantities.speeds import Speed, sum_speeds

_TASK_CLOCK: Final = PerfAttr(1, 1)  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK: ns on any CPU
_HYBRID_SHIFT: Final = 32  # PERF_PMU_TYPE_SHIFT
_INSTRUCTIONS: Final = 1  # PERF_COUNT_HW_INSTRUCTIONS
TIME_SLICE: Final = 0.05
"""The seconds of a set's time slice."""
_FIRST: Final = 0.005
"""Seconds of the first slices, shorter so that every event set runs at least once on short commands."""


@dataclass(frozen=True, slots=True)
class CountedCommand:
    """The result of a command that has ended."""

    status: int  # its exit status, or 128 and the number of the signal that ended it
    points: tuple[RooflinePoint, ...]  # one for each interval
    busy: float  # CPUs that it kept busy, on average
    user_only: bool  # whether the kernel's part was excluded
    sets: int = 1  # the most sets of events that were multiplexed; 1 for no multiplexing
    interrupted: int = 0  # the signal that came before its end
    regions: Regions = Regions()  # the regions that it marked
    functions: Functions = Functions()  # its sampled functions


@dataclass(frozen=True, slots=True)
class _Plan:
    """Sets in the order of their groups.

    Each multiplexed set begins with instructions, by which sets are joined. Without multiplexing, on machines with
    several core types, the first set of each type counts instructions, which have a counter of their own that runs
    whenever the command is on such a core.
    """

    core_types: tuple[CountedCoreType, ...]
    sets: tuple[tuple[tuple[MetricEvent, ...], ...], ...]

    @property
    def most(self) -> int:
        """The number of sets of the core type with most sets."""
        return max((len(sets) for sets in self.sets), default=1)

    @property
    def firsts(self) -> tuple[int, ...]:
        """The group of each core type's first set, if sets are multiplexed."""
        return tuple(accumulate(map(len, self.sets[:-1]), initial=1))

    @property
    def later(self) -> frozenset[int]:
        """The groups that wait for their time slice."""
        if self.most == 1:
            return frozenset()
        return frozenset(first + at for first, sets in zip(self.firsts, self.sets, strict=True)
                         for at in range(1, len(sets)))

    def attrs(self) -> list[list[PerfAttr]]:
        multiplexed = self.most > 1
        plan_attrs: list[list[PerfAttr]] = [[_TASK_CLOCK]]
        for core_type, sets in zip(self.core_types, self.sets, strict=True):
            if not multiplexed and len(self.core_types) > 1:
                plan_attrs.append([PerfAttr(0, _INSTRUCTIONS | core_type.pmu.type << _HYBRID_SHIFT)])
            reference = MetricEvent("instructions", core_type.definition.instructions, "retired instructions")
            plan_attrs += [[core_type.attr(event) for event in ((reference, *events) if multiplexed else events)]
                           for events in sets]
        return plan_attrs


def follow(
    machine: Machine,
    core_types: tuple[CountedCoreType, ...],
    words: Sequence[str],
    interval: float,
    *,
    sizing: Sizing,
    ready: Callable[[], None] = lambda: None,
    functions: bool = False,
) -> CountedCommand:
    """Run a command with its counters open from its first instruction.

    Args:
        machine: this machine.
        interval: seconds between two readings.
        ready: called before the command's first instruction.

    Raises:
        MachineError: the events of the definition cannot be counted for this user; the command was not run.
        TurbotuiError: the command cannot be run.
    """
    with RegionPipe() as pipe, observe(words, prepare=pipe.announce) as seen:
        counters, plan = _open(machine, core_types, seen.commands[0].pid)
        sampler: IpSampler | None = None
        how = Sizing(sizing.model, sizing.given, vector_bits(machine.host))
        events = sampled_events(core_types)
        since = time.time()
        try:
            if functions:
                sampler = _sample(machine, seen.commands[0].pid, events)
            ready()
            watch = _watch_multiplexed if plan.most > 1 else _watch
            followed = watch(counters, plan, seen, words[0], interval=interval, sizing=how, pipe=pipe)
        finally:
            counters.close()
            if sampler is not None:
                sampler.stop()
        if sampler is None:
            return followed
        return replace(followed, functions=function_points(sampler, events, how, since))


def _sample(machine: Machine, pid: int, events: Sequence[SampledEvent]) -> IpSampler:
    try:
        sampler = IpSampler(machine.host, SampledCode.of_command(pid, machine.topology.cpus),
                            [event.sampled for event in events])
    except HostError as error:
        why = explain_perf(error, "samples of its instruction pointers", circumstances(machine), CPU_CLOCK.type)
        raise MachineError(f"the command was not run: {why.sentence()}") from error
    sampler.start()
    return sampler


def _open(machine: Machine, core_types: tuple[CountedCoreType, ...], pid: int) -> tuple[CommandCounters, _Plan]:
    """Open all events, else only those that a point needs."""
    first: HostError | None = None
    for optional in (True, False):
        absent = (frozenset() if optional else frozenset(key for core_type in core_types
                                                         for key in core_type.definition.optional))
        here = tuple(replace(core_type, definition=core_type.definition.without(absent)) for core_type in core_types)
        plan = _Plan(here, tuple(plan_sets(core_type.definition) for core_type in here))
        try:
            return CommandCounters(machine.host, plan.attrs(), pid, plan.later), plan
        except HostError as error:
            first = first or error
            if error.errno not in (errno.ENOENT, errno.EINVAL, errno.EOPNOTSUPP):
                break
    names = ", ".join(core_type.definition.name for core_type in core_types)
    why = explain_perf(first or HostError(errno.EINVAL, "perf_event_open"),
                       f"the floating-point events of {names}" if names else "the command's CPU time",
                       circumstances(machine), core_types[0].pmu.type if core_types else _TASK_CLOCK.type)
    raise MachineError(f"the command was not run: {why.sentence()}")


def _watch(counters: CommandCounters, plan: _Plan, seen: Observation, name: str, *, interval: float,
           sizing: Sizing, pipe: RegionPipe) -> CountedCommand:
    older = last = counters.read()
    seen.run()
    began = before = cut = time.monotonic()
    regions = RegionWatch(pipe, began)
    points: list[RooflinePoint] = []
    over = False
    while not over:
        deadline = began + (int((before - began) / interval + 1e-9) + 1) * interval
        over = regions.wait(seen, deadline)
        regions.take_marks()
        now, newer = time.monotonic(), counters.read()
        if shares := regions.until(now):
            speed, estimated = speed_of(plan.core_types, plan.sets, newer[1:], last[1:], now - cut, sizing=sizing)
            regions.add(shares, speed, estimated=estimated)
        last, cut = newer, now
        if now < deadline and not over:
            continue  # a mark has arrived
        speed, estimated = speed_of(plan.core_types, plan.sets, newer[1:], older[1:], now - before, sizing=sizing)
        if speed is not None and now > before:
            point = point_of(name, speed, now - before, estimated=estimated)
            points.append(replace(point, seconds=now - began))
        older, before = newer, now
    busy = older[0][-1] / 1e9 / max(1e-9, before - began)
    return CountedCommand(seen.commands[0].status or 0, tuple(points), busy, counters.user_only,
                          interrupted=seen.ended_by, regions=regions.counted())


class _MultiplexedSets:
    """The multiplexed sets of one core type.

    Args:
        counters: all open counters.
        scaled: whether counts are scaled to the whole time slice if others used the counters. On machines with several
            core types a counter also pauses while the command is on another type.
    """

    def __init__(self, counters: CommandCounters, first: int, sets: Sequence[Sequence[MetricEvent]], *,
                 scaled: bool) -> None:
        self._counters = counters
        self._first = first
        self._sets = sets
        self._scaled = scaled
        self._at = 0
        self._seen = [counters.read_set(first + at) for at in range(len(sets))]
        self.taken: list[tuple[int, SetInterval]] = []

    def take(self, number: int, seconds: float, *, rotate: bool) -> None:
        """Take the counts of the active set; with `rotate`, activate the next set."""
        at = self._at
        newer = self._counters.read_set(self._first + at)
        enabled, running, *changes = difference(newer, self._seen[at])
        # Counts between this reading and the change belong to the set's next time slice.
        self._seen[at] = newer
        values = [float(value) for change in changes
                  if (value := scaled(change, enabled if self._scaled else running, running)) is not None]
        counts = {event.key: value for event, value in zip(self._sets[at], values[1:], strict=bool(values))}
        self.taken.append((number, SetInterval(seconds, values[0] if values else 0.0, counts)))
        if rotate and len(self._sets) > 1:
            self._at = (at + 1) % len(self._sets)
            self._counters.rotate(self._first + at, self._first + self._at)


def _watch_multiplexed(counters: CommandCounters, plan: _Plan, seen: Observation, name: str, *, interval: float,
                       sizing: Sizing, pipe: RegionPipe) -> CountedCommand:
    """Watch with multiplexed event sets, which are joined by instructions at the end."""
    kinds = [_MultiplexedSets(counters, first, sets, scaled=len(plan.core_types) == 1)
             for first, sets in zip(plan.firsts, plan.sets, strict=True)]
    seen.run()
    began = before = turned = time.monotonic()
    regions = RegionWatch(pipe, began)
    number = 0  # number of the interval; a time slice belongs to the interval in which it begins
    slices = 0
    over = False
    while not over:
        deadline = min(turned + (_FIRST if slices < plan.most else TIME_SLICE), began + (number + 1) * interval)
        over = regions.wait(seen, deadline)
        regions.take_marks()
        now = time.monotonic()
        # A mark cuts a slice without changing the set; otherwise each set might see only one of the regions.
        rotate = now >= deadline
        for kind in kinds:
            kind.take(number, now - before, rotate=rotate)
        regions.add_slice(regions.until(now))
        before = now
        if rotate:
            turned, slices = now, slices + 1
        number = int((before - began) / interval + 1e-9)
    busy = counters.read_set(0)[-1] / 1e9 / max(1e-9, before - began)
    taken = [kind.taken for kind in kinds]
    points = _joined_points(plan.core_types, taken, name, sizing=sizing)
    shared = [regions.slices(of_type) for of_type in taken]
    places = {name: _joined_points(plan.core_types, [of_type[name] for of_type in shared], name, sizing=sizing)
              for name in shared[0]}
    return CountedCommand(seen.commands[0].status or 0, points, busy, counters.user_only, plan.most, seen.ended_by,
                          regions.counted({name: of_type[0] for name, of_type in places.items() if of_type}))


def _joined_points(
    core_types: Sequence[CountedCoreType],
    taken: Sequence[Sequence[tuple[int, SetInterval]]],
    name: str,
    *,
    sizing: Sizing,
) -> tuple[RooflinePoint, ...]:
    """Make a point for each interval with known operations, over all core types."""
    each = [dict(joined_intervals(slices)) for slices in taken]
    points: list[RooflinePoint] = []
    ended = 0.0
    for number, first in each[0].items():
        seconds = first.seconds
        ended += seconds
        speeds = []
        for core_type, intervals in zip(core_types, each, strict=True):
            rates = {key: count / seconds for key, count in intervals[number].counts.items()}
            speeds.append(speed_of_rates(core_type.definition, rates, sizing))
        if (speed := sum_speeds(speeds)) is not None:
            estimated = any(intervals[number].estimated for intervals in each)
            points.append(replace(point_of(name, speed, seconds, estimated=estimated), seconds=ended))
    return tuple(points)


def speed_of(
    core_types: Sequence[CountedCoreType],
    sets: Sequence[Sequence[Sequence[MetricEvent]]],
    newer: Sequence[Sequence[int]],
    older: Sequence[Sequence[int]],
    seconds: float,
    *,
    sizing: Sizing,
) -> tuple[Speed | None, bool]:
    """Return a command's speed between two readings over all core types, and whether counters were multiplexed.

    Args:
        newer: groups as read: each core type's sets, preceded by one with instructions if there are several types.
        older: the previous reading.
    """
    if seconds <= 0:
        return None, False
    speeds: list[Speed | None] = []
    estimated = False
    at = 0
    for core_type, type_sets in zip(core_types, sets, strict=True):
        expected: int | None = None
        if len(core_types) > 1:
            # A counter of one core type pauses while the command is on another: it should have run as long as the
            # instructions of that type did.
            expected = newer[at][1] - older[at][1]
            at += 1
        counts: dict[str, float] = {}
        for number, events in enumerate(type_sets, start=at):
            enabled, running, *changes = difference(newer[number], older[number])
            due = enabled if expected is None else expected
            estimated |= running < due
            for event, change in zip(events, changes, strict=True):
                if (value := scaled(change, due, running)) is not None:
                    counts[event.key] = value / seconds
        at += len(type_sets)
        speeds.append(speed_of_rates(core_type.definition, counts, sizing))
    return sum_speeds(speeds), estimated


def joined_intervals(slices: Sequence[tuple[int, SetInterval]]) -> tuple[tuple[int, Joined], ...]:
    """Join the numbered time slices of each interval by instructions over the whole run, and add them up."""
    joined_sets: dict[int, Joined] = {}
    for (number, _slice), joined in zip(slices, join_rotation([part for _number, part in slices]), strict=True):
        before = joined_sets.get(number)
        joined_sets[number] = joined if before is None else _sum(before, joined)
    return tuple(joined_sets.items())


def _sum(joined: Joined, two: Joined) -> Joined:
    """Add two time slices, without events that one of them lacks."""
    counts = {key: count + two.counts[key] for key, count in joined.counts.items() if key in two.counts}
    return Joined(joined.seconds + two.seconds, joined.instructions + two.instructions, counts,
                  joined.estimated | two.estimated)
