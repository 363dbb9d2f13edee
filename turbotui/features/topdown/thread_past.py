"""Threads of earlier intervals on the top-down screen: those that were kept, and those of a recording."""

from __future__ import annotations

from turbotui.app.watched import PlayedSession
from turbotui.dataclass import dataclass
from turbotui.features.topdown.recorded_threads import threads_of
from turbotui.features.topdown.thread_counters import ThreadInterval
from turbotui.sampling.frame import Frame
from turbotui.sampling.kept_intervals import KeptIntervals


@dataclass(frozen=True, slots=True)
class PastThreads:
    """The threads of one interval; see `KeptInterval`.

    Attributes:
        time_ns: when it ended, in ns since 1970.
        seq: its number.
        interval: the threads.
    """

    time_ns: int
    seq: int
    interval: ThreadInterval

    @property
    def size(self) -> int:
        """Rows, and one for the rest."""
        return 1 + len(self.interval.threads)


class ThreadPast:
    """Counted threads of moments of the past.

    Args:
        played: the session of a recording; None for a machine that is watched.
    """

    def __init__(self, played: PlayedSession | None) -> None:
        self._played = played
        self._kept: KeptIntervals[PastThreads] = KeptIntervals()
        self._seq = 0
        self._newest: tuple[int, ThreadInterval | None] = 0, None

    def keep(self, time_ns: int, interval: ThreadInterval) -> None:
        """Keep an interval, the newest one."""
        self._seq += 1
        self._kept.keep(PastThreads(time_ns, self._seq, interval))

    def of(self, frame: Frame) -> ThreadInterval | None:
        """The threads of a frame's interval; None where none were kept, or recorded.

        Raises:
            DamagedError: what was recorded are no threads.
        """
        if frame.older is None:
            return None
        if self._played is None:
            found = self._kept.at(frame.older.wall_ns, frame.newer.wall_ns)
            return None if found is None else found.interval
        if self._newest[0] != frame.newer.wall_ns:
            self._newest = frame.newer.wall_ns, threads_of(self._played.rows, frame)
        return self._newest[1]
