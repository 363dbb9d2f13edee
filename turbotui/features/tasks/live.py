"""Watches tasks on a thread of its own and hands out tables, so that a screen never waits for a machine."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, Protocol, runtime_checkable

from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.process_tree import Ancestry
from turbotui.features.tasks.recorded_tasks import RECORDED_BY, TaskRecord
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.features.tasks.timeline import Stretch
from turbotui.features.tasks.watched_application import WatchedApplication
from turbotui.features.tasks.watched_applications import WatchedApplications
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.machine.pmus import EventError
from turbotui.machine.tasks.proc_facts import READS, TaskFacts, TaskKey
from turbotui.threads import NamedThread


def ancestry_of(watching: WatchedApplications, reports: Iterable[Report],
                facts: Mapping[TaskKey, TaskFacts] | None = None) -> Ancestry:
    """The ancestors up to pid 1 of the processes in some reports, some of whose facts are known."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    known = {pid: looked.stat for (pid, tid), looked in (facts or {}).items() if tid is None}
    for application, report in zip(watching.watched, reports, strict=False):
        family = watching.family(application, known)
        for pid in {row.pid for row in report.rows if row.pid is not None}:
            below = pid
            for above in family.ancestors(pid):
                parents[below] = above
                below = above
                if (stat := family.stat(above)) is not None:
                    names[above] = stat.name
    return Ancestry(parents, names)


def facts_of(watching: WatchedApplications, processes: Sequence[Report], threads: Sequence[Report],
             most: int = READS) -> dict[TaskKey, TaskFacts]:
    """Facts from /proc about the processes and threads of an interval.

    Args:
        most: tasks whose files are read: those that ran most, processes before their further threads.
    """
    reader, facts_by_key, left = watching.facts, dict[TaskKey, TaskFacts](), most
    for pid in dict.fromkeys(row.pid for report in processes for row in report.rows if not row.ended):
        if pid is not None and left:
            left -= 1
            if (facts := reader.facts(pid)) is not None:
                facts_by_key[pid, None] = facts
    for row in (row for report in threads for row in report.rows):
        process = None if row.pid is None else facts_by_key.get((row.pid, None))
        if row.pid is None or row.tid is None or process is None or row.ended:
            continue
        if row.tid == row.pid:
            facts_by_key[row.pid, row.tid] = process
        elif left:
            left -= 1
            if (stat := reader.allowed_stat(row.pid, row.tid)) is not None:
                facts_by_key[row.pid, row.tid] = replace(process, stat=stat)
    return facts_by_key


_FIRST: Final = 1  # rounds until the first table comes by itself
_MOST_LINES: Final = 400  # of a timeline


@dataclass(frozen=True, slots=True)
class SnapshotRequest:
    """A request for a table: the kind of its rows and the timeline's window."""

    by: Grouping = Grouping.THREAD  # what a row stands for
    window: float = 0.0  # seconds of a timeline; 0 for none
    places: int = 0  # characters of its lines
    again: bool = False  # the interval before, in another light; it ends no interval
    # wall clock and monotonic clock of the tick that ends the interval, where it is to be recorded
    clocks: tuple[int, int] | None = None
    tree: bool = False  # whether it is to be known who made whom
    waits: bool = False  # read what tasks wait for
    loads: bool = False  # sample loads
    parallel: bool = False  # add up who runs beside whom


@dataclass(frozen=True, slots=True)
class Lane:
    """A thread's line in the timeline."""

    row: TaskRow  # which thread
    stretches: tuple[Stretch | None, ...]  # where it ran, place by place; None where it did not
    unwatched: int  # places at the left that lie before watching began, by at least a half
    busy: float  # share of the time in the window that was watched in which it ran; 0 to 1


@dataclass(frozen=True, slots=True)
class TaskSnapshot:
    """The rows of every watched application since the previous snapshot."""

    request: SnapshotRequest  # what was asked for
    reports: tuple[Report, ...]  # one an application
    lanes: tuple[Lane, ...] = ()  # of threads that ran in the window, busiest first; () unless a timeline was asked for
    record: TaskRecord | None = None  # the same for a recording; None unless that was asked for
    ancestry: Ancestry = field(default_factory=Ancestry)  # who made whom, where that was asked for

    @property
    def seconds(self) -> float:
        """Length of the interval."""
        return max((report.seconds for report in self.reports), default=0.0)

    @property
    def failed(self) -> bool:
        """Whether nothing of what is to be watched can be."""
        return all(report.error for report in self.reports)


@dataclass(slots=True)
class _State:
    request: SnapshotRequest = field(default_factory=SnapshotRequest)
    due: bool = False
    over: bool = False


