"""Rows of the top-down screen that have counters of their own while they are shown: what the screen asks of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from textual.message import Message

from turbotui.app.watch import Watch
from turbotui.app.watched import PlayedSession
from turbotui.features.topdown.engine import TopdownCounters
from turbotui.features.topdown.model import TopdownRow
from turbotui.features.topdown.moving_past import MovingPast
from turbotui.features.topdown.places import CpuSet, RowLevel
from turbotui.features.topdown.tables import table_of
from turbotui.features.topdown.trees import Node
from turbotui.machine.host import HostError
from turbotui.quantities.tables import RowTable
from turbotui.sampling.frame import Frame

I = TypeVar("I")  # noqa: E741 - an interval


class MovingRowsReady(Message):
    """Posted when an interval of such rows has been counted, from the thread that counts.

    Args:
        found: what was counted, or the error that ended it.
        clocks: wall clock and monotonic clock of the tick that ended it; None where no tick did.
        source: what counted it.
    """

    def __init__(self, found: object, clocks: tuple[int, int] | None, source: object) -> None:
        super().__init__()
        self.found = found
        self.clocks = clocks
        self.source = source


class MovingRows(ABC, Generic[I]):
    """Rows of one level that go with what they count.

    Args:
        watch: what is watched.
        counters: the trees of its cores.
        post: hands a message over to the screen, from any thread.
        past: of these rows.

    Attributes:
        level: of the rows.
    """

    level: RowLevel

    def __init__(self, watch: Watch, counters: TopdownCounters, post: Callable[[MovingRowsReady], object],
                 past: MovingPast[I]) -> None:
        self.watch = watch
        self.counters = counters
        self.post = post
        self.past = past
        self.played = watch.session if isinstance(watch.session, PlayedSession) else None
        self.newest: I | HostError | None = None

    @property
    @abstractmethod
    def why_none(self) -> str:
        """Why there can be none here; "" where there can."""

    @property
    @abstractmethod
    def source(self) -> object:
        """What counts now; None while nothing does."""

    @abstractmethod
    def start(self) -> None:
        """Begin to count; nothing happens where that was begun."""

    @abstractmethod
    def stop(self) -> None:
        """End counting, and forget what was counted last."""

    @abstractmethod
    def end_interval(self, frame: Frame) -> None:
        """The tick of a frame ends an interval; its rows are posted soon."""

    @abstractmethod
    def drill(self, place: CpuSet | None, path: Sequence[Node]) -> None:
        """Have these nodes of a row counted, and nothing else below level 1."""

    def take(self, message: MovingRowsReady) -> bool:
        """Take what was counted; whether it is of what counts now."""
        if message.source is not self.source or message.source is None:
            return False
        self.newest = found = message.found  # type: ignore[assignment]  # posted by this source
        if message.clocks is not None and not isinstance(found, HostError) and found is not None:
            self.past.keep(message.clocks[0], found)  # type: ignore[arg-type]  # as above
        return True

    def has_ended(self, opened: CpuSet) -> bool:
        """Whether what was opened is known to have ended."""
        del opened
        return False

    def found(self, frame: Frame | None) -> I | HostError | None:
        """What was counted in the moment that is shown.

        Raises:
            DamagedError: what was recorded are no such rows.
        """
        if frame is None or (self.played is None and not self.watch.held):
            return self.newest
        return self.past.of(frame)

    @abstractmethod
    def rows(self, found: I, opened: CpuSet | None) -> Sequence[TopdownRow]:
        """The rows of what was counted, and that of what is opened."""

    def table(self, rows: Sequence[TopdownRow]) -> RowTable[TopdownRow]:
        """The table of rows."""
        return table_of(self.counters, self.level, rows)

    @abstractmethod
    def notes(self, found: I) -> tuple[str, ...]:
        """What a reader of the rows has to know."""

    @abstractmethod
    def nothing(self, found: I | HostError | None) -> str:
        """Why there is no row."""
