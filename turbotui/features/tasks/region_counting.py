"""Counts what a command does in its regions while it runs: counters are read at its marks, on a thread of its own.

They are opened before the command's first instruction, for threads and children have the counters of who made them
only where these are there by then (perf_event_open(2), inherit), and begin to count with the first mark: a command that
marks nothing takes no counter from others.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final, Protocol, runtime_checkable

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.features.tasks.region_totals import CountedRegion, KindCounts, RegionTotals
from turbotui.machine.core_metrics import CountedCoreType, core_types_of
from turbotui.machine.host import HostError, PerfAttr
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances, explain_perf
from turbotui.machine.regions import RegionPipe, RegionShare, RegionTimes
from turbotui.machine.tasks.counting import CommandCount, CommandCounters, difference, estimate
from turbotui.quantities.joined_sets import SetInterval
from turbotui.quantities.metric_definitions import MetricEvent, plan_sets
from turbotui.quantities.unavailable import Reason, Unavailable

_TASK_CLOCK: Final = PerfAttr(1, 1)  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK: ns on any CPU
_CYCLES, _INSTRUCTIONS = 0, 1  # PERF_COUNT_HW_*
_HYBRID_SHIFT: Final = 32  # PERF_PMU_TYPE_SHIFT
_SLICE: Final = 0.05  # seconds in which a set counts before the next one does
_WHOLE: Final = 0.95  # of the time between two readings: the rest is the way from the mark to the reading


@dataclass(slots=True)
class _Sums:
    """What a region has so far; by kind of core, and there by set."""

    seconds: float = 0.0
    apportioned: float = 0.0
    run_ns: float = 0.0
    estimated: bool = False
    base: list[list[float]] = field(default_factory=list)
    sets: list[dict[int, SetInterval]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Change:
    """What a kind of core counted between two readings: instructions, maybe cycles, and the set that was on."""

    base: Sequence[float]
    at: int
    found: SetInterval | None
    estimated: bool


class _Kind:
    """The counters of one kind of core.

    Args:
        core_type: what counts operations; None: instructions and cycles only.
        first: position of its first group: instructions with cycles; its sets follow.
        pmu: number of its PMU where there are several; else 0.
        cycles: whether cycles are counted.
        scaled: whether a count is brought to the time in which the command ran. Where there are several kinds a counter
            also stands while the command is on another one.
    """

    def __init__(self, core_type: CountedCoreType | None, first: int, pmu: int, *, scaled: bool,
                 cycles: bool = True) -> None:
        self.core_type = core_type
        self._cycles = cycles
        self.sets: tuple[tuple[MetricEvent, ...], ...] = () if core_type is None else plan_sets(core_type.definition)
        self.first = first
        self._pmu = pmu
        self._scaled = scaled
        self.at = 0
        self._seen: dict[int, list[CommandCount]] = {}

    def attrs(self) -> list[list[PerfAttr]]:
        """Groups to open; each set has instructions in front, by which sets are joined."""
        shift, core_type = self._pmu << _HYBRID_SHIFT, self.core_type
        cycles = [PerfAttr(0, _CYCLES | shift)] if self._cycles else []
        if core_type is None:
            return [[PerfAttr(0, _INSTRUCTIONS | shift), *cycles]]
        reference = core_type.attr(MetricEvent("instructions", core_type.definition.instructions, "retired"))
        several = [reference] if len(self.sets) > 1 else []
        return [[reference, *cycles], *([*several, *map(core_type.attr, events)] for events in self.sets)]

    def begin(self, counters: CommandCounters) -> None:
        """Let the base and the first set count."""
        positions = range(self.first, self.first + 1 + len(self.sets))
        for position in positions[:2]:
            counters.enable(position)
        self._seen = {position: counters.read_set(position) for position in positions}

    def read(self, counters: CommandCounters, seconds: float, *, rotate: bool) -> _Change:
        """What was counted since the last time; with `rotate` the next set counts from now on."""
        base, estimated = self._changes(counters, self.first)
        if not self.sets:
            return _Change(base, 0, None, estimated)
        at, position = self.at, self.first + 1 + self.at
        values, stood = self._changes(counters, position)
        several = len(self.sets) > 1
        instructions = values.pop(0) if several else base[0]
        counts = {event.key: value for event, value in zip(self.sets[at], values, strict=True)}
        if rotate and several:
            self.at = (at + 1) % len(self.sets)
            counters.rotate(position, self.first + 1 + self.at)
        return _Change(base, at, SetInterval(seconds, instructions, counts),
                       estimated or stood or several)

    def _changes(self, counters: CommandCounters, position: int) -> tuple[list[float], bool]:
        newer = counters.read_set(position)
        changes = [difference(new, old) for new, old in zip(newer, self._seen[position], strict=True)]
        self._seen[position] = newer
        if not self._scaled:
            return [float(change.value) for change in changes], False
        return ([estimate(change) or 0.0 for change in changes],
                any(change.running < change.enabled for change in changes))


class RegionCounting:
    """The regions of a command, from its first mark to its end.

    Args:
        machine: real.
        pipe: that its marks come through.
        core_types: kinds of core, each with a definition that counts operations; None: those of the machine.
    """

    def __init__(self, machine: Machine, pipe: RegionPipe,
                 core_types: Sequence[CountedCoreType] | None = None) -> None:
        self._machine = machine
        self._types = tuple(one for one in (core_types_of(machine) if core_types is None else core_types)
                            if one.definition.flops)
        self._pipe = pipe
        self._lock = threading.Lock()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._over = False
        self._counters: CommandCounters | None = None
        self._kinds: list[_Kind] = []
        self._why: Unavailable | None = None
        self._times: RegionTimes | None = None
        self._clock: CommandCount | None = None
        self._regions: dict[str, _Sums] = {}
        self._run_ns = 0.0
        self._began_ns = self._last_ns = self._turned_ns = 0
        self._thread = threading.Thread(target=self._run, name="regions", daemon=True)

    def open(self, pid: int) -> None:
        """Open the counters of a process that waits before its exec; what cannot be had is told with the totals."""
        for kinds in self._choices():
            groups = [[_TASK_CLOCK], *(group for kind in kinds for group in kind.attrs())]
            try:
                self._counters = CommandCounters(self._machine.host, groups, pid, waits=True)
            except HostError as error:
                self._why = self._why or explain_perf(
                    error, "counters of the regions of a command", circumstances(self._machine), groups[-1][-1].type)
                continue
            self._kinds = kinds
            if any(kind.core_type is not None for kind in kinds):
                self._why = None
            return

    def _choices(self) -> Iterator[list[_Kind]]:
        """What is tried: operations, then instructions and cycles, then CPU time alone."""
        several = len(self._types) > 1
        for cycles in (True, False) if self._types else ():
            found: list[_Kind] = []
            for one in self._types:
                first = 1 + sum(1 + len(kind.sets) for kind in found)
                found.append(_Kind(one, first, one.pmu.type if several else 0, scaled=not several, cycles=cycles))
            yield found
        yield [_Kind(None, 1, 0, scaled=True)]
        yield []

    def start(self) -> None:
        """Read marks from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Read the last marks and counters, and close the counters; the totals stay."""
        with self._lock:
            if self._over:
                return
            self._hear(rotate=False)
            self._over = True
            if self._counters is not None:
                self._counters.close()
        os.eventfd_write(self._wake, 1)
        if self._thread.ident is not None:
            self._thread.join()
        os.close(self._wake)

    def totals(self) -> RegionTotals:
        """What was counted until now."""
        with self._lock:
            if not self._over:
                self._hear(rotate=False)
            return self._totals()

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._pipe.descriptor, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        rest = select.poll()
        rest.register(self._wake, select.POLLIN)
        while True:
            poll.poll(self._wait_ms())
            with self._lock:
                if self._over:
                    return
                self._hear(rotate=time.monotonic_ns() - self._turned_ns >= _SLICE * 1e9)
                pause = self._pipe.rest()
            rest.poll(1e3 * pause)

    def _wait_ms(self) -> float | None:
        """Milliseconds until the next set is counted; None where there is one set, or no region is open."""
        multiplexed = any(len(kind.sets) > 1 for kind in self._kinds)
        return 1e3 * _SLICE if multiplexed and self._times is not None and self._times.still_open else None

    def _hear(self, *, rotate: bool) -> None:
        """Read the new marks from the pipe, and add the counts since the last reading to the regions that were open."""
        try:
            marks = self._pipe.take()
            if marks and self._times is None:
                self._begin()
            if self._times is None:
                return
            for mark in marks:
                self._times.take(mark)
            self._book(self._times, rotate=rotate)
        except (HostError, MachineError) as error:
            self._why = Unavailable(Reason.FAILED, f"counters of regions: {error}")
            if self._counters is not None:
                self._counters.close()
            self._counters, self._clock = None, None

    def _begin(self) -> None:
        if self._counters is not None:
            self._counters.enable(0)
            self._clock = self._counters.read_set(0)[0]
            for kind in self._kinds:
                kind.begin(self._counters)
        self._began_ns = self._last_ns = self._turned_ns = time.monotonic_ns()
        self._times = RegionTimes(self._began_ns)

    def _book(self, times: RegionTimes, *, rotate: bool) -> None:
        now, counters = time.monotonic_ns(), self._counters
        seconds, self._last_ns = (now - self._last_ns) / 1e9, now
        run, changes = 0.0, []
        if counters is not None and self._clock is not None:  # else times alone are known
            clock = counters.read_set(0)[0]
            run, self._clock = float(difference(clock, self._clock).value), clock
            changes = [kind.read(counters, seconds, rotate=rotate) for kind in self._kinds]
        if rotate:
            self._turned_ns = now
        self._run_ns += run
        for share in times.until(now):
            self._add(share, run, changes)

    def _add(self, share: RegionShare, run: float, changes: Sequence[_Change]) -> None:
        sums = self._regions.setdefault(share.name, _Sums())
        sums.seconds += share.seconds
        sums.apportioned += share.seconds if share.share < _WHOLE else 0.0
        sums.run_ns += run * share.share
        while len(sums.base) < len(changes):
            sums.base.append([0.0, 0.0])
            sums.sets.append({})
        for base, sets, change in zip(sums.base, sums.sets, changes, strict=False):
            base[:] = [old + new * share.share for old, new in zip(base, (*change.base, 0.0), strict=False)]
            sums.estimated |= change.estimated
            if change.found is not None:
                sets[change.at] = _joined(sets.get(change.at), change.found, share.share)

    def _totals(self) -> RegionTotals:
        times = self._times
        if times is None:
            return RegionTotals(unread=self._pipe.unread, why=self._why)
        names = sorted(times.entries, key=lambda name: -self._regions[name].seconds if name in self._regions else 0.0)
        slugs = [kind.core_type.definition.slug if kind.core_type is not None else "" for kind in self._kinds]
        return RegionTotals(
            (self._last_ns - self._began_ns) / 1e9, self._run_ns if self._clock is not None else None,
            tuple(_region(name, times.entries[name], self._regions.get(name, _Sums()), slugs) for name in names),
            times.lost, times.unmatched, times.still_open, self._pipe.unread,
            self._counters is not None and self._counters.user_only, self._why)


def _joined(old: SetInterval | None, new: SetInterval, share: float) -> SetInterval:
    """What a set counted so far, and a share of what it counted just now."""
    before: Mapping[str, float] = {} if old is None else old.counts
    counts = {key: before.get(key, 0.0) + count * share for key, count in new.counts.items()}
    return SetInterval((0.0 if old is None else old.seconds) + new.seconds * share,
                       (0.0 if old is None else old.instructions) + new.instructions * share, counts)


def _region(name: str, entries: int, sums: _Sums, slugs: Sequence[str]) -> CountedRegion:
    kinds = tuple(KindCounts(slug, base[0], base[1], tuple(sets[at] for at in sorted(sets)))
                  for slug, base, sets in zip(slugs, sums.base, sums.sets, strict=False))
    return CountedRegion(name, entries, sums.seconds, sums.apportioned, sums.run_ns, sums.estimated, kinds)


@runtime_checkable
class MarkedCommand(Protocol):
    """A command beside the dashboard whose regions are counted."""

    @property
    def regions(self) -> RegionCounting | None:
        """What counts them; None before the command's counters are open."""
