"""Records tasks and the regions of a command, interval by interval."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from turbotui.features.tasks.applications import EVERYTHING
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot, TaskWatcher
from turbotui.features.tasks.recorded_places import read_places
from turbotui.features.tasks.region_counting import RegionCounting
from turbotui.features.tasks.region_totals import RegionRecord
from turbotui.features.tasks.tables import Grouping
from turbotui.machine.machine import Machine
from turbotui.machine.region_pipes import RegionPipe
from turbotui.machine.tasks.proc_facts import READS, ProcFacts, TaskLooks
from turbotui.recording.recorded_tables import RecordedTables, RecordingRequest, RowRecorder
from turbotui.recording.recorder import FrameRecorder
from turbotui.sampling.frame import Frame

_REGIONS: Final = "regions"
NOTHING_MARKED: Final = "the command marked none (TURBOTUI_REGIONS)"


class TaskRecorder(RowRecorder):
    """Watches every task, and records the counts at the end of each interval."""

    what = "tasks"

    def __init__(self, machine: Machine, recorder: FrameRecorder, *, waits: bool = False,
                 loads: bool = False, parallel: bool = False, nodes: bool = False) -> None:
        super().__init__(recorder)
        self._facts = ProcFacts(machine.host, machine.topology) if nodes else None
        self._request = SnapshotRequest(waits=waits, loads=loads, parallel=parallel)
        self._watcher = TaskWatcher(machine, EVERYTHING, self._take)

    def start(self) -> None:
        """Open the counters."""
        self._watcher.start(self._request)

    @property
    def _can_answer(self) -> bool:
        return self._watcher.running

    def end_interval(self, frame: Frame) -> None:
        """End the tasks' interval at a frame's tick."""
        if not self.failure and self._watcher.running:
            self._asked = True
            self._watcher.snapshot(replace(self._request, clocks=frame.clocks))

    def stop(self) -> None:
        """Close the counters; the last interval is recorded."""
        self.settle()
        self._watcher.stop()

    def _take(self, snapshot: TaskSnapshot) -> None:
        errors = [report.error for report in snapshot.reports if report.error]
        if errors and len(errors) == len(snapshot.reports):
            self.failure = errors[0]
        if snapshot.record is not None:
            record = snapshot.record
            if self._facts is not None:
                record = replace(record, places=read_places(TaskLooks(self._facts, seen=record.facts_seen), [
                    (row.pid, row.tid) for by in (Grouping.PROCESS, Grouping.THREAD) for report in record.reports[by]
                    for row in report.rows[:READS] if row.pid is not None]))
            self._record(record)
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
        self.failure = "" if totals.regions else NOTHING_MARKED
        if totals.regions:
            self._record(RegionRecord(*frame.clocks, totals))

    def stop(self) -> None:
        """Close the counters."""
        self.counting.stop()


def marks_of(request: RecordingRequest) -> RegionRecorder | None:
    """The one recorder of a request that reads the marks of the command; None without a command."""
    known = next((recorder for recorder in request.made if isinstance(recorder, RegionRecorder)), None)
    if known is not None or request.pipe is None:
        return known
    made = RegionRecorder(request.session.machine, request.recorder, request.pipe, request.pid,
                          records=_REGIONS in request.tables)
    request.made.append(made)
    return made


def _add_recorders(request: RecordingRequest) -> None:
    tables = request.tables
    beside = {word: word in tables for word in ("waits", "loads", "parallel", "nodes")}
    if "tasks" in tables or any(beside.values()):
        request.made.append(TaskRecorder(request.session.machine, request.recorder, **beside))
    if _REGIONS in tables:
        marks_of(request)


RECORDED: Final = (RecordedTables({
    "tasks": "threads, processes and commands, by watching whole CPUs",
    "waits": "tasks, and what they wait for: some 5 us of CPU time a switch",
    "loads": "tasks, and sampled loads",
    "parallel": "tasks, and who ran beside them",
    "nodes": "tasks, and on which NUMA nodes their memory is: 11 us of CPU time a thread",
    _REGIONS: "those that the command marks",
}, recorders=_add_recorders, marked=(_REGIONS,)),)
