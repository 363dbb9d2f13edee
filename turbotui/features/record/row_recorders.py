"""Records tables beside the CPUs: each interval of tasks, of threads of a top-down analysis, and of groups."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Container, Iterator
from dataclasses import replace
from typing import ClassVar, Final

from turbotui.diagnosis.recorded_looks import PacedLooks
from turbotui.errors import MachineError
from turbotui.features.groups.counting import GroupEvents
from turbotui.features.groups.engine import GroupsReader
from turbotui.features.groups.event_plans import event_plan
from turbotui.features.groups.recorded_groups import record_of
from turbotui.features.tasks.applications import EVERYTHING
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot, TaskWatcher
from turbotui.features.tasks.region_counting import RegionCounting
from turbotui.features.tasks.region_totals import RegionRecord
from turbotui.features.topdown.engine import RECORDED_LEVELS, Drill
from turbotui.features.topdown.recorded_regions import RegionSlotsRecord
from turbotui.features.topdown.recorded_threads import ThreadRecord
from turbotui.features.topdown.region_slots import ONLY_CORES, RegionSlots
from turbotui.features.topdown.thread_counters import ThreadInterval
from turbotui.features.topdown.thread_watch import BusyThreadWatch
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.machine.region_pipes import RegionPipe
from turbotui.machine.tasks.sample_reader import refuse_recorded
from turbotui.recording.framing import RecordingError
from turbotui.recording.recorder import FrameRecorder
from turbotui.recording.rows import IntervalRows
from turbotui.sampling.frame import Frame
from turbotui.sampling.session import Session

REGIONS: Final = "regions"
REGION_SLOTS: Final = "region-slots"
"""Tables of the regions of a command: operations and bytes, or slots."""
_NOTHING_MARKED: Final = "the command marked none (TURBOTUI_REGIONS)"
_PATIENCE: Final = 5.0  # seconds to wait for the rows of an interval


class RowRecorder:
    """Records the rows of a table, interval by interval.

    Attributes:
        what: the word for the rows, for people.
        failure: why they are not recorded; "" while they are.
    """

    what: ClassVar[str]

    def __init__(self, recorder: FrameRecorder) -> None:
        self.failure = ""
        self._recorder = recorder
        self._taken = threading.Semaphore(0)
        self._asked = False

    def start(self) -> None:
        """Begin to count; rows that are read at ticks need nothing before the first one."""

    def end_interval(self, frame: Frame) -> None:
        """End the interval of the rows at a frame's tick."""
        raise NotImplementedError

    def stop(self) -> None:
        """Record the last interval, and close every counter and file that is open."""

    def _record(self, rows: IntervalRows) -> None:
        with contextlib.suppress(RecordingError):  # the next frame fails in the same way, and is reported
            self._recorder.rows(rows)

    def _wait(self, *, running: bool = True) -> None:
        """Wait until the requested interval was recorded, if one was requested and its counters are open."""
        if self._asked and running:
            self._taken.acquire(timeout=_PATIENCE)
        self._asked = False


class LookRecorder(RowRecorder):
    """Looks at tasks, groups and settings for the diagnosis of the recording."""

    what = "tasks behind causes of slowness"

    def __init__(self, machine: Machine, recorder: FrameRecorder) -> None:
        super().__init__(recorder)
        self._looks = PacedLooks(machine.host)

    def start(self) -> None:
        """Take the look to which the first interval's is compared."""
        self._looks.look()

    def end_interval(self, frame: Frame) -> None:
        """Look again, if it is time to."""
        record = self._looks.record(frame)
        if record is not None:
            self._record(record)


class TaskRecorder(RowRecorder):
    """Watches every task, and records the counts at the end of each interval."""

    what = "tasks"

    def __init__(self, machine: Machine, recorder: FrameRecorder, *, waits: bool = False,
                 loads: bool = False, parallel: bool = False) -> None:
        super().__init__(recorder)
        self._request = SnapshotRequest(waits=waits, loads=loads, parallel=parallel)
        self._watcher = TaskWatcher(machine, EVERYTHING, self._take)

    def start(self) -> None:
        """Open the counters."""
        self._watcher.start(self._request)

    def end_interval(self, frame: Frame) -> None:
        """End the tasks' interval at a frame's tick, after the previous one was recorded."""
        self._wait(running=self._watcher.running)
        if not self.failure and self._watcher.running:
            self._asked = True
            self._watcher.snapshot(replace(self._request, clocks=frame.clocks))

    def stop(self) -> None:
        """Close the counters; the last interval is recorded."""
        self._wait(running=self._watcher.running)
        self._watcher.stop()

    def _take(self, snapshot: TaskSnapshot) -> None:
        errors = [report.error for report in snapshot.reports if report.error]
        if errors and len(errors) == len(snapshot.reports):
            self.failure = errors[0]
        if snapshot.record is not None:
            self._record(snapshot.record)
            self._taken.release()


class GroupRecorder(RowRecorder):
    """Reads and records all control groups and resctrl groups at the end of each interval.

    Args:
        session: the machine's session, whose added events are counted for groups, too.
    """

    what = "groups"

    def __init__(self, session: Session, recorder: FrameRecorder) -> None:
        super().__init__(recorder)
        plans = [event_plan(session.machine, session.capabilities, event) for event in session.events]
        events = GroupEvents(session.machine, plans) if plans else None
        self._reader = GroupsReader(session.machine.host, events=events)
        self.failure = "" if self._reader.why_none is None else self._reader.why_none.sentence()

    def end_interval(self, frame: Frame) -> None:
        """End the groups' interval at a frame's tick, and record it."""
        if self.failure:
            return
        interval = self._reader.read()
        if interval is not None:
            self._record(record_of(*frame.clocks, interval.seconds, (*interval.rows, *interval.resctrl),
                                   complete=interval.complete, counted=interval.counted))

    def stop(self) -> None:
        """Close every file."""
        self._reader.close()


