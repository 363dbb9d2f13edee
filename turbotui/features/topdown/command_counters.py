"""A top-down analysis of a command and all that it starts, and of the regions that it marks.

Counters are handed on by the kernel (perf_event_open(2), inherit), so that nothing of the command is missed, however
short its threads live. A region has what the whole command did while the region was open in at least one thread:
counters are read at the marks, and what is read together with other work is shared out by time, as on the roofline.
"""

from __future__ import annotations

import errno
import time
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.features.topdown.counter_parts import (
    DISABLED,
    ENABLE_ON_EXEC,
    EXCLUDE_HV,
    EXCLUDE_KERNEL,
    INHERIT,
    Counts,
    GroupKey,
    NamedEvents,
    OpenPart,
    PartCount,
    encoded_events,
    open_parts,
)
from turbotui.features.topdown.engine import TopdownCounters
from turbotui.features.topdown.model import TopdownRow
from turbotui.features.topdown.places import CpuSet, RowLevel
from turbotui.features.topdown.region_rows import region_rows
from turbotui.features.topdown.thread_rows import counted_row, kind_rows
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.machine.observing import Observation
from turbotui.machine.perf_errors import circumstances, explain_perf
from turbotui.machine.perf_groups import close_all
from turbotui.machine.region_pipes import MarkPipe
from turbotui.machine.regions import SHARED_BY_TIME, RegionTimes, by_rows, region_notes
from turbotui.quantities.unavailable import Reason, Unavailable

_REFUSED: Final = (errno.EACCES, errno.EPERM)
_PAUSE: Final = 0.5  # seconds between two readings where no mark comes


class FamilyCounters:
    """Counters of every group over a command, from its exec(2) on.

    Args:
        machine: this one.
        counters: the trees, and what is counted below level 1.
        pid: of a process that waits before its exec.

    Attributes:
        user_only: whether counts leave the kernel out, for want of rights.

    Raises:
        MachineError: this user may count nothing of a command; it was not run.
    """

    def __init__(self, machine: Machine, counters: TopdownCounters, pid: int) -> None:
        self._host = machine.host
        self._open: dict[GroupKey, list[OpenPart] | Unavailable] = {}
        self.user_only = False
        for group in counters.groups():
            key = group.branch.pmu, group.parent
            events = encoded_events(machine, group)
            if isinstance(events, Unavailable):
                self._open[key] = events
                continue
            try:
                self._open[key] = self._opened(events, pid)
            except HostError as error:
                why = explain_perf(error, f"perf {group.request.text}, of a command", circumstances(machine),
                                   events[0][1].attr.type)
                if error.errno in (*_REFUSED, errno.EMFILE, errno.ENFILE):
                    self.close()
                    raise MachineError(f"the command was not run: {why.sentence()}") from error
                self._open[key] = why

    def _opened(self, events: NamedEvents, pid: int) -> list[OpenPart]:
        for attempt in (self.user_only, True):
            try:
                found = open_parts(self._host, events, pid, DISABLED | ENABLE_ON_EXEC,
                                   INHERIT | (EXCLUDE_KERNEL | EXCLUDE_HV if attempt else 0))
            except HostError as error:
                if error.errno not in _REFUSED or attempt:
                    raise
            else:
                self.user_only = attempt
                return found
        raise HostError(errno.EACCES, "perf_event_open")

    def read(self) -> Counts:
        """What was counted since the last time."""
        found: dict[GroupKey, tuple[PartCount, ...] | Unavailable] = {}
        for key, parts in self._open.items():
            try:
                found[key] = parts if isinstance(parts, Unavailable) else tuple(part.read(self._host) for part in parts)
            except HostError as error:
                found[key] = Unavailable(Reason.FAILED, f"counters of the command: {error}")
        return found

    def close(self) -> None:
        """Close every counter."""
        for parts in self._open.values():
            for part in () if isinstance(parts, Unavailable) else parts:
                close_all(self._host, part.descriptors)
        self._open = {}


