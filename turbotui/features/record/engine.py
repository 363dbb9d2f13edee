"""Records a session to a file until it ends, or while a command runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.groups.counting import GroupEvents
from turbotui.features.groups.engine import GroupsReader
from turbotui.features.groups.event_plans import event_plan
from turbotui.features.groups.recorded_groups import record_of
from turbotui.features.info.model import configuration
from turbotui.features.roofline.traffic import MemoryTraffic, memory_metrics
from turbotui.features.tasks.applications import EVERYTHING
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot, TaskWatcher
from turbotui.features.topdown.engine import Drill, TopdownCounters
from turbotui.features.uncore.absence import why_none
from turbotui.features.uncore.counters import UncoreCounters
from turbotui.features.uncore.ports import PortMap
from turbotui.machine.gathered.noting_host import NotingHost
from turbotui.machine.machine import Machine
from turbotui.machine.observing import Observation, observe
from turbotui.quantities.signals import SignalId
from turbotui.recording.framing import RecordingError
from turbotui.recording.kept_files import kept_of
from turbotui.recording.recorded_host import KeptAnswers
from turbotui.recording.recorder import FrameRecorder, Recorder
from turbotui.recording.rotation import Retention, RotatingRecorder
from turbotui.sampling.bus import Every
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampled import raise_failure
from turbotui.sampling.session import Session
from turbotui.sources.source import Source

_PATIENCE = 5.0  # seconds for which the tasks of an interval are waited for
_RECORDED_LEVELS: Final = 2  # of top-down trees: deeper ones take turns on the counters
_QUEUE = 256  # frames that wait for a slow disk; then they are lost, and the recording says how many


@dataclass(slots=True)
class Recorded:
    """Result of a recording: its files and their ticks.

    Attributes:
        readings: ticks.
        first_ns, last_ns: wall clock of the first and the last one.
        size: bytes of all files.
        failure: why it ended early; "" if it did not.
        status: exit status of the command; 0 without one.
        no_tasks: why no tasks were recorded that should have been; "" if they were.
        no_groups: likewise of groups.
    """

    readings: int = 0
    first_ns: int = 0
    last_ns: int = 0
    size: int = 0
    failure: str = ""
    status: int = 0
    no_tasks: str = ""
    no_groups: str = ""


def kept_answers(machine: Machine) -> KeptAnswers:
    """What `info` and the uncore tables read of a machine's files and registers, for a recording of it."""
    host = NotingHost(machine.host)
    noted = replace(machine, host=host)
    configuration(noted, detailed=True)
    counters = UncoreCounters(noted)
    if counters.kinds:  # what the events of each PMU are: 26 ms where there are most
        PortMap(host)
        counters.look_up()
    TopdownCounters(noted)  # the core PMUs, by which the trees of the cores are found
    return kept_of(host.gathered(""))


@dataclass(slots=True)
class BesideColumns:
    """What a recording reads beside its columns.

    Attributes:
        sources, signals: of it.
        notes: why something that was asked for is not among them.
    """

    sources: tuple[Source, ...] = ()
    signals: frozenset[SignalId] = frozenset()
    notes: tuple[str, ...] = ()

    def memory(self, machine: Machine) -> None:
        """What the memory moves, where that can be counted: for the roofline."""
        traffic = MemoryTraffic(machine)
        self.sources += tuple(traffic.sources())
        self.signals |= traffic.signals()

    def uncore(self, machine: Machine) -> None:
        """The uncore counters."""
        counters = UncoreCounters(machine)
        if not counters.kinds:
            self.notes += (f"no uncore counters are recorded: {why_none(machine).sentence()}",)
        for units, metric in memory_metrics(counters)[:1]:
            counters.show(units, (*counters.shown(units), metric))
        self.sources += counters.sources()
        self.signals |= counters.signals()

    def topdown(self, machine: Machine) -> None:
        """The slots of the pipelines, down to level 2."""
        counters = TopdownCounters(machine)
        why = counters.why_none
        if why is not None:
            self.notes += (f"no slots of pipelines are recorded: {why.sentence()}",)
        counters.drill = Drill(counters.below(_RECORDED_LEVELS))
        self.sources += counters.sources()
        self.signals |= counters.signals()


class TaskRecorder:
    """Has every task watched, and its counts recorded at the end of each interval.

    Args:
        machine: whose tasks.
        recorder: is given the tasks of each interval, on the watcher's thread.
        waits: whether it is recorded, too, what they wait for.

    Attributes:
        failure: why the tasks are not watched, "" while they are.
    """

    def __init__(self, machine: Machine, recorder: FrameRecorder, *, waits: bool = False) -> None:
        self.failure = ""
        self._recorder = recorder
        self._request = SnapshotRequest(waits=waits)
        self._watcher = TaskWatcher(machine, EVERYTHING, self._take)
        self._taken = threading.Semaphore(0)
        self._asked = False

    def start(self) -> None:
        """Open the counters."""
        self._watcher.start(self._request)

    def end_interval(self, frame: Frame) -> None:
        """The tick of a frame ends the tasks' interval too; the one before is recorded by now."""
        self._wait()
        if not self.failure and self._watcher.running:
            self._asked = True
            self._watcher.snapshot(replace(self._request, clocks=(frame.newer.wall_ns, frame.newer.started_ns)))

    def stop(self) -> None:
        """Close the counters; the last interval is recorded."""
        self._wait()
        self._watcher.stop()

    def _wait(self) -> None:
        if self._asked and self._watcher.running:
            self._taken.acquire(timeout=_PATIENCE)
        self._asked = False

    def _take(self, snapshot: TaskSnapshot) -> None:
        errors = [report.error for report in snapshot.reports if report.error]
        if errors and len(errors) == len(snapshot.reports):
            self.failure = errors[0]
        if snapshot.record is not None:
            with contextlib.suppress(RecordingError):  # the next frame is told the same, and says it
                self._recorder.rows(snapshot.record)
            self._taken.release()