class TopdownThreadRecorder(RowRecorder):
    """Counts the busiest threads for a top-down analysis, and records them at the end of each interval."""

    what = "threads of a top-down analysis"

    def __init__(self, machine: Machine, recorder: FrameRecorder) -> None:
        super().__init__(recorder)
        self._watch = BusyThreadWatch(machine, self._take)
        self._started = False
        counters = self._watch.counters
        try:
            refuse_recorded(machine.host)
        except MachineError as error:
            self.failure = str(error)
        if counters.why_none is not None:
            self.failure = counters.why_none.sentence()
        self._watch.drill(None, Drill(counters.below(RECORDED_LEVELS)))

    def start(self) -> None:
        """Open the counters."""
        self._started = not self.failure
        if self._started:
            self._watch.start()

    def end_interval(self, frame: Frame) -> None:
        """End the threads' interval at a frame's tick, after the previous one was recorded."""
        self._wait()
        if not self.failure:
            self._asked = True
            self._watch.request(frame.clocks)

    def stop(self) -> None:
        """Close the counters; the last interval is recorded."""
        self._wait()
        if self._started:
            self._watch.stop()
            self._watch.wait()
        self._started = False

    def _take(self, found: ThreadInterval | HostError, clocks: tuple[int, int] | None) -> None:
        if isinstance(found, HostError):
            self.failure = str(found)
        elif not found.threads and found.refused:
            self.failure = "; ".join(why.sentence() for why in found.refused)
        if clocks is not None and isinstance(found, ThreadInterval):
            self._record(ThreadRecord(*clocks, found))
        self._taken.release()


class RegionRecorder(RowRecorder):
    """Counts the regions that a command marks, and records them at the end of each interval.

    Args:
        pipe: the FIFO of the marks.
        records: whether operations and bytes are counted and recorded, and not only CPU time for what is counted at the
            same marks.

    Attributes:
        counting: reads the marks.
    """

    what = "regions"

    def __init__(self, machine: Machine, recorder: FrameRecorder, pipe: RegionPipe, pid: int, *,
                 records: bool = True) -> None:
        super().__init__(recorder)
        self._records = records
        self.counting = RegionCounting(machine, pipe, None if records else ())
        self._pid = pid

    def start(self) -> None:
        """Open the counters, which begin with the first mark."""
        self.counting.open(self._pid)
        self.counting.start()

    def end_interval(self, frame: Frame) -> None:
        """Record the regions at a frame's tick."""
        if not self._records:
            return
        totals = self.counting.totals()
        self.failure = "" if totals.regions else _NOTHING_MARKED
        if totals.regions:
            self._record(RegionRecord(*frame.clocks, totals))

    def stop(self) -> None:
        """Close the counters."""
        self.counting.stop()


class RegionSlotsRecorder(RowRecorder):
    """Has the slots of regions counted for a top-down analysis, and recorded at the end of each interval."""

    what = "slots of regions"

    def __init__(self, recorder: FrameRecorder, counting: RegionCounting, slots: RegionSlots) -> None:
        super().__init__(recorder)
        counters = slots.counters
        why = counters.why_none
        self.failure = why.sentence() if why is not None else ONLY_CORES if counters.only_cores else ""
        self._counting = counting
        self._slots = slots
        self._is_counting = False

    def start(self) -> None:
        """Have the counters opened with the first mark."""
        if not self.failure:
            self._is_counting = self._counting.count_also(self._slots)

    def end_interval(self, frame: Frame) -> None:
        """Record what was counted until the tick of a frame ends an interval."""
        if not self._is_counting:
            return
        taken = threading.Event()

        def take() -> None:
            interval = self._slots.interval()
            self.failure = "" if interval is not None else _NOTHING_MARKED
            if interval is not None:
                self._record(RegionSlotsRecord(*frame.clocks, interval))
            taken.set()

        if self._counting.ask(take):
            taken.wait(_PATIENCE)


def region_recorders(tables: Container[str], machine: Machine, recorder: FrameRecorder, pipe: RegionPipe,
                     pid: int) -> Iterator[RowRecorder]:
    """Recorders of the regions of a command."""
    first = RegionRecorder(machine, recorder, pipe, pid, records=REGIONS in tables)
    yield first
    if REGION_SLOTS in tables:
        yield RegionSlotsRecorder(recorder, first.counting, RegionSlots(machine, levels=RECORDED_LEVELS))


def row_recorders(tables: Container[str], session: Session, recorder: FrameRecorder) -> Iterator[RowRecorder]:
    """Make the recorders of the tables with these names, and that of what a diagnosis needs beside columns."""
    machine = session.machine
    yield LookRecorder(machine, recorder)
    if any(name in tables for name in ("tasks", "waits", "loads", "parallel")):
        yield TaskRecorder(machine, recorder, waits="waits" in tables, loads="loads" in tables,
                           parallel="parallel" in tables)
    if "threads" in tables:
        yield TopdownThreadRecorder(machine, recorder)
    if "groups" in tables:
        yield GroupRecorder(session, recorder)
