"""Earlier intervals of rows with counters of their own on the top-down screen: kept ones, and those of a recording."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Generic, TypeVar

from turbotui.app.watched import PlayedSession
from turbotui.dataclass import dataclass
from turbotui.recording.rows import FindRows
from turbotui.sampling.frame import Frame
from turbotui.sampling.kept_intervals import KeptIntervals

I = TypeVar("I")  # noqa: E741 - an interval


@dataclass(frozen=True, slots=True)
class PastInterval(Generic[I]):
    """The rows of one interval; see `KeptInterval`.

    Attributes:
        time_ns: when it ended, in ns since 1970.
        seq: its number.
        interval: the rows.
        size: of them, and one for the rest.
    """

    time_ns: int
    seq: int
    interval: I
    size: int


class MovingPast(Generic[I]):
    """Rows of moments of the past.

    Args:
        played: the session of a recording; None for a machine that is watched.
        recorded: finds the rows of a frame's interval in a recording.
        rows: of an interval.
    """

    def __init__(self, played: PlayedSession | None, recorded: Callable[[FindRows, Frame], I | None],
                 rows: Callable[[I], Sized]) -> None:
        self._played = played
        self._recorded = recorded
        self._rows = rows
        self._kept: KeptIntervals[PastInterval[I]] = KeptIntervals()
        self._seq = 0
        self._newest: tuple[int, I | None] = 0, None

    def keep(self, time_ns: int, interval: I) -> None:
        """Keep an interval, the newest one."""
        self._seq += 1
        self._kept.keep(PastInterval(time_ns, self._seq, interval, 1 + len(self._rows(interval))))

    def of(self, frame: Frame) -> I | None:
        """The rows of a frame's interval; None where none were kept, or recorded.

        Raises:
            DamagedError: what was recorded are none.
        """
        if frame.older is None:
            return None
        if self._played is None:
            found = self._kept.at(frame.older.wall_ns, frame.newer.wall_ns)
            return None if found is None else found.interval
        if self._newest[0] != frame.newer.wall_ns:
            self._newest = frame.newer.wall_ns, self._recorded(self._played.rows, frame)
        return self._newest[1]
