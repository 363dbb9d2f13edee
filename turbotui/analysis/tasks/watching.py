"""Watches applications: chooses counters, opens them, books what comes, and gives tables of any interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from turbotui.analysis.tasks.accounts import RUN, Mark
from turbotui.analysis.tasks.applications import Application
from turbotui.analysis.tasks.books import Books, Marks
from turbotui.analysis.tasks.choosing import Chosen, choose_sets
from turbotui.analysis.tasks.ledger import Ledger
from turbotui.analysis.tasks.numerics import Numerics
from turbotui.analysis.tasks.report import Report
from turbotui.analysis.tasks.tables import Grouping
from turbotui.analysis.tasks.timeline import Timeline
from turbotui.analysis.tasks.turns import Turns
from turbotui.errors import MachineError
from turbotui.machine.cpulist import parse_cpulist
from turbotui.machine.host import Host, HostError, HostKind
from turbotui.machine.machine import Machine
from turbotui.machine.tasks.feed import Feed, open_feed, refuse_recorded
from turbotui.machine.tasks.processes import cgroup_folder, has_ended, name_of, processes, threads_of
from turbotui.machine.tasks.sets import (
    Mode,
)
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
        feeds, ledgers: of each set; sets of more than one take turns.
        books: the ledgers together.
        numerics: what FLOPs and bytes are made of.
        pids: its processes.
        folder: its control group's.
        opened_ns: when watching began.
        marks, marked_ns: what every ledger had when the interval began, and when that was.
        before, before_ns: the same of the interval before.
        on: the position of the set whose turn it is.
        turned_ns: since when; 0 until something was seen.
        turn_ns: how long a turn is.
        changes: turns that have ended.
        taken_ns: when records were taken last: what is booked ends there.
        gap_ns: the clock of the host minus that of the records, at most; None before there are any. No record is newer
            than now, and one of a busy task is hardly older.
        missed: threads of mode A that ended between two looks, or may not be followed.
    """

    application: Application
    feeds: tuple[Feed, ...]
    ledgers: tuple[Ledger, ...]
    books: Books
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

    def take(self, now_ns: int) -> None:
        """Book what came."""
        for feed, ledger in zip(self.feeds, self.ledgers, strict=True):
            self.book(feed, ledger)
            if ledger.newest:
                gap = now_ns - ledger.newest
                self.gap_ns = gap if self.gap_ns is None else min(gap, self.gap_ns)
            ledger.children -= feed.look((*self.pids, *ledger.children))
        found = self.feeds[0].followed if any(ledger.forked for ledger in self.ledgers) else frozenset()
        self.missed += len(frozenset[int]().union(*(ledger.forked for ledger in self.ledgers)) - found)
        for ledger in self.ledgers:
            ledger.forked.clear()
        self.taken_ns = now_ns

    def book(self, feed: Feed, ledger: Ledger) -> None:
        """Book what one of the feeds has, and put ended threads together where there are very many."""
        for batch in feed.take():
            ledger.feed(batch)
            if ledger.crowded:
                self.tidy()

    def tidy(self) -> None:
        """Put ended threads together where there are very many."""
        moved = self.books.tidy()
        self.marks = tuple(moved_marks(marks, gone) for marks, gone in zip(self.marks, moved, strict=True))
        self.before = tuple(moved_marks(marks, gone) for marks, gone in zip(self.before, moved, strict=True))

    def begin(self) -> None:
        """An interval ends with what was taken last, and the next one begins."""
        self.tidy()
        self.before, self.before_ns = self.marks, self.marked_ns
        self.marks, self.marked_ns = self.books.marks(), self.taken_ns
        for ledger in self.ledgers:
            ledger.began = 0 if self.gap_ns is None else self.marked_ns - self.gap_ns

    @property
    def since(self) -> Marks:
        """What the accounts had when the interval began, and what was booked since and happened before it."""
        return tuple(late_marks(marks, ledger.early())
                     for marks, ledger in zip(self.marks, self.ledgers, strict=True))

    @property
    def early(self) -> float:
        """Seconds of run time that were booked in this interval and happened before it."""
        return sum(one[ledger.names.index(RUN)] for ledger in self.ledgers for one in ledger.early().values()) / 1e9

    def turn(self, now_ns: int) -> None:
        """Let the next set count, if it is time. Not before something was seen: a command waits for its start."""
        if len(self.feeds) == 1 or not (self.turned_ns or self.books.samples):
            return
        if not self.turned_ns:
            self.turned_ns = now_ns
        elif now_ns - self.turned_ns >= self._turn_ns:
            self.feeds[self.on].rest()
            self.on = (self.on + 1) % len(self.feeds)
            self.feeds[self.on].wake()
            self.turned_ns = now_ns
            self.changes += 1

    def pause(self, now_ns: int) -> float:
        """Seconds that may pass before the next look."""
        pause = min(feed.pause for feed in self.feeds)
        if len(self.feeds) == 1:
            return pause
        due = self._turn_ns if not self.turned_ns else max(0, self.turned_ns + self._turn_ns - now_ns)
        return min(pause, due / 1e9)

    @property
    def _turn_ns(self) -> int:
        return _FIRST_TURN_NS if self.changes < len(self.feeds) else self.turn_ns


