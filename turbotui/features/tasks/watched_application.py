"""One watched application: its sample readers, its totals, and the event set that counts at present."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.tasks.application_totals import ApplicationTotals, Marks
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.numerics import Numerics
from turbotui.features.tasks.parallel_watch import ParallelWatch
from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.features.tasks.task_regions import TaskRegions
from turbotui.features.tasks.thread_totals import RUN, Mark
from turbotui.features.tasks.totals_table import OUTSIDE_PART
from turbotui.machine.host import Host
from turbotui.machine.region_pipes import MarkPipe, RegionProcesses
from turbotui.machine.tasks.parallelism import Piece
from turbotui.machine.tasks.sample_reader import SampleReader
from turbotui.machine.tasks.sets import Mode
from turbotui.machine.tasks.sight import machine_times
from turbotui.machine.tasks.slices import RunTimes
from turbotui.quantities.unavailable import Reason, Unavailable

_NO_SWITCHES: Final = {Mode.PROC: Unavailable(Reason.NOT_READ, "without perf nobody tells when a task ran")}
_MULTIPLEXED: Final = Unavailable(Reason.NOT_READ, "multiplexed sets of events do not see every switch",
                                  "name events that fit into one set: -e instructions -e cycles")
_SLICE_NS: Final = 100_000_000
"""For which a set counts before the next one does, at most."""
_LEAST_SLICE_NS: Final = 20_000_000
_FIRST_SLICE_NS: Final = 5_000_000
"""Shorter first slice, so that every event set counts at least once on short commands."""


class IdleTimes:
    """How long some CPUs idled by /proc/stat: since watching began, in this interval, and in the one before."""

    def __init__(self, host: Host, cpus: Sequence[int], *, known: bool) -> None:
        self._host, self._cpus, self._known = host, cpus, known
        self._now = self._opened = self._began = self._before = self._read()

    def end(self) -> None:
        """Read the times at the end of an interval, of the whole run too."""
        self._now = self._read()

    def begin(self) -> None:
        """Begin the next interval where this one ended."""
        self._before, self._began = self._began, self._now

    def spent(self, *, whole: bool = False, again: bool = False) -> int | None:
        """The ns from the beginning of the interval, of the run, or of the interval before, to the last end."""
        since = self._opened if whole else self._before if again else self._began
        now = self._began if again else self._now
        return None if since is None or now is None else max(0, now - since)

    def _read(self) -> int | None:
        times = machine_times(self._host, self._cpus) if self._known else None
        return None if times is None else times.idle


@dataclass(slots=True)
class WatchedApplication:
    """One watched application."""

    application: Application
    # readers, aggregators: of each event set; several are multiplexed
    readers: tuple[SampleReader, ...]
    aggregators: tuple[SampleAggregator, ...]
    aggregate: ApplicationTotals  # the aggregators together
    numerics: Numerics  # what FLOPs and bytes are made of
    pids: tuple[int, ...]  # its processes
    folder: str | None  # its control group's
    opened_ns: int  # when watching began
    # marks, marked_ns: what every aggregator had when the interval began, and when that was
    marks: Marks
    marked_ns: int
    # before, before_ns: the same of the interval before
    before: Marks
    before_ns: int
    active: int = 0  # the position of the set that counts now
    active_ns: int = 0  # since when; 0 until something was seen
    slice_ns: int = _SLICE_NS  # length of a time slice
    slices: int = 0  # how many have ended
    taken_ns: int = 0  # when records were taken last: what is booked ends there
    # the clock of the host minus that of the records, at most; None before there are any. No record is newer than now,
    # and one of a busy task is hardly older.
    gap_ns: int | None = None
    missed: int = 0  # threads of mode A that ended between two looks, or may not be followed
    # CPU time of a command that has ended, and of all that it waited for, once somebody has said so
    used_ns: int | None = None
    parallel: ParallelWatch | None = None  # who ran beside whom; None where nobody asks
    unfound: int = 0  # threads of mode A that began unseen: what they ran before they were found is unknown
    regions: TaskRegions | None = None  # of a command, where its marks are read
    # where tasks outside a pid namespace look like the idle task to perf, what tells them apart
    idle: IdleTimes | None = None

    def mark_regions(self, pipe: MarkPipe, host: Host) -> None:
        """Divide the counts of threads among the marked regions from now on."""
        single = len(self.aggregators) == 1
        self.regions = TaskRegions(pipe, self.aggregators[0].names, len(self.aggregators), RegionProcesses(host, pipe))
        self.aggregators[0].regions = self.regions if single else None

    def take(self, now_ns: int, ran: RunTimes | None) -> None:
        """Process the records that have arrived, and the run times of threads by the times of switches."""
        for reader, aggregator in zip(self.readers, self.aggregators, strict=True):
            self.book(reader, aggregator, ran)
            if aggregator.newest:
                gap = max(0, now_ns - aggregator.newest)  # records of after `now` have been taken too
                self.gap_ns = gap if self.gap_ns is None else min(gap, self.gap_ns)
            self.unfound += len(aggregator.forked) * (aggregator.choice.mode is Mode.THREADS)
            aggregator.children -= reader.find_threads((*self.pids, *aggregator.children))
        followed = self.readers[0].followed if any(aggregator.forked
                                                   for aggregator in self.aggregators) else frozenset()
        self.missed += len(frozenset[int]().union(*(aggregator.forked for aggregator in self.aggregators)) - followed)
        for aggregator in self.aggregators:
            aggregator.forked.clear()
        self.taken_ns = now_ns
        if self.parallel is not None and not self.parallel.why:
            self._spread(self.parallel.settle(now_ns - (self.gap_ns or 0), self.aggregators[0].open_since))

    def watch_parallel(self, wanted: bool, cpus: int, *, drawn: bool = False, simulated: bool = False) -> None:
        """Start or stop adding up who runs beside whom, on so many CPUs at most.

        Args:
            drawn: whether serial stretches are kept.
            simulated: whether records have a clock of their own, known from the first ones.
        """
        for reader in self.readers:
            reader.want_slices(wanted)
        if not wanted:
            self.parallel = self.aggregators[0].parallel = None
        elif self.parallel is None:
            # the time of a command begins with its first slice, as does that of records by an unknown clock
            waits = (self.application.command and not self.aggregate.samples) or (simulated and self.gap_ns is None)
            why = _MULTIPLEXED if len(self.aggregators) > 1 else _NO_SWITCHES.get(self.aggregate.choice.mode)
            self.parallel = ParallelWatch(None if waits else self.taken_ns - (self.gap_ns or 0), cpus, drawn=drawn,
                                          looks=bool(self.application.command), why=why)
            self.parallel.begin(self.unseen_switches())
            self.aggregators[0].parallel = None if self.parallel.why else self.parallel.slices

    def _spread(self, pieces: Sequence[Piece]) -> None:
        if self.regions is not None:
            self.regions.add_pieces(pieces)

    def unseen_switches(self) -> dict[str, int]:
        """How often a switch of what is watched went unseen so far, by what it was."""
        apart = self.aggregate.apart() if self.application.everything else {}
        return {"samples of switches were lost": self.aggregate.lost,
                "the kernel held samples of switches back": self.aggregate.throttled,
                "samples of switches were numbered by another program": self.aggregate.misnumbered,
                "slices of threads were merged, as there were too many to read each": sum(
                    reader.merged for reader in self.readers),
                "threads ended between two looks at /proc": self.missed,
                "threads ran before they were found in /proc": self.unfound,
                "ns of tasks outside what may be seen, which may be idle time": (
                    apart[OUTSIDE_PART].counts.get(RUN, 0) if OUTSIDE_PART in apart else 0)}

    def finish_parallel(self) -> None:
        """Add up what is known at the end: all of it where everything has ended."""
        if self.parallel is not None and not self.parallel.why:
            alive = any(not entry.ended for entry in self.aggregators[0].entries() if entry.tid > 0)
            newest = self.aggregators[0].newest
            self._spread(self.parallel.settle(newest, None) if alive else self.parallel.finish())

    def book(self, reader: SampleReader, aggregator: SampleAggregator, ran: RunTimes | None) -> None:
        """Process the records of one sample reader, and merge ended threads if there are too many."""
        aggregator.go_on()
        if aggregator.time is not None:
            aggregator.time.cover(ran)
        for batch in reader.take():
            aggregator.feed(batch)
            if aggregator.is_full:
                self.tidy()
        if ran is not None:
            aggregator.spend(ran)

    def tidy(self) -> None:
        """Merge ended threads if there are too many."""
        moved = self.aggregate.tidy()
        if self.parallel is not None:
            self.parallel.renumber(moved[0])
        self.marks = tuple(moved_marks(marks, gone) for marks, gone in zip(self.marks, moved, strict=True))
        self.before = tuple(moved_marks(marks, gone) for marks, gone in zip(self.before, moved, strict=True))

    def end(self) -> None:
        """End the interval with the last records taken, before its rows are made."""
        spent: dict[int, int] = {}
        for turn in range(1, len(self.aggregators) + 1):  # the set that is on comes last: it alone has gone on counting
            aggregator = self.aggregators[(self.active + turn) % len(self.aggregators)]
            spent = aggregator.cut(self.taken_ns - self.marked_ns, spent)

    def begin(self) -> None:
        """Begin the next interval where this one ended."""
        self.tidy()
        self.before, self.before_ns = self.marks, self.marked_ns
        if self.idle is not None:
            self.idle.begin()
        self.marks, self.marked_ns = self.aggregate.marks(), self.taken_ns
        for aggregator in self.aggregators:
            aggregator.began = 0 if self.gap_ns is None else self.marked_ns - self.gap_ns

    @property
    def since(self) -> Marks:
        """Return the marks of the interval's beginning, with late counts of the time before."""
        return tuple(late_marks(marks, aggregator.early())
                     for marks, aggregator in zip(self.marks, self.aggregators, strict=True))

    @property
    def early(self) -> float:
        """Return the seconds of run time that were added in this interval but happened before it."""
        return (sum(counts[aggregator.names.index(RUN)] for aggregator in self.aggregators
                    for counts in aggregator.early().values()) / 1e9)

    def next_slice(self, now_ns: int) -> None:
        """Switch to the next event set when it is due, but not before the first sample."""
        if len(self.readers) == 1 or not (self.active_ns or self.aggregate.samples):
            return
        if not self.active_ns:
            self.active_ns = now_ns
        elif now_ns - self.active_ns >= self._slice_ns:
            before = self.readers[self.active]
            self.active = (self.active + 1) % len(self.readers)
            self.readers[self.active].take_over(before)
            self.active_ns = now_ns
            self.slices += 1

    def pause(self, now_ns: int) -> float:
        """Seconds that may pass before the next poll."""
        pause = min(reader.pause for reader in self.readers)
        if self.parallel is not None:
            pause = min(pause, self.parallel.look_in(now_ns))
        # A simulated clock that is set by hand stands still until somebody acts, and wakes the watcher.
        if len(self.readers) == 1 or now_ns == self.taken_ns:
            return pause
        due = self._slice_ns if not self.active_ns else max(0, self.active_ns + self._slice_ns - now_ns)
        return min(pause, due / 1e9)

    @property
    def _slice_ns(self) -> int:
        return _FIRST_SLICE_NS if self.slices < len(self.readers) else self.slice_ns


def slice_for(interval_ns: int, sets: int) -> int:
    """Return the time slice of an event set in ns: two slices in each interval for every set, if not too short."""
    return max(_LEAST_SLICE_NS, min(_SLICE_NS, interval_ns // (2 * sets)))


def moved_marks(marks: Mapping[int, Mark], moved: Mapping[int, int]) -> dict[int, Mark]:
    """Return the marks of an instant after entries have been merged."""
    late = dict(marks)
    for old, home in moved.items():
        if (mark := late.pop(old, None)) is not None:
            late[home] = late[home].plus(mark) if home in late else mark
    return late


def late_marks(marks: Mapping[int, Mark], early: Mapping[int, Sequence[int]]) -> Mapping[int, Mark]:
    """Return the marks of an instant with counts that were added later but happened before it."""
    if not early:
        return marks
    late = dict(marks)
    for serial, counts in early.items():
        more = Mark(tuple(counts), 0)
        late[serial] = late[serial].plus(more) if serial in late else more
    return late