class GroupRecorder:
    """Reads every control group and every group of resctrl at the end of each interval, and has them recorded.

    Args:
        session: of the machine whose groups they are; events that were added to it are counted for groups, too.
        recorder: is given them.

    Attributes:
        why_none: why there is nothing to record; "" where there is.
    """

    def __init__(self, session: Session, recorder: FrameRecorder) -> None:
        self._recorder = recorder
        plans = [event_plan(session.machine, session.capabilities, one) for one in session.events]
        events = GroupEvents(session.machine, plans) if plans else None
        self._reader = GroupsReader(session.machine.host, events=events)
        self.why_none = "" if self._reader.why_none is None else self._reader.why_none.sentence()

    def end_interval(self, frame: Frame) -> None:
        """The tick of a frame ends the groups' interval too."""
        if self.why_none:
            return
        interval = self._reader.read()
        if interval is not None:
            with contextlib.suppress(RecordingError):  # the next frame is told the same, and says it
                self._recorder.rows(record_of(frame.newer.wall_ns, frame.newer.started_ns, interval.seconds,
                                              (*interval.rows, *interval.resctrl), complete=interval.complete,
                                              counted=interval.counted))

    def stop(self) -> None:
        """Close every file."""
        self._reader.close()


TABLES: Final = ("uncore", "topdown", "tasks", "waits", "groups", "power")
"""What can be recorded beside the CPUs: every uncore PMU, every task, tasks with what they wait for, every group."""


def open_recorder(path: str, machine: Machine, retention: Retention | None,
                  command: Sequence[str] = ()) -> FrameRecorder:
    """A recorder for a machine, which keeps the words of a command where one is recorded.

    Raises:
        RecordingError: as `Recorder`.
    """
    kept = kept_answers(machine)
    if retention is None:
        return Recorder(path, machine, kept=kept, command=command)
    return RotatingRecorder(path, machine, retention, kept=kept, command=command)


def record(session: Session, recorder: FrameRecorder, *, intervals: int | None = None,
           command: Sequence[str] = (), take_marks: Callable[[], int] = int, tasks: bool = False,
           waits: bool = False, groups: bool = False) -> Recorded:
    """Sample a session, which is not started yet, and record every frame of it.

    Args:
        session: has what it is to read.
        recorder: is closed at the end.
        intervals: how many; None until the session is stopped.
        command: is run meanwhile, and ends the recording; its counters are open before it begins.
        take_marks: how many marks a person set since it was asked last.
        tasks: record every task of the machine, too.
        waits: and what it waits for.
        groups: record every control group and every group of resctrl, too.

    Raises:
        TurbotuiError: what ended the sampling, or the command cannot be run.
    """
    found = Recorded()
    with contextlib.ExitStack() as stack:
        stack.callback(recorder.close)
        seen = stack.enter_context(observe(command)) if command else None
        watched = TaskRecorder(session.machine, recorder, waits=waits) if tasks or waits else None
        if watched is not None:
            watched.start()
            stack.callback(watched.stop)
        grouped = GroupRecorder(session, recorder) if groups else None
        if grouped is not None:
            stack.callback(grouped.stop)
            found.no_groups = grouped.why_none
        frames: Every[Frame] = Every(_QUEUE)
        session.start(frames.put, intervals=intervals, on_end=frames.close)
        stack.callback(session.stop)
        watcher: threading.Thread | None = None
        for frame in _with_losses(frames, recorder, found):
            _take(recorder, frame, found, take_marks)
            if watched is not None:
                watched.end_interval(frame)
            if grouped is not None:
                grouped.end_interval(frame)
            if seen is not None and watcher is None:  # every counter is open
                seen.run()
                watcher = threading.Thread(target=_stop_behind, args=(seen, session), name="command", daemon=True)
                watcher.start()
            if found.failure and seen is None:
                session.stop(0.0)
        if seen is not None and watcher is not None:
            watcher.join()
            found.status = seen.commands[0].status or 0
        if watched is not None:
            watched.stop()
            found.no_tasks = watched.failure
        raise_failure(session)
    found.size = recorder.size
    return found


def _stop_behind(seen: Observation, session: Session) -> None:
    """End the last interval when the command does."""
    seen.wait()
    session.stop(0.0)


def _with_losses(frames: Every[Frame], recorder: FrameRecorder, found: Recorded) -> Iterator[Frame]:
    lost = 0
    for frame in frames:
        if frames.lost > lost and not found.failure:
            recorder.lost(frames.lost - lost)
            lost = frames.lost
        yield frame


def _take(recorder: FrameRecorder, frame: Frame, found: Recorded, take_marks: Callable[[], int]) -> None:
    if found.failure:
        return  # a command goes on; what was recorded stays
    try:
        for _ in range(take_marks()):
            recorder.mark("SIGUSR1")
        recorder.take(frame)
    except RecordingError as error:
        found.failure = str(error)
        return
    found.first_ns = found.first_ns or frame.newer.wall_ns
    found.last_ns = frame.newer.wall_ns
    found.readings += 1
