"""Records slots of pipelines: of CPUs, of the busiest threads, or of the regions of a command."""

from __future__ import annotations

import threading
from collections.abc import Container
from typing import Final

from turbotui.errors import MachineError
from turbotui.features.tasks.recorders import NOTHING_MARKED, marks_of
from turbotui.features.tasks.region_counting import RegionCounting
from turbotui.features.topdown.engine import RECORDED_LEVELS, Drill, TopdownCounters
from turbotui.features.topdown.recorded_regions import RegionSlotsRecord
from turbotui.features.topdown.recorded_threads import ThreadRecord
from turbotui.features.topdown.region_slots import ONLY_CORES, RegionSlots
from turbotui.features.topdown.thread_counters import ThreadInterval
from turbotui.features.topdown.thread_watch import BusyThreadWatch
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.machine.tasks.sample_reader import refuse_recorded
from turbotui.recording.recorded_tables import (
    PATIENCE,
    RecordedTables,
    RecordingRequest,
    RowRecorder,
    SourcesBeside,
)
from turbotui.recording.recorder import FrameRecorder
from turbotui.sampling.frame import Frame

_REGION_SLOTS: Final = "region-slots"


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
        """End the threads' interval at a frame's tick."""
        if not self.failure:
            self._asked = True
            self._watch.request(frame.clocks)

    def stop(self) -> None:
        """Close the counters; the last interval is recorded."""
        self.settle()
        if self._started:
            self._watch.stop()
            self._watch.wait()
        self._started = False

    def _take(self, interval: ThreadInterval | HostError, clocks: tuple[int, int] | None) -> None:
        if isinstance(interval, HostError):
            self.failure = str(interval)
        elif not interval.threads and interval.refused:
            self.failure = "; ".join(why.sentence() for why in interval.refused)
        if clocks is not None and isinstance(interval, ThreadInterval):
            self._record(ThreadRecord(*clocks, interval))
        self._taken.release()


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
            self.failure = "" if interval is not None else NOTHING_MARKED
            if interval is not None:
                self._record(RegionSlotsRecord(*frame.clocks, interval))
            taken.set()

        if self._counting.ask(take):
            taken.wait(PATIENCE)


def _sources(machine: Machine, tables: Container[str]) -> SourcesBeside:
    """The counters of CPUs' slots, down to level 2."""
    if "topdown" not in tables:
        return SourcesBeside()
    counters = TopdownCounters(machine)
    why = counters.why_none
    counters.drill = Drill(counters.below(RECORDED_LEVELS))
    return SourcesBeside(tuple(counters.sources()), counters.signals(),
                         () if why is None else (f"no slots of pipelines are recorded: {why.sentence()}",))


def _add_recorders(request: RecordingRequest) -> None:
    machine = request.session.machine
    if "threads" in request.tables:
        request.made.append(TopdownThreadRecorder(machine, request.recorder))
    if _REGION_SLOTS in request.tables and (marks := marks_of(request)) is not None:
        request.made.append(RegionSlotsRecorder(request.recorder, marks.counting,
                                                RegionSlots(machine, levels=RECORDED_LEVELS)))


RECORDED: Final = (RecordedTables({
    "topdown": "slots of pipelines of CPUs, down to level 2",
    "threads": "the same of the busiest threads, instead",
    _REGION_SLOTS: "the same of the regions that the command marks, instead",
}, _sources, recorders=_add_recorders, marked=(_REGION_SLOTS,),
    exclusive="counters of CPUs, of threads and of a command count the same slots and would be multiplexed"),)
