"""The interface of the top-down screen's rows that have counters of their own while they are shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Generic, TypeVar, cast

from textual.message import Message

from turbotui.app.past_rows import PastRows
from turbotui.app.sessions import PlayedSession
from turbotui.app.watch import Watch
from turbotui.dataclass import dataclass
from turbotui.features.topdown.engine import TopdownCounters
from turbotui.features.topdown.model import TopdownRow
from turbotui.features.topdown.places import CpuSet, RowLevel
from turbotui.features.topdown.tables import table_of
from turbotui.features.topdown.trees import Node
from turbotui.machine.host import HostError
from turbotui.quantities.tables import RowTable
from turbotui.recording.rows import FindRows
from turbotui.sampling.frame import Frame

I = TypeVar("I")  # noqa: E741 - an interval


@dataclass()
class FollowedRowsReady(Message):
    """Posted when an interval of such rows has been counted, from the thread that counts."""

    interval: object  # the counts, or the error that ended counting
    clocks: tuple[int, int] | None  # wall and monotonic clock of the tick that ended the interval; None if no tick did
    source: object


class FollowedRows(ABC, Generic[I]):
    """The rows of one level whose counters follow threads."""

    level: RowLevel

    def __init__(self, watch: Watch, counters: TopdownCounters, post: Callable[[FollowedRowsReady], object],
                 recorded: Callable[[FindRows, Frame], I | None], rows: Callable[[I], Sized]) -> None:
        self.watch = watch
        self.counters = counters
        self.post = post
        self.past = PastRows(watch.session, recorded)
        self._rows = rows
        self.played = watch.session if isinstance(watch.session, PlayedSession) else None
        self.newest: I | HostError | None = None
        self.newest_ns: int | None = None  # end of its interval, in ns since 1970; None if no tick ended it

    @property
    @abstractmethod
    def why_none(self) -> str:
        """Return why there can be no such rows here; "" if there can."""

    @property
    @abstractmethod
    def source(self) -> object:
        """The counting object; None while nothing is counted."""

    @abstractmethod
    def start(self) -> None:
        """Begin to count, unless begun already."""

    @abstractmethod
    def stop(self) -> None:
        """End counting, and drop the last counts."""

    @abstractmethod
    def end_interval(self, frame: Frame) -> None:
        """End an interval at a frame's tick; its rows are posted soon."""

    @abstractmethod
    def drill(self, place: CpuSet | None, path: Sequence[Node]) -> None:
        """Count these nodes of a row, and nothing else below level 1."""

    def take(self, message: FollowedRowsReady) -> bool:
        """Take the counts, and tell whether they are from the present source."""
        if message.source is not self.source or message.source is None:
            return False
        self.newest = interval = cast("I | HostError | None", message.interval)  # posted by this source
        self.newest_ns = None if message.clocks is None else message.clocks[0]
        if message.clocks is not None and not isinstance(interval, HostError) and interval is not None:
            self.past.keep(message.clocks[0], len(self._rows(interval)), interval)
        return True

    @abstractmethod
    def joined(self, frames: Iterable[Frame]) -> tuple[I, float, float] | None:
        """Join the kept intervals of some frames, oldest first; None if none is kept.

        Returns:
            The counts, the seconds for which they were counted, and the share of their amounts to compare with: that
            of the last interval, or all where the counts of an interval are of all time.

        Raises:
            DamagedError: recorded rows are invalid.
        """

    def has_ended(self, _opened: CpuSet) -> bool:
        """Tell whether the opened thread is known to have ended."""
        return False

    def interval_at(self, frame: Frame | None) -> I | HostError | None:
        """Return the counts of the shown moment. Raises DamagedError if the recorded rows are invalid."""
        if frame is None or (self.played is None and not self.watch.held):
            return self.newest
        return self.past.of(frame)

    @abstractmethod
    def rows(self, interval: I, opened: CpuSet | None) -> Sequence[TopdownRow]:
        """Return the rows of the counts, and the opened row."""

    def table(self, rows: Sequence[TopdownRow]) -> RowTable[TopdownRow]:
        """Make the table of rows."""
        return table_of(self.counters, self.level, rows)

    @abstractmethod
    def notes(self, interval: I) -> tuple[str, ...]:
        """Return the notes for readers of the rows."""

    @abstractmethod
    def nothing(self, interval: I | HostError | None) -> str:
        """Return why there is no row."""
