"""Top-down counters of a command with its descendants, or of running programs, and of their marked regions.

The kernel inherits counters (perf_event_open(2), inherit), so that nothing of the command is missed, however short its
threads live. A region gets the counts of the whole command while the region was open in at least one thread: counters
are read at the marks, and counts that cover other work as well are apportioned by time, as on the roofline.
"""

from __future__ import annotations

import contextlib
import errno
import select
import time
from collections import Counter
from collections.abc import Iterable
from typing import Final

from turbotui.counting.counters import (
    DISABLED,
    ENABLE_ON_EXEC,
    INHERIT,
    INHERIT_THREAD,
    NOT_PERMITTED,
    CountTarget,
    as_permitted,
)
from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.features.topdown.counter_parts import (
    Counts,
    GroupKey,
    OpenedEvents,
    OpenPart,
    PartCount,
    close_parts,
    encoded_events,
    open_accepted,
    read_parts,
)
from turbotui.features.topdown.engine import TopdownCounters
from turbotui.features.topdown.model import TopdownRow
from turbotui.features.topdown.places import CpuSet, RowLevel
from turbotui.features.topdown.region_rows import ALL_PROGRAMS, region_rows
from turbotui.features.topdown.thread_rows import USER_ONLY, rows_with_kinds
from turbotui.features.topdown.thread_search import ProcessThreads
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.machine.observing import Observation
from turbotui.machine.perf_errors import circumstances, explain_perf
from turbotui.machine.region_pipes import GivenPipe, MarkPipe, RegionProcesses
from turbotui.machine.regions import SHARED_BY_TIME, RegionTimes, by_rows, region_notes
from turbotui.machine.tasks.processes import running_threads
from turbotui.quantities.sentences import several
from turbotui.quantities.unavailable import Unavailable
from turbotui.region_marks import VARIABLE

_NOTHING_MARKED: Final = f"no program marked a region: start them with {VARIABLE} naming the FIFO"
_PAUSE: Final = 0.5  # seconds between two readings without a mark


class FamilyCounters:
    """Counters of every group for a command, from its exec(2) on, or for a running thread, from now on.

    Args:
        machine: this one.
        pid: a process that waits before its exec, or a thread.
        runs: whether `pid` is a running thread, which is counted with the threads that it starts.
        children: whether processes started by the thread are counted, too; a command's always are.

    Attributes:
        user_only: whether counts exclude the kernel, for lack of permission.

    Raises:
        MachineError: this user may count nothing; the command was not run.
        HostError: the thread has ended.
    """

    def __init__(self, machine: Machine, counters: TopdownCounters, pid: int, *, runs: bool = False,
                 children: bool = False) -> None:
        self._machine = machine
        self._first = DISABLED if runs else DISABLED | ENABLE_ON_EXEC
        self._heirs = INHERIT | INHERIT_THREAD if runs and not children else INHERIT
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
                if error.errno == errno.ESRCH:
                    self.close()
                    raise
                why = explain_perf(error, f"perf {group.request.text}, of a {'program' if runs else 'command'}",
                                   circumstances(machine), events.events[0][1].attr.type)
                if error.errno in (*NOT_PERMITTED, errno.EMFILE, errno.ENFILE):
                    self.close()
                    raise MachineError(("" if runs else "the command was not run: ") + why.sentence()) from error
                self._open[key] = why
        if runs:  # enabled only now; otherwise the first counters would count alone for a while
            for parts in self._open.values():
                for part in () if isinstance(parts, Unavailable) else parts:
                    part.counters.switch("counters of a program that runs", on=True)

    def _opened(self, events: OpenedEvents, pid: int) -> list[OpenPart]:
        (parts, _events), self.user_only = as_permitted(
            lambda flags: open_accepted(self._machine, events, CountTarget(pid, flags=self._heirs | flags,
                                                                      first=self._first)), user_only=self.user_only)
        return parts

    def read(self) -> Counts:
        """Return the counts since the last reading."""
        return {key: read_parts(parts, "the command") for key, parts in self._open.items()}

    def close(self) -> None:
        """Close every counter."""
        for parts in self._open.values():
            close_parts(parts)
        self._open = {}


def added(first: Counts, other: Counts, share: float = 1.0) -> Counts:
    """Add a share of other counts to counts."""
    sums: dict[GroupKey, tuple[PartCount, ...] | Unavailable] = dict(first)
    for key, parts in other.items():
        known = sums.get(key)
        if isinstance(parts, Unavailable):
            sums.setdefault(key, parts)
            continue
        scaled = tuple(part.times(share) for part in parts)
        sums[key] = scaled if known is None or isinstance(known, Unavailable) else tuple(
            old.plus(new) for old, new in zip(known, scaled, strict=True))
    return sums


