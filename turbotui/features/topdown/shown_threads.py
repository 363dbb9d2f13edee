"""The busiest threads as rows of the top-down screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Final

from turbotui.app.watch import Watch
from turbotui.errors import MachineError
from turbotui.features.topdown.engine import Drill, TopdownCounters
from turbotui.features.topdown.followed_rows import FollowedRows, FollowedRowsReady
from turbotui.features.topdown.model import TopdownRow
from turbotui.features.topdown.places import CpuSet, RowLevel
from turbotui.features.topdown.recorded_threads import ThreadRecord, threads_of
from turbotui.features.topdown.thread_counters import ThreadInterval
from turbotui.features.topdown.thread_rows import interval_notes, thread_rows, waiting_row
from turbotui.features.topdown.thread_watch import BusyThreadWatch
from turbotui.features.topdown.trees import Node
from turbotui.machine.host import HostError
from turbotui.machine.tasks.sample_reader import refuse_recorded
from turbotui.quantities.sentences import as_sentence
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
