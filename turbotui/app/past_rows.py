"""Rows of past intervals that no frame has: tasks, groups, regions, threads."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from turbotui.app.sessions import PlayedSession, WatchedSession
from turbotui.recording.rows import FindRows
from turbotui.sampling.frame import Frame
from turbotui.sampling.kept_intervals import MOST_BYTES, MOST_ROWS, KeptIntervals

P = TypeVar("P")


class PastRows(KeptIntervals[P]):
    """Those kept of a live machine, or those of a played recording.

    Args:
        recorded: finds the rows of a frame's interval in a recording; None if it has none.
    """

    def __init__(self, session: WatchedSession, recorded: Callable[[FindRows, Frame], P | None],
                 most_rows: int = MOST_ROWS, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(most_rows, most_bytes)
        self._played = session if isinstance(session, PlayedSession) else None
        self._recorded = recorded
        self._last_rows: tuple[Hashable, P | None] = None, None

    def of(self, frame: Frame, view: Hashable = None) -> P | None:
        """The rows of a frame's interval; None if none were kept or recorded.

        Args:
            frame: of any moment.
            view: what else decides what a recording's rows are made into.

        Raises:
            DamagedError: the recorded rows are invalid.
        """
        if frame.older is None:
            return None
        if self._played is None:
            return self.at(frame.older.wall_ns, frame.newer.wall_ns)
        key = frame.newer.wall_ns, view
        if self._last_rows[0] != key:
            self._last_rows = key, self._recorded(self._played.rows, frame)
        return self._last_rows[1]