class RegionCounts:
    """The counts of each region of a command, since `time.monotonic` of the first reading."""

    def __init__(self, start: float) -> None:
        self.times = RegionTimes(round(start * 1e9))
        self._counts: dict[str, Counts] = {}

    def take(self, counts: Counts, now: float) -> None:
        """Apportion the counts since the previous reading."""
        for share in self.times.until(round(now * 1e9)):
            self._counts[share.name] = added(self._counts.get(share.name, {}), counts, share.share)
        if self.times.folded:
            self._counts = by_rows(self._counts, self.times.folded, added)

    def rows(self, counters: TopdownCounters, whole: TopdownRow, seconds: float) -> tuple[TopdownRow, ...]:
        """Return the rows of the regions, longest first."""
        return region_rows(counters.branches, self.times.extents(), by_rows(self._counts, self.times.rows, added),
                           seconds, whole.slots())

    def result(self, name: str, counters: TopdownCounters, counts: Counts, seconds: float,
               notes: tuple[str, ...]) -> CommandTopdown:
        """Return the result: the whole, under this name, and its regions."""
        place = CpuSet(RowLevel.COMMAND, ("command", 0), name, ())
        whole, *kinds = rows_with_kinds(place, counters.branches, counts, seconds)
        return CommandTopdown(whole, self.rows(counters, whole, seconds), seconds, notes, tuple(kinds))

    def notes(self, pipe: MarkPipe) -> tuple[str, ...]:
        times = self.times
        return region_notes(marked=times.rows.values(), estimate=SHARED_BY_TIME if times.apportioned else "",
                            lost=times.lost, unmatched=times.unmatched, still_open=times.still_open + times.left_open,
                            unread=pipe.unread, strangers=pipe.strangers)


@dataclass(frozen=True, slots=True)
class CommandTopdown:
    """The result for a command that has ended, or for programs that marked regions."""

    whole: TopdownRow  # the row of the command or the programs; `regions` are the rows of regions
    regions: tuple[TopdownRow, ...]
    seconds: float  # the counted duration
    notes: tuple[str, ...]  # notes for readers
    kinds: tuple[TopdownRow, ...] = ()  # a row for each core type; () if all ran on one


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
            if not (over := seen.wait(pause_until)):
                over = seen.wait(time.monotonic() + _PAUSE, also=pipe.descriptor)
            for mark in pipe.take():
                regions.times.take(mark)
            now, more = time.monotonic(), opened.read()
            counts = added(counts, more)
            regions.take(more, now)
            pause_until = now + pipe.rest()
    finally:
        opened.close()
    notes = (*(USER_ONLY if opened.user_only else ()), *regions.notes(pipe))
    return regions.result(seen.commands[0].name, counters, counts, time.monotonic() - began, notes)


class ProgramCounters:
    """The summed counters of all threads of running programs.

    A process that is started while counters are opened, by a thread without one yet, is missed with its descendants.

    Args:
        family: whether a program's present and future descendants are counted with it.

    Attributes:
        refused: reasons for which programs are not counted, with their numbers.
    """

    def __init__(self, machine: Machine, counters: TopdownCounters, *, family: bool = False) -> None:
        self._machine = machine
        self._counters = counters
        self._family = family
        self._open: list[FamilyCounters] = []
        self.refused: Counter[str] = Counter()

    def add(self, pid: int) -> None:
        """Count a process as well, from now on."""
        for tid in sorted(self._threads(pid)):
            try:
                self._open.append(FamilyCounters(self._machine, self._counters, tid, runs=True, children=self._family))
            except MachineError as error:
                self.refused[str(error)] += 1
                return
            except HostError:  # the thread has ended meanwhile
                continue

    def _threads(self, pid: int) -> Iterable[int]:
        if not self._family:
            return running_threads(self._machine.host, pid)
        try:
            return ProcessThreads(self._machine.host, (pid,), family=True).find()
        except MachineError:  # the process has ended
            return ()

    @property
    def user_only(self) -> bool:
        """Whether counts of some thread exclude the kernel, for lack of permission."""
        return any(counters.user_only for counters in self._open)

    def read(self) -> Counts:
        """Return the counts since the last reading."""
        counts: Counts = {}
        for counters in self._open:
            counts = added(counts, counters.read())
        return counts

    def close(self) -> None:
        """Close every counter."""
        for counters in self._open:
            counters.close()


def follow_programs(machine: Machine, counters: TopdownCounters, pipe: GivenPipe, seconds: float) -> CommandTopdown:
    """Count programs that mark regions in a FIFO named by the user, each from its first mark on.

    Args:
        seconds: the longest time; counting ends earlier when all programs have ended, or by SIGINT.
    """
    opened, processes = ProgramCounters(machine, counters), RegionProcesses(machine.host, pipe)
    poll = select.poll()
    poll.register(pipe.descriptor, select.POLLIN)
    began = last = time.monotonic()
    regions, marked, over = RegionCounts(began), False, False
    counts: Counts = {}
    try:
        with contextlib.suppress(KeyboardInterrupt):  # the usual end
            while not over:
                poll.poll(1e3 * max(0.0, min(_PAUSE, began + seconds - time.monotonic())))
                marks, fresh = processes.take()
                for pid in fresh:
                    opened.add(pid)
                if marks and not marked:
                    marked, began = True, time.monotonic()  # earlier counts belong to no region
                    regions = RegionCounts(began)
                for mark in marks:
                    regions.times.take(mark)
                processes.close_ended(regions.times)
                over = processes.over or time.monotonic() - began >= seconds  # before the last reading
                last, more = time.monotonic(), opened.read()
                counts = added(counts, more)
                regions.take(more, last)
                time.sleep(pipe.rest())
    finally:
        opened.close()
    notes = (*(f"{several(number, 'program')} not counted: {why}" for why, number in opened.refused.items()),
             *(USER_ONLY if opened.user_only else ()), *(() if marked else (_NOTHING_MARKED,)), *regions.notes(pipe))
    return regions.result(ALL_PROGRAMS, counters, counts, last - began, notes)
