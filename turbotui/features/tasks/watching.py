"""Watches applications: chooses counters, opens them, adds up what comes, and gives tables of any interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from turbotui.errors import MachineError
from turbotui.features.tasks.application_totals import ApplicationTotals, Marks
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.choosing import Chosen, choose_sets
from turbotui.features.tasks.cpu_time import SchedStats
from turbotui.features.tasks.numerics import Numerics
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.thread_totals import RUN, Mark
from turbotui.features.tasks.timeline import Timeline
from turbotui.features.tasks.turns import Turns
from turbotui.machine.cpulist import parse_cpulist
from turbotui.machine.host import Host, HostError, HostKind
from turbotui.machine.machine import Machine
from turbotui.machine.tasks.processes import cgroup_folder, cpu_time, has_ended, name_of, processes, threads_of
from turbotui.machine.tasks.sample_reader import SampleReader, open_sample_reader, refuse_recorded
from turbotui.machine.tasks.sets import Mode
from turbotui.machine.tasks.slices import Ran
from turbotui.machine.tasks.switch_times import SwitchTimes
from turbotui.machine.tasks.waiting import Waiting

_PRESENT: Final = "/sys/devices/system/cpu/present"
_PAUSE: Final = 0.2  # seconds, where nothing is watched
_TURN_NS: Final = 100_000_000  # for which a set counts before the next one does, at most
_LEAST_TURN_NS: Final = 20_000_000
_FIRST_TURN_NS: Final = 5_000_000  # until each has counted once: short commands are then seen by all
LIVE_BIN_NS: Final = 10_000_000
LIVE_HORIZON_NS: Final = 60_000_000_000


@dataclass(slots=True)
class Watched:
    """One application under watch.

    Attributes:
        application: which.
        readers, aggregators: of each set; sets of more than one take turns.
        aggregate: the aggregators together.
        numerics: what FLOPs and bytes are made of.
        pids: its processes.
        folder: its control group's.
        opened_ns: when watching began.
        marks, marked_ns: what every aggregator had when the interval began, and when that was.
        before, before_ns: the same of the interval before.
        on: the position of the set whose turn it is.
        turned_ns: since when; 0 until something was seen.
        turn_ns: how long a turn is.
        changes: turns that have ended.
        taken_ns: when records were taken last: what is booked ends there.
        gap_ns: the clock of the host minus that of the records, at most; None before there are any. No record is newer
            than now, and one of a busy task is hardly older.
        missed: threads of mode A that ended between two looks, or may not be followed.
        used_ns: CPU time of a command that has ended, and of all that it waited for, once somebody has said so.
    """

    application: Application
    readers: tuple[SampleReader, ...]
    aggregators: tuple[SampleAggregator, ...]
    aggregate: ApplicationTotals
    numerics: Numerics
    pids: tuple[int, ...]
    folder: str | None
    opened_ns: int
    marks: Marks
    marked_ns: int
    before: Marks
    before_ns: int
    on: int = 0
    turned_ns: int = 0
    turn_ns: int = _TURN_NS
    changes: int = 0
    taken_ns: int = 0
    gap_ns: int | None = None
    missed: int = 0
    used_ns: int | None = None

    def take(self, now_ns: int, ran: Ran | None) -> None:
        """Book what came, and how long threads ran by the times of switches."""
        for reader, aggregator in zip(self.readers, self.aggregators, strict=True):
            self.book(reader, aggregator, ran)
            if aggregator.newest:
                gap = now_ns - aggregator.newest
                self.gap_ns = gap if self.gap_ns is None else min(gap, self.gap_ns)
            aggregator.children -= reader.find_threads((*self.pids, *aggregator.children))
        found = self.readers[0].followed if any(aggregator.forked for aggregator in self.aggregators) else frozenset()
        self.missed += len(frozenset[int]().union(*(aggregator.forked for aggregator in self.aggregators)) - found)
        for aggregator in self.aggregators:
            aggregator.forked.clear()
        self.taken_ns = now_ns

    def book(self, reader: SampleReader, aggregator: SampleAggregator, ran: Ran | None) -> None:
        """Book what one sample reader has, and put ended threads together where there are very many."""
        if aggregator.time is not None:
            aggregator.time.cover(ran)
        for batch in reader.take():
            aggregator.feed(batch)
            if aggregator.crowded:
                self.tidy()
        if ran is not None:
            aggregator.spend(ran)

    def tidy(self) -> None:
        """Put ended threads together where there are very many."""
        moved = self.aggregate.tidy()
        self.marks = tuple(moved_marks(marks, gone) for marks, gone in zip(self.marks, moved, strict=True))
        self.before = tuple(moved_marks(marks, gone) for marks, gone in zip(self.before, moved, strict=True))

    def begin(self) -> None:
        """An interval ends with what was taken last, and the next one begins."""
        self.tidy()
        self.before, self.before_ns = self.marks, self.marked_ns
        self.marks, self.marked_ns = self.aggregate.marks(), self.taken_ns
        for aggregator in self.aggregators:
            aggregator.began = 0 if self.gap_ns is None else self.marked_ns - self.gap_ns

    @property
    def since(self) -> Marks:
        """What the entries had when the interval began, and what was booked since and happened before it."""
        return tuple(late_marks(marks, aggregator.early())
                     for marks, aggregator in zip(self.marks, self.aggregators, strict=True))

    @property
    def early(self) -> float:
        """Seconds of run time that were booked in this interval and happened before it."""
        return (
            sum(
                one[aggregator.names.index(RUN)]
                for aggregator in self.aggregators
                for one in aggregator.early().values()
            )
            / 1e9
        )

    def turn(self, now_ns: int) -> None:
        """Let the next set count, if it is time. Not before something was seen: a command waits for its start."""
        if len(self.readers) == 1 or not (self.turned_ns or self.aggregate.samples):
            return
        if not self.turned_ns:
            self.turned_ns = now_ns
        elif now_ns - self.turned_ns >= self._turn_ns:
            self.readers[self.on].rest()
            self.on = (self.on + 1) % len(self.readers)
            self.readers[self.on].wake()
            self.turned_ns = now_ns
            self.changes += 1

    def pause(self, now_ns: int) -> float:
        """Seconds that may pass before the next look."""
        pause = min(reader.pause for reader in self.readers)
        if len(self.readers) == 1:
            return pause
        due = self._turn_ns if not self.turned_ns else max(0, self.turned_ns + self._turn_ns - now_ns)
        return min(pause, due / 1e9)

    @property
    def _turn_ns(self) -> int:
        return _FIRST_TURN_NS if self.changes < len(self.readers) else self.turn_ns


def turn_for(interval_ns: int, sets: int) -> int:
    """How long a set counts in ns, so that each has two turns in an interval; but changing them has its price."""
    return max(_LEAST_TURN_NS, min(_TURN_NS, interval_ns // (2 * sets)))


def moved_marks(marks: Mapping[int, Mark], moved: Mapping[int, int]) -> dict[int, Mark]:
    """Marks of an instant, after entries have been put together."""
    found = dict(marks)
    for old, home in moved.items():
        mark = found.pop(old, None)
        if mark is not None:
            found[home] = found[home].plus(mark) if home in found else mark
    return found


def late_marks(marks: Mapping[int, Mark], early: Mapping[int, Sequence[int]]) -> Mapping[int, Mark]:
    """Marks of an instant, with what happened before it and was booked later."""
    if not early:
        return marks
    found = dict(marks)
    for serial, counts in early.items():
        more = Mark(tuple(counts), 0)
        found[serial] = found[serial].plus(more) if serial in found else more
    return found


class Watching:
    """Everything that is being watched at one time. Lives on one thread; only `waiting.wake` may be called from others.

    Args:
        machine: whose tasks.
        pages: of each ring; None for the default.
        live: keep a timeline of the last minute instead of one of everything.
        drawn: keep a timeline at all.
    """

    def __init__(self, machine: Machine, pages: int | None = None, *, live: bool = False,
                 drawn: bool = True) -> None:
        refuse_recorded(machine.host)
        self.waiting = Waiting()
        self.watched: list[Watched] = []
        self._machine = machine
        self._host: Host = machine.host
        self._cpus = tuple(machine.topology.cpus)
        self._pages = pages
        self._live = live
        self._drawn = drawn
        self._switches: SwitchTimes | None = None
        self._stats = SchedStats(machine.host)

    def add(self, application: Application, *, child: int | None = None) -> Watched:
        """Open the counters of an application.

        Args:
            application: what and by which events.
            child: a child that waits before exec(2), for an application that is a command.

        Raises:
            MachineError: no such process or group, not permitted, or not enough descriptors or memory.
            UsageError: an event is unknown or given twice.
            EventError: an event cannot be understood.
        """
        pids = application.pids if child is None else (child,)
        chosen = self._choose(application, pids)
        try:
            one = self._opened(application, chosen, pids, on_exec=child is not None)
        except MachineError:
            if len(chosen.sets) == 1:
                raise
            # fewer numbers are better than none where descriptors or memory do not suffice for every set
            one = self._opened(application, chosen.first_only(self._machine), pids, on_exec=child is not None)
        self.watched.append(one)
        return one

    def _opened(self, application: Application, chosen: Chosen, pids: tuple[int, ...], *, on_exec: bool) -> Watched:
        sets = chosen.sets
        # a thread's sets are for CPUs that come online later too; those of whole CPUs are opened when they come
        cpus = self._present() if sets[0].mode is Mode.INHERITED else self._cpus
        scheduled = self._host.kind is HostKind.REAL and len(sets) == 1 and sets[0].mode is not Mode.CPUS
        readers = tuple(open_sample_reader(self._host, choice, cpus, self.waiting, self._pages) for choice in sets)
        timeline = (Timeline(LIVE_BIN_NS, LIVE_HORIZON_NS) if self._live
                    else Timeline() if self._drawn else Timeline(most=0))
        turns = Turns() if len(sets) > 1 else None
        kept = pids if application.command and sets[0].mode is Mode.CPUS else None
        aggregators = tuple(
            SampleAggregator(choice, reader.roots, timeline, turns=turns, kept=kept, scheduled=scheduled)
            for choice, reader in zip(sets, readers, strict=True)
        )
        now = self._host.now_ns()
        nothing: Marks = ({},) * len(sets)
        one = Watched(
            application,
            readers,
            aggregators,
            ApplicationTotals(aggregators),
            chosen.numerics,
            pids,
            None,
            now,
            nothing,
            now,
            nothing,
            now,
            taken_ns=now,
        )
        try:
            if scheduled:
                self._time_switches()
                self._note_bases(aggregators[0], pids)
            for number, reader in enumerate(readers):
                if number:
                    reader.rest()
                one.folder = self._aim(one, reader, on_exec=on_exec and not number)
            for aggregator in aggregators:
                self._name_all(aggregator, one)
        except BaseException:
            for reader in readers:
                reader.close()
            raise
        return one

    @property
    def pause(self) -> float:
        """Seconds that a round may wait: samples are taken by the kernel, and lie in the rings meanwhile."""
        now = self._host.now_ns()
        return min((one.pause(now) for one in self.watched), default=_PAUSE)

    def round(self, seconds: float) -> None:
        """Wait until there is something to book, at most so long, and book it."""
        self.waiting.wait(seconds)
        now = self._host.now_ns()
        ran = None if self._switches is None else self._switches.take()
        for one in self.watched:
            one.take(now, ran)
            one.turn(now)
        if self._stats.due(now):
            for one in self.watched:
                self._read_times(one, whole=False)

    def gone(self, one: Watched) -> bool:
        """Whether nothing of the application is left; a process that nobody has waited for yet has ended too."""
        if self._host.kind is not HostKind.REAL:
            return False
        if one.folder is not None:
            return not self._host.exists(one.folder)
        return bool(one.pids) and all(has_ended(self._host, pid) for pid in one.pids)

    def report(self, one: Watched, by: Grouping, *, whole: bool = False, again: bool = False) -> Report:
        """The rows of an interval, which this ends.

        Args:
            one: whose.
            by: what a row stands for.
            whole: since the beginning, ending nothing.
            again: from the beginning of the interval before, ending nothing: the same interval in another light.
        """
        self._name_nameless(one)
        if not again:
            self._read_times(one, whole=True)
        since, since_ns = (one.before, one.before_ns) if again else (one.since, one.marked_ns)
        before = None if whole or again else one.before
        rows = one.aggregate.rows(by, None if whole else since, one.application.name, before)
        apart = one.aggregate.apart(None if whole else since)
        sets = one.aggregate.totals(None if whole else since).sets
        seconds = (one.taken_ns - (one.opened_ns if whole else since_ns)) / 1e9
        early = 0.0 if whole or again else one.early
        if not whole and not again:
            one.turn_ns = turn_for(one.taken_ns - one.marked_ns, len(one.readers))
            one.begin()
        aggregate = one.aggregate
        return Report(
            one.application,
            aggregate.choice,
            one.numerics,
            tuple(rows),
            seconds,
            aggregate.lost,
            aggregate.throttled,
            sum(reader.damaged for reader in one.readers),
            one.missed,
            self.gone(one),
            "",
            aggregate.names,
            aggregate.turns,
            early,
            sets,
            apart,
            one.used_ns,
        )

    def finish(self) -> None:
        """Stop counting, and book the last read of every counter."""
        for one in self.watched:
            for reader in one.readers:
                reader.stop()
        ran = None if self._switches is None else self._switches.take()
        for one in self.watched:
            one.taken_ns = self._host.now_ns()
            for reader, aggregator in zip(one.readers, one.aggregators, strict=True):
                one.book(reader, aggregator, ran)
                if aggregator is one.aggregators[-1]:
                    self._read_times(one, whole=True)
                aggregator.close(reader.final_readings())

    def close(self) -> None:
        """Give every descriptor back."""
        for one in self.watched:
            for reader in one.readers:
                reader.close()
        self.watched.clear()
        if self._switches is not None:
            self._switches.close()
        self.waiting.close()

    def _time_switches(self) -> None:
        """Take the times of all switches from now on, where this user may."""
        if self._switches is None:
            try:
                self._switches = SwitchTimes(self._host, self._cpus, self.waiting)
            except (HostError, MachineError):
                return  # CPU time of threads that ended is then an estimate, which rows say
            self._stats = SchedStats(self._host, self._switches)
        ran = self._switches.take()  # of before the new counters: the others'
        for one in self.watched:
            for aggregator in one.aggregators:
                aggregator.spend(ran)

    def _note_bases(self, aggregator: SampleAggregator, pids: Sequence[int]) -> None:
        for pid in pids:
            for tid in threads_of(self._host, pid):
                if aggregator.time is not None and (spent := cpu_time(self._host, pid, tid)) is not None:
                    aggregator.time.base(tid, spent)
                    if self._switches is not None:
                        self._switches.known(tid, self._host.now_ns())

    def _read_times(self, one: Watched, *, whole: bool) -> None:
        for aggregator in one.aggregators:
            if aggregator.time is not None:
                children = one.pids if one.application.command and one.used_ns is None else ()
                self._stats.look(aggregator.of_threads(), aggregator.time, children, whole=whole)

    def _present(self) -> tuple[int, ...]:
        try:
            found = parse_cpulist(self._host.read_text(_PRESENT))
        except (HostError, ValueError):
            return self._cpus
        return tuple(sorted({*found, *self._cpus}))

    def _choose(self, application: Application, pids: Sequence[int]) -> Chosen:
        return choose_sets(self._machine, application, pids)

    def _aim(self, one: Watched, reader: SampleReader, *, on_exec: bool) -> str | None:
        """Open the counters of one set; returns the cgroup's folder."""
        application = one.application
        real = self._host.kind is HostKind.REAL
        if application.everything:
            reader.add_cpus()
            return None
        if application.cgroup is not None:
            if not real:
                raise MachineError(f"{self._host.name} is a simulated machine without control groups: "
                                   "watch all, or one of its processes by number")
            folder = cgroup_folder(self._host, application.cgroup)
            reader.add_cpus(folder)
            return folder
        if (
            one.aggregate.choice.mode is Mode.CPUS and real
        ):  # a command, whose descendants are told apart by the aggregator
            reader.add_cpus()
            return None
        for pid in one.pids:
            reader.add_process(pid, on_exec=on_exec)
        return None

    def _name_nameless(self, one: Watched) -> None:
        """Ask /proc for the names of threads whose birth nobody saw: their CPU had just come, or samples were lost."""
        if self._host.kind is HostKind.REAL:
            for aggregator in one.aggregators:
                for pid, tid in aggregator.nameless():
                    aggregator.rename(tid, name_of(self._host, pid, tid))

    def _name_all(self, aggregator: SampleAggregator, one: Watched) -> None:
        if self._host.kind is not HostKind.REAL:
            return
        for pid in processes(self._host) if one.application.whole_cpus else one.pids:
            for tid in threads_of(self._host, pid):
                aggregator.name(tid, name_of(self._host, pid, tid))
