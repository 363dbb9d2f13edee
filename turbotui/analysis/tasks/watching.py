"""Watches applications: chooses counters, opens them, books what comes, and gives tables of any interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from turbotui.analysis.tasks.accounts import Mark
from turbotui.analysis.tasks.applications import Application
from turbotui.analysis.tasks.ledger import Ledger
from turbotui.analysis.tasks.numerics import DOUBLE, FLOPS, Numerics, in_order, numerics_of, recipe_counters
from turbotui.analysis.tasks.tables import Grouping, TaskRow, task_rows
from turbotui.analysis.tasks.timeline import Timeline
from turbotui.errors import MachineError, UsageError
from turbotui.machine.events.encoder import encode_event
from turbotui.machine.host import Host, HostError, HostKind
from turbotui.machine.machine import Machine
from turbotui.machine.roofline_banks import recipe_of
from turbotui.machine.tasks.feed import Feed, open_feed, refuse_recorded
from turbotui.machine.tasks.following import sentence
from turbotui.machine.tasks.processes import cgroup_folder, has_ended, name_of, processes, threads_of
from turbotui.machine.tasks.sets import (
    HARDWARE_COUNTERS,
    SOFTWARE_COUNTERS,
    Choice,
    Counter,
    Mode,
    choose,
    with_required,
    with_wanted,
)
from turbotui.machine.tasks.waiting import Waiting
from turbotui.quantities.unavailable import Unavailable

_PAUSE: Final = 0.2  # seconds, where nothing is watched
LIVE_BIN_NS: Final = 10_000_000
LIVE_HORIZON_NS: Final = 60_000_000_000


@dataclass(frozen=True, slots=True)
class Report:
    """An application's rows over one interval, and what has to be said of them.

    Attributes:
        application: which one.
        choice: how it is sampled.
        numerics: what FLOPs and bytes are made of.
        rows: by falling run time.
        seconds: length of the interval.
        lost: samples that found no room, since the beginning.
        throttled: times that the kernel held samples back.
        damaged: records that could not be understood.
        missed: threads of mode A that ended unseen.
        ended: whether nothing of it is left.
        error: why it is not watched; "" when it is.
        names: of what is counted; () when it is not watched.
    """

    application: Application
    choice: Choice | None = None
    numerics: Numerics = field(default_factory=Numerics)
    rows: tuple[TaskRow, ...] = ()
    seconds: float = 0.0
    lost: int = 0
    throttled: int = 0
    damaged: int = 0
    missed: int = 0
    ended: bool = False
    error: str = ""
    names: tuple[str, ...] = ()


@dataclass(slots=True)
class Watched:
    """One application under watch."""

    application: Application
    feed: Feed
    ledger: Ledger
    numerics: Numerics
    pids: tuple[int, ...]
    folder: str | None
    opened_ns: int
    marks: Mapping[int, Mark] = field(default_factory=dict)
    marked_ns: int = 0
    before: Mapping[int, Mark] = field(default_factory=dict)
    before_ns: int = 0

    @property
    def missed(self) -> int:
        """Threads of mode A that ended between two looks, or are of other processes."""
        return len(self.ledger.forked - self.feed.followed) if self.ledger.choice.mode is Mode.THREADS else 0


def moved_marks(marks: Mapping[int, Mark], moved: Mapping[int, int]) -> dict[int, Mark]:
    """Marks of an instant, after accounts have been put together."""
    found = dict(marks)
    for old, home in moved.items():
        mark = found.pop(old, None)
        if mark is not None:
            found[home] = found[home].plus(mark) if home in found else mark
    return found


class Watching:
    """Everything that is being watched at one time. Lives on one thread; only `waiting.ring` may be called from others.

    Args:
        machine: whose tasks.
        pages: of each ring; None for the default.
        live: keep a timeline of the last minute instead of one of everything.
    """

    def __init__(self, machine: Machine, pages: int | None = None, *, live: bool = False) -> None:
        refuse_recorded(machine.host)
        self.waiting = Waiting()
        self.watched: list[Watched] = []
        self._machine = machine
        self._host: Host = machine.host
        self._cpus = tuple(machine.topology.cpus)
        self._pages = pages
        self._live = live

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
        choice, numerics = self._choose(application, pids)
        feed = open_feed(self._host, choice, self._cpus, self.waiting, self._pages)
        timeline = Timeline(LIVE_BIN_NS, LIVE_HORIZON_NS) if self._live else Timeline()
        ledger = Ledger(choice, feed.roots, timeline)
        now = self._host.now_ns()
        one = Watched(application, feed, ledger, numerics, pids, None, now, marked_ns=now, before_ns=now)
        try:
            one.folder = self._aim(one, on_exec=child is not None)
        except BaseException:
            feed.close()
            raise
        self.watched.append(one)
        return one

    @property
    def pause(self) -> float:
        """Seconds that a round may wait: samples are taken by the kernel, and lie in the rings meanwhile."""
        return min((one.feed.pause for one in self.watched), default=_PAUSE)

    def round(self, seconds: float) -> None:
        """Wait until there is something to book, at most so long, and book it."""
        self.waiting.wait(seconds)
        for one in self.watched:
            one.ledger.feed(one.feed.take())
            one.feed.look(one.pids)

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
        now = self._host.now_ns()
        since, since_ns = (one.before, one.before_ns) if again else (one.marks, one.marked_ns)
        rows = task_rows(one.ledger, by, None if whole else since, one.application.name)
        seconds = (now - (one.opened_ns if whole else since_ns)) / 1e9
        if not whole and not again:
            one.before, one.before_ns = moved_marks(one.marks, one.ledger.tidy()), one.marked_ns
            one.marks, one.marked_ns = one.ledger.marks(), now
        return Report(one.application, one.ledger.choice, one.numerics, tuple(rows), seconds, one.ledger.lost,
                      one.ledger.throttled, one.feed.damaged, one.missed, self.gone(one), "", one.ledger.names)

    def close_books(self) -> None:
        """Stop counting, and book the last read of every counter."""
        for one in self.watched:
            one.feed.stop()
            one.ledger.feed(one.feed.take())
            one.ledger.close(one.feed.close_books())

    def close(self) -> None:
        """Give every descriptor back."""
        for one in self.watched:
            one.feed.close()
        self.watched.clear()
        self.waiting.close()

    def _choose(self, application: Application, pids: Sequence[int]) -> tuple[Choice, Numerics]:
        cpu = self._cpus[0]
        floating = recipe_counters(self._machine)
        asked, word = self._asked(application)
        flops = bool(word)
        known = recipe_of(self._machine.model)
        recipe: tuple[Counter, ...] = ()
        if not isinstance(floating, Unavailable) and known is not None and (flops or not asked):
            recipe = in_order(known, floating, double=word == DOUBLE)
        software = SOFTWARE_COUNTERS if application.whole_cpus and not asked else ()
        first, last = HARDWARE_COUNTERS[:2], HARDWARE_COUNTERS[2:]
        wanted = (*software, *(() if asked else first), *recipe, *(() if asked or flops else last))
        target = pids[0] if pids and not application.command else 0
        if self._host.kind is HostKind.REAL:
            for pid in pids:
                if not threads_of(self._host, pid):
                    raise MachineError(f"there is no process {pid}: it has ended, or this user cannot see it")
        whole = application.whole_cpus or self._host.kind is not HostKind.REAL
        try:
            choice = choose(self._host, cpu, () if asked else wanted, whole_cpus=whole, target=target)
            if asked:  # what was asked for by name comes before what a word stands for
                choice = with_required(self._host, choice, cpu, asked, target)
                choice = with_wanted(self._host, choice, cpu, wanted, target)
        except HostError as error:
            what = ("the whole machine" if application.everything
                    else f"control group {application.cgroup}" if application.cgroup is not None
                    else f"process {target}" if target else "a command")
            raise MachineError(sentence(error, what, 2 + len(wanted) + len(asked))) from error
        return choice, numerics_of(self._machine, floating, frozenset(choice.names))

    def _asked(self, application: Application) -> tuple[tuple[Counter, ...], str]:
        """Events that were asked for, and which of the recipe's words is among them."""
        if not application.events:
            return (), ""
        words = [word.strip() for word in application.events.split(",")]
        recipe = DOUBLE if DOUBLE in words else FLOPS if FLOPS in words else ""
        text = ",".join(word for word in words if word not in (FLOPS, DOUBLE))
        asked = [Counter(one.string, one.attr) for one in encode_event(self._host, text)] if text else []
        names = [one.name for one in asked]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"--event {twice} is given twice, or counted by several PMUs: name one PMU")
        return tuple(asked), recipe

    def _aim(self, one: Watched, *, on_exec: bool) -> str | None:
        """Open the counters; returns the cgroup's folder."""
        application, feed = one.application, one.feed
        real = self._host.kind is HostKind.REAL
        if application.whole_cpus and real:
            self._name(one.ledger, processes(self._host))
        if application.everything:
            feed.add_cpus()
            return None
        if application.cgroup is not None:
            if not real:
                raise MachineError(f"{self._host.name} is a simulated machine without control groups: "
                                   "watch all, or one of its processes by number")
            folder = cgroup_folder(self._host, application.cgroup)
            descriptor = self._host.open_file(folder)
            try:
                feed.add_cpus(descriptor)
            finally:
                self._host.close(descriptor)
            return folder
        for pid in one.pids:
            feed.add_process(pid, on_exec=on_exec)
        if real:
            self._name(one.ledger, one.pids)
        return None

    def _name(self, ledger: Ledger, pids: Iterable[int]) -> None:
        for pid in pids:
            for tid in threads_of(self._host, pid):
                ledger.name(tid, name_of(self._host, pid, tid))
