"""The busiest threads and the marked regions of programs as rows of the top-down screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Final

from turbotui.app.watch import Watch
from turbotui.errors import MachineError
from turbotui.features.tasks.region_counting import MarkedCommand, RegionCounting
from turbotui.features.topdown.engine import Drill, TopdownCounters
from turbotui.features.topdown.followed_rows import FollowedRows, FollowedRowsReady
from turbotui.features.topdown.model import TopdownRow
from turbotui.features.topdown.places import CpuSet, RowLevel
from turbotui.features.topdown.recorded_regions import RegionSlotsRecord, region_slots_of
from turbotui.features.topdown.recorded_threads import ThreadRecord, threads_of
from turbotui.features.topdown.region_interval_rows import interval_rows, region_interval_notes
from turbotui.features.topdown.region_slots import ONLY_CORES, RegionInterval, RegionSlots
from turbotui.features.topdown.tables import region_table
from turbotui.features.topdown.thread_counters import ThreadInterval
from turbotui.features.topdown.thread_rows import interval_notes, thread_rows, waiting_row
from turbotui.features.topdown.thread_watch import BusyThreadWatch
from turbotui.features.topdown.trees import Node
from turbotui.machine.host import HostError
from turbotui.machine.tasks.sample_reader import refuse_recorded
from turbotui.quantities.sentences import as_sentence
from turbotui.quantities.tables import RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame

NO_THREADS_RECORDED: Final = Unavailable(Reason.NOT_READ, "no slots of threads were recorded at this moment",
                                         "turbotui record --tables threads, or Ctrl+R while this screen shows threads")


class ShownThreads(FollowedRows[ThreadInterval]):
    """The busiest threads of the machine."""

    level = RowLevel.THREAD

    def __init__(self, watch: Watch, counters: TopdownCounters, post: Callable[[FollowedRowsReady], object]) -> None:
        super().__init__(watch, counters, post, threads_of, lambda interval: interval.threads)
        self._threads: BusyThreadWatch | None = None

    @property
    def why_none(self) -> str:
        if self.played is not None:
            return ""
        try:
            refuse_recorded(self.watch.session.machine.host)
        except MachineError as error:
            return str(error)
        return ""

    @property
    def source(self) -> BusyThreadWatch | None:
        return self._threads

    def start(self) -> None:
        if self._threads is None and self.played is None:
            def publish(interval: ThreadInterval | HostError, clocks: tuple[int, int] | None) -> None:
                if self.watch.recorders and clocks is not None and isinstance(interval, ThreadInterval):
                    self.watch.record_rows(ThreadRecord(*clocks, interval))
                self.post(FollowedRowsReady(interval, clocks, threads))

            self._threads = threads = BusyThreadWatch(self.watch.session.machine, publish)
            threads.start()

    def stop(self) -> None:
        if self._threads is not None:
            self._threads.stop()
        self._threads = self.newest = None

    def end_interval(self, frame: Frame) -> None:
        if self._threads is not None:
            self._threads.request(frame.clocks)

    def drill(self, place: CpuSet | None, path: Sequence[Node]) -> None:
        if self._threads is not None:
            self._threads.drill(None if place is None else place.tid, Drill(tuple(node.id for node in path)))

    def joined(self, frames: Iterable[Frame]) -> tuple[ThreadInterval, float, float] | None:
        records = [ThreadRecord(0, 0, interval) for interval in map(self.past.of, frames) if interval is not None]
        if not records:
            return None
        whole = reduce(lambda earlier, later: earlier.plus(later), records).interval
        return whole, whole.seconds, records[-1].interval.seconds / whole.seconds

    def has_ended(self, opened: CpuSet) -> bool:
        interval = self.newest
        return isinstance(interval, ThreadInterval) and opened.tid is not None and interval.gone == opened.tid

    def rows(self, interval: ThreadInterval, opened: CpuSet | None) -> Sequence[TopdownRow]:
        key, branches = None if opened is None else opened.key, self.counters.branches
        shown = [row for row in thread_rows(branches, interval) if row.busy or row.place.key == key]
        if opened is not None and self._threads is not None and all(row.place.key != key for row in shown):
            shown.append(waiting_row(opened, branches))  # stays counted until it ends, because its row is open
        return shown

    def notes(self, interval: ThreadInterval) -> tuple[str, ...]:
        return interval_notes(interval)

    def nothing(self, interval: ThreadInterval | HostError | None) -> str:
        if isinstance(interval, HostError):
            return f"No threads: {interval}"
        if interval is None and self.played is not None:
            return as_sentence(NO_THREADS_RECORDED.sentence())
        if interval is None and self.watch.in_past:
            return "No threads of this moment: they are kept while this screen shows them"
        refused = next(iter(interval.refused), None) if interval is not None else None
        return "Threads that run now are counted from the next interval on" if refused is None else as_sentence(
            refused.sentence())


NO_REGIONS_RECORDED: Final = Unavailable(Reason.NOT_READ, "no slots of regions were recorded at this moment",
                                         "let Ctrl+R record while this screen shows regions")
NO_PROGRAM: Final = ("no program marks regions here: run one beside the dashboard (turbotui -- COMMAND), or name the "
                     "FIFO in which others mark (--regions FIFO)")
_NOT_THERE: Final = Unavailable(Reason.NOT_READ, "the region was hardly on these cores since regions are counted")
_LATER: Final = ("Entered", "Seconds", "Time%", "GSlots", "Ran%", "ByTime%")
"""The columns behind the shares, because there is little room beside a bar."""
_BEHIND: Final = 2  # priority: shares of level 1 have 1



class ShownRegions(FollowedRows[RegionInterval]):
    """The regions of programs, counted since their rows are shown."""

    level = RowLevel.REGION

    def __init__(self, watch: Watch, counters: TopdownCounters, post: Callable[[FollowedRowsReady], object]) -> None:
        super().__init__(watch, counters, post, region_slots_of, lambda interval: interval.first.regions)
        self._slots: RegionSlots | None = None
        self._is_over = False

    @property
    def _marks(self) -> RegionCounting | None:
        marked = self.watch.marked
        return marked.regions if isinstance(marked, MarkedCommand) else None

    @property
    def why_none(self) -> str:
        if self.played is not None:
            return ""
        return NO_PROGRAM if self._marks is None else ONLY_CORES if self.counters.only_cores else ""

    @property
    def source(self) -> RegionSlots | None:
        return self._slots

    def start(self) -> None:
        marks = self._marks
        if self._slots is None and marks is not None and self.played is None:
            self._slots = RegionSlots(self.watch.session.machine)
            self._is_over = not marks.count_also(self._slots)

    def stop(self) -> None:
        marks = self._marks
        if self._is_over and self.newest is not None:
            return  # counting has ended, and no newer counts will come
        if self._slots is not None and marks is not None:
            marks.count_also(None)
        self._slots = self.newest = None

    def end_interval(self, frame: Frame) -> None:
        marks, slots, clocks = self._marks, self._slots, frame.clocks
        if marks is None or slots is None:
            return

        def publish() -> None:
            interval = slots.interval()
            if self.watch.recorders and interval is not None:
                self.watch.record_rows(RegionSlotsRecord(*clocks, interval))
            self.post(FollowedRowsReady(interval, clocks, slots))

        if not marks.ask(publish):  # the program has ended; its counts stay
            self._is_over = True
            publish()

    def drill(self, place: CpuSet | None, path: Sequence[Node]) -> None:
        marks, slots = self._marks, self._slots
        if marks is None or slots is None:
            return
        opened, drill = None if place is None else place.key, Drill(tuple(node.id for node in path))

        def choose() -> None:
            slots.drill(opened, drill)

        if marks.ask(choose):
            marks.count_also(slots)

    def joined(self, frames: Iterable[Frame]) -> tuple[RegionInterval, float, float] | None:
        # the newest has the counts of all time: it is the span, and its amounts are not those of one interval
        newest = next((interval for interval in map(self.past.of, reversed([*frames])) if interval is not None), None)
        return None if newest is None else (newest, newest.first.seconds, 1.0)

    def rows(self, interval: RegionInterval, opened: CpuSet | None) -> Sequence[TopdownRow]:
        rows = interval_rows(self.counters.branches, interval)
        if opened is None or self._slots is None or any(row.place.key == opened.key for row in rows):
            return rows
        return (*rows, waiting_row(opened, self.counters.branches, _NOT_THERE))

    def table(self, rows: Sequence[TopdownRow]) -> RowTable[TopdownRow]:
        table = region_table(self.counters, rows)
        later = [replace(column, priority=max(column.priority, _BEHIND))
                 for column in table.columns if column.id in _LATER]
        return replace(table, columns=(*[column for column in table.columns if column.id not in _LATER], *later))

    def notes(self, interval: RegionInterval) -> tuple[str, ...]:
        return region_interval_notes(interval)

    def nothing(self, _interval: RegionInterval | HostError | None) -> str:
        # with an interval there is at least the programs' row
        if self.played is not None:
            return as_sentence(NO_REGIONS_RECORDED.sentence())
        if self._is_over:
            return "The program has ended, and its slots were not counted: they are while this screen shows regions"
        if self.watch.in_past:
            return "No regions of this moment: they are kept while this screen shows them"
        return "No region was marked yet: counting begins with the first mark (TURBOTUI_REGIONS)"