def added(one: Counts, other: Counts, share: float = 1.0) -> Counts:
    """The sum of counts and of a share of other counts."""
    found: dict[GroupKey, tuple[PartCount, ...] | Unavailable] = dict(one)
    for key, parts in other.items():
        known = found.get(key)
        if isinstance(parts, Unavailable):
            found.setdefault(key, parts)
            continue
        mine = tuple(PartCount({name: value * share for name, value in part.values.items()}, part.enabled * share,
                               part.running * share) for part in parts)
        found[key] = mine if known is None or isinstance(known, Unavailable) else tuple(
            PartCount({name: value + new.values.get(name, 0.0) for name, value in old.values.items()},
                      old.enabled + new.enabled, old.running + new.running)
            for old, new in zip(known, mine, strict=True))
    return found


class RegionCounts:
    """What was counted in each region of a command.

    Args:
        start: `time.monotonic` of the first reading.
    """

    def __init__(self, start: float) -> None:
        self.times = RegionTimes(round(start * 1e9))
        self._counts: dict[str, Counts] = {}

    def take(self, counts: Counts, now: float) -> None:
        """Share out what was counted since the reading before."""
        for one in self.times.until(round(now * 1e9)):
            self._counts[one.name] = added(self._counts.get(one.name, {}), counts, one.share)
        if self.times.folded:
            self._counts = by_rows(self._counts, self.times.folded, added)

    def rows(self, counters: TopdownCounters, whole: TopdownRow, seconds: float) -> tuple[TopdownRow, ...]:
        """The rows of the regions, longest first.

        Args:
            counters: whose branches have the trees.
            whole: the row of the command.
            seconds: how long it ran.
        """
        return region_rows(counters.branches, self.times.extents(), by_rows(self._counts, self.times.rows, added),
                           seconds, whole.slots())

    def notes(self, pipe: MarkPipe) -> tuple[str, ...]:
        """See `regions.region_notes`."""
        times = self.times
        return region_notes(marked=times.rows.values(), estimate=SHARED_BY_TIME if times.apportioned else "",
                            lost=times.lost, unmatched=times.unmatched, still_open=times.still_open,
                            unread=pipe.unread)


@dataclass(frozen=True, slots=True)
class CommandTopdown:
    """A command that has ended.

    Attributes:
        whole: its row; `regions` those of its regions.
        kinds: rows of what ran on each kind of core; () where it ran on one.
        seconds: how long it ran.
        notes: on them.
    """

    whole: TopdownRow
    regions: tuple[TopdownRow, ...]
    seconds: float
    notes: tuple[str, ...]
    kinds: tuple[TopdownRow, ...] = ()


def follow_command(machine: Machine, counters: TopdownCounters, seen: Observation, pipe: MarkPipe) -> CommandTopdown:
    """Run a held command with its counters open from its first instruction, and read them at its marks.

    Raises:
        MachineError: this user may count nothing of a command; it was not run.
        TurbotuiError: the command cannot be run.
    """
    opened = FamilyCounters(machine, counters, seen.commands[0].pid)
    try:
        seen.run()
        began = pause_until = time.monotonic()
        regions, counts, over = RegionCounts(began), opened.read(), False
        while not over:
            over = seen.wait(pause_until)
            if not over:
                over = seen.wait(time.monotonic() + _PAUSE, also=pipe.descriptor)
            for mark in pipe.take():
                regions.times.take(mark)
            now, more = time.monotonic(), opened.read()
            counts = added(counts, more)
            regions.take(more, now)
            pause_until = now + pipe.rest()
    finally:
        opened.close()
    seconds = time.monotonic() - began
    place = CpuSet(RowLevel.COMMAND, ("command", 0), seen.commands[0].name, ())
    whole = counted_row(place, counters.branches, counts, seconds)
    notes = ("counts leave the kernel out: kernel.perf_event_paranoid hides it from this user",)
    return CommandTopdown(whole, regions.rows(counters, whole, seconds), seconds,
                          (*(notes if opened.user_only else ()), *regions.notes(pipe)),
                          kind_rows(place, counters.branches, counts, seconds) if whole.several else ())