def turn_for(interval_ns: int, sets: int) -> int:
    """How long a set counts in ns, so that each has two turns in an interval; but changing them has its price."""
    return max(_LEAST_TURN_NS, min(_TURN_NS, interval_ns // (2 * sets)))


def moved_marks(marks: Mapping[int, Mark], moved: Mapping[int, int]) -> dict[int, Mark]:
    """Marks of an instant, after accounts have been put together."""
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
    """Everything that is being watched at one time. Lives on one thread; only `waiting.ring` may be called from others.

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
        feeds = tuple(open_feed(self._host, choice, cpus, self.waiting, self._pages) for choice in sets)
        timeline = (Timeline(LIVE_BIN_NS, LIVE_HORIZON_NS) if self._live
                    else Timeline() if self._drawn else Timeline(most=0))
        turns = Turns() if len(sets) > 1 else None
        kept = pids if application.command and sets[0].mode is Mode.CPUS else None
        ledgers = tuple(Ledger(choice, feed.roots, timeline, turns=turns, kept=kept)
                        for choice, feed in zip(sets, feeds, strict=True))
        now = self._host.now_ns()
        nothing: Marks = ({},) * len(sets)
        one = Watched(application, feeds, ledgers, Books(ledgers), chosen.numerics, pids, None, now, nothing, now,
                      nothing, now, taken_ns=now)
        try:
            for number, feed in enumerate(feeds):
                if number:
                    feed.rest()
                one.folder = self._aim(one, feed, on_exec=on_exec and not number)
            for ledger in ledgers:
                self._name_all(ledger, one)
        except BaseException:
            for feed in feeds:
                feed.close()
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
        for one in self.watched:
            one.take(now)
            one.turn(now)

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
        since, since_ns = (one.before, one.before_ns) if again else (one.since, one.marked_ns)
        before = None if whole or again else one.before
        rows = one.books.rows(by, None if whole else since, one.application.name, before)
        apart = one.books.apart(None if whole else since)
        sets = one.books.totals(None if whole else since).sets
        seconds = (one.taken_ns - (one.opened_ns if whole else since_ns)) / 1e9
        early = 0.0 if whole or again else one.early
        if not whole and not again:
            one.turn_ns = turn_for(one.taken_ns - one.marked_ns, len(one.feeds))
            one.begin()
        books = one.books
        return Report(one.application, books.choice, one.numerics, tuple(rows), seconds, books.lost, books.throttled,
                      sum(feed.damaged for feed in one.feeds), one.missed, self.gone(one), "", books.names,
                      books.turns, early, sets, apart)

    def close_books(self) -> None:
        """Stop counting, and book the last read of every counter."""
        for one in self.watched:
            for feed, ledger in zip(one.feeds, one.ledgers, strict=True):
                feed.stop()
                one.taken_ns = self._host.now_ns()
                one.book(feed, ledger)
                ledger.close(feed.close_books())

    def close(self) -> None:
        """Give every descriptor back."""
        for one in self.watched:
            for feed in one.feeds:
                feed.close()
        self.watched.clear()
        self.waiting.close()

    def _present(self) -> tuple[int, ...]:
        try:
            found = parse_cpulist(self._host.read_text(_PRESENT))
        except (HostError, ValueError):
            return self._cpus
        return tuple(sorted({*found, *self._cpus}))

    def _choose(self, application: Application, pids: Sequence[int]) -> Chosen:
        return choose_sets(self._machine, application, pids)

    def _aim(self, one: Watched, feed: Feed, *, on_exec: bool) -> str | None:
        """Open the counters of one set; returns the cgroup's folder."""
        application = one.application
        real = self._host.kind is HostKind.REAL
        if application.everything:
            feed.add_cpus()
            return None
        if application.cgroup is not None:
            if not real:
                raise MachineError(f"{self._host.name} is a simulated machine without control groups: "
                                   "watch all, or one of its processes by number")
            folder = cgroup_folder(self._host, application.cgroup)
            feed.add_cpus(self._host.open_file(folder))
            return folder
        if one.books.choice.mode is Mode.CPUS and real:  # a command, whose descendants are told apart by the ledger
            feed.add_cpus()
            return None
        for pid in one.pids:
            feed.add_process(pid, on_exec=on_exec)
        return None

    def _name_nameless(self, one: Watched) -> None:
        """Ask /proc for the names of threads whose birth nobody saw: their CPU had just come, or samples were lost."""
        if self._host.kind is HostKind.REAL:
            for ledger in one.ledgers:
                for pid, tid in ledger.nameless():
                    ledger.rename(tid, name_of(self._host, pid, tid))

    def _name_all(self, ledger: Ledger, one: Watched) -> None:
        if self._host.kind is not HostKind.REAL:
            return
        for pid in processes(self._host) if one.application.whole_cpus else one.pids:
            for tid in threads_of(self._host, pid):
                ledger.name(tid, name_of(self._host, pid, tid))
