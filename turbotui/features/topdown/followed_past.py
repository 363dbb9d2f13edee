"""Past intervals of the top-down screen's rows with counters of their own, kept or recorded."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Generic, TypeVar

from turbotui.app.sessions import PlayedSession
from turbotui.dataclass import dataclass
from turbotui.recording.rows import FindRows
from turbotui.sampling.frame import Frame
from turbotui.sampling.kept_intervals import KeptIntervals

I = TypeVar("I")  # noqa: E741 - an interval


@dataclass(frozen=True, slots=True)
class PastInterval(Generic[I]):
    """The rows of one interval."""

    time_ns: int  # the interval's end, in ns since 1970
    seq: int  # the interval's number
    interval: I  # the rows
    size: int  # the number of rows, and one for the rest


class FollowedPast(Generic[I]):
    """The rows of past moments: those kept of a live machine, or those of a played recording."""

    def __init__(self, played: PlayedSession | None, recorded: Callable[[FindRows, Frame], I | None],
                 rows: Callable[[I], Sized]) -> None:
        self._played = played
        self._recorded = recorded
        self._rows = rows
        self._kept: KeptIntervals[PastInterval[I]] = KeptIntervals()
        self._seq = 0
        self._newest: tuple[int, I | None] = 0, None

    def keep(self, time_ns: int, interval: I) -> None:
        """Keep the newest interval."""
        self._seq += 1
        self._kept.keep(PastInterval(time_ns, self._seq, interval, 1 + len(self._rows(interval))))

    def of(self, frame: Frame) -> I | None:
        """Return the rows of a frame's interval; None if none were kept or recorded.

        Raises:
            DamagedError: the recorded rows are invalid.
        """
        if frame.older is None:
            return None
        if self._played is None:
            found = self._kept.at(frame.older.wall_ns, frame.newer.wall_ns)
            return None if found is None else found.interval
        if self._newest[0] != frame.newer.wall_ns:
            self._newest = frame.newer.wall_ns, self._recorded(self._played.rows, frame)
        return self._newest[1]