class TaskWatcher:
    """Watches applications on a thread, from `start` to `stop`.

    Args:
        applications: what to watch; one that cannot be watched is reported with its reason, the others go on.
        publish: called on the watcher's thread with every snapshot.
        children: processes that wait before exec(2), by the name of their application, which is a command.

    Attributes:
        opened: set once every counter is open, or refused.
    """

    def __init__(self, machine: Machine, applications: Sequence[Application],
                 publish: Callable[[TaskSnapshot], None], children: Mapping[str, int] | None = None) -> None:
        self._machine = machine
        self._applications = tuple(applications)
        self._publish = publish
        self._children = children or {}
        self._whole: Callable[[WatchedApplications], None] | None = None
        self.opened = threading.Event()
        self._lock = threading.Lock()
        self._state = _State()
        self._watching: WatchedApplications | None = None
        self._thread = NamedThread(target=self._run, name="tasks", daemon=True)

    def start(self, request: SnapshotRequest) -> None:
        """Open the counters and sample until `stop`; the first table is delivered unasked."""
        self._state.request = request
        self._thread.start()

    def snapshot(self, request: SnapshotRequest) -> None:
        """Request a table of the time since the last one, without waiting; pending requests are merged."""
        with self._lock:
            self._state.request, self._state.due = request, True
            if self._watching is not None:
                self._watching.waiting.wake()

    def stop(self, wait_seconds: float = 5.0) -> None:
        """Close every descriptor and wait for the thread."""
        with self._lock:
            self._state.over = True
            if self._watching is not None:
                self._watching.waiting.wake()
        if self._thread.ident is not None:
            self._thread.join(wait_seconds)

    def finish(self, publish: Callable[[WatchedApplications], None], wait_seconds: float = 5.0) -> None:
        """Stop counting, and close every descriptor.

        Args:
            publish: called on the watcher's thread in between, with all that was counted; not called where nothing was.
            wait_seconds: how long to wait for the thread.
        """
        self._whole = publish
        self.stop(wait_seconds)

    @property
    def running(self) -> bool:
        """Whether the watcher's thread is alive with its counters open."""
        return self._thread.is_alive()

    def _run(self) -> None:
        refused: dict[str, str] = {}
        try:
            watching = WatchedApplications(self._machine, live=True)
        except TurbotuiError as error:
            self._publish(self._refusal(dict.fromkeys((application.name for application in self._applications),
                                                      str(error))))
            self.opened.set()
            return
        with self._lock:
            self._watching = watching
        try:
            for named_application in self._applications:
                try:
                    watching.add(named_application, child=self._children.get(named_application.name))
                except (TurbotuiError, EventError, HostError) as error:
                    refused[named_application.name] = str(error)
            self.opened.set()
            if not watching.watched:
                self._publish(self._refusal(refused))
                return
            self._loop(watching, refused)
            if self._whole is not None:
                watching.finish()
                self._whole(watching)
        except Exception as error:  # noqa: BLE001 - a thread's own traceback would go to the screen it draws on
            why = f"internal error, watching has ended: {type(error).__name__}: {error}"
            self._publish(self._refusal(dict.fromkeys((application.name for application in self._applications), why)))
        finally:
            self.opened.set()
            with self._lock:
                self._watching = None
            watching.close()

    def _loop(self, watching: WatchedApplications, refused: Mapping[str, str]) -> None:
        rounds, asked = 0, False
        while True:
            with self._lock:
                if self._state.over:
                    return
                due, request = self._state.due or (rounds == _FIRST and not asked), self._state.request
                asked |= due
                self._state.due = False
            watching.watch_waits(request.waits)
            watching.watch_loads(request.loads)
            watching.watch_parallel(request.parallel or bool(self._children))  # of a command the report says it
            watching.round(0.0 if due else watching.pause)  # what came before the request is in its table
            rounds += 1
            if due:
                self._publish(self._take(watching, request, refused))

    def _take(self, watching: WatchedApplications, request: SnapshotRequest, refused: Mapping[str,
                                                                                              str]) -> TaskSnapshot:
        reports = [watching.report(application, request.by, again=request.again) for application in watching.watched]
        reports += self._refusal(refused).reports
        drawn = watching.watched if request.window > 0 and request.places > 0 else ()
        lanes = [lane for application in drawn
                 for lane in _lanes(application, request, application.opened_ns - (application.gap_ns or 0))]
        record = None if request.clocks is None or request.again else _record(watching, request, reports)
        ancestry = ancestry_of(watching, reports) if request.tree else Ancestry()
        return TaskSnapshot(request, tuple(reports), tuple(lanes[:_MOST_LINES]), record, ancestry)

    def _refusal(self, refused: Mapping[str, str]) -> TaskSnapshot:
        return TaskSnapshot(self._state.request, tuple(Report(application, error=refused[application.name])
                                           for application in self._applications if application.name in refused))


def _record(watching: WatchedApplications, request: SnapshotRequest, reports: Sequence[Report]) -> TaskRecord | None:
    """The record of the interval that has just ended, with all watched applications."""
    wall_ns, started_ns = request.clocks or (0, 0)
    watched = tuple(reports[: len(watching.watched)])
    reports_by = {by: watched if by is request.by else
                  tuple(watching.report(watched_application, by, again=True)
                        for watched_application in watching.watched) for by in RECORDED_BY}
    seen = facts_of(watching, reports_by[Grouping.PROCESS], reports_by[Grouping.THREAD])
    return TaskRecord(wall_ns, started_ns, reports_by, facts_seen=seen,
                      ancestry=ancestry_of(watching, reports_by[Grouping.PROCESS], seen))


def _lanes(watched: WatchedApplication, request: SnapshotRequest, opened: int) -> list[Lane]:
    """Lanes of one application; `opened` is when watching began, by the clock of the samples."""
    timeline = watched.aggregate.timeline
    end = timeline.end + 1
    span = round(request.window * 1e9)
    start = end - span
    began = max(start, min(opened, timeline.start))
    unwatched = round((began - start) * request.places / span)
    lanes = []
    for row in watched.aggregate.rows(Grouping.THREAD, None, watched.application.name)[:_MOST_LINES]:
        line = timeline.line(row.serials, start, end, request.places)
        if any(line):
            ran = math.fsum(stretch.share for stretch in line if stretch is not None) * span / request.places
            lanes.append(Lane(row, tuple(line), unwatched, min(1.0, ran / (end - began))))
    return sorted(lanes, key=lambda lane: -lane.busy)


@runtime_checkable
class WatchedCommand(Protocol):
    """A command beside the dashboard, counted from its first instruction whether or not the screen is shown."""

    applications: tuple[Application, ...]
    watcher: TaskWatcher | None
    listener: Callable[[TaskSnapshot], None] | None
