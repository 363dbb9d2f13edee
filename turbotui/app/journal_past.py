"""A recording as moments that can be shown, with their frames and events.

Frames are decoded a stretch at a time. Every step decodes some ticks of the next stretch, so that no step waits for all
of it.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.app.past import PastEvent, past_events
from turbotui.dataclass import dataclass
from turbotui.recording.journal import Journal
from turbotui.sampling.frame import Frame
from turbotui.threads import NamedThread

_STRETCH: Final = 32
"""Moments that are decoded together, because neighbours are shown next."""
_AHEAD: Final = 4
"""Ticks of the next stretch that are decoded at each step: with those behind its key tick at most three a moment."""
_MOST_CELLS: Final = 600_000
"""The most readings of frames that are kept decoded, some 30 MB."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    # first, last: their positions
    first: int
    last: int
    frames: Iterator[Frame | None]  # the iterator of `Journal.decoding`


class JournalPast:
    """The moments of a journal, which may still grow; `look_again` finds appended ones in the background."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.times: Sequence[int] = ()
        self._size = -1
        self.events: Sequence[PastEvent] = ()
        self._frames: dict[int, Frame] = {}
        self._stretch: _Stretch | None = None
        self._at = 0
        self._by = -1
        self._reading = threading.Lock()  # files have one reading position
        self._looking: threading.Thread | None = None

        self._find()

    def look_again(self) -> None:
        if self.journal.size != self._size and (self._looking is None or not self._looking.is_alive()):
            self._looking = NamedThread(target=self._find, name="recorded times", daemon=True)
            self._looking.start()

    def _find(self) -> None:
        with self._reading:
            size = self.journal.size
            self.times = self.journal.clocks()[1:]  # the first tick ends no interval
            self.events = past_events((*self.journal.events(), *self.journal.gaps()))
            self._size = size

    def frame(self, time_ns: int) -> Frame | None:
        at = max(0, bisect_right(self.times, time_ns) - 1)
        if at != self._at:  # after a jump the user may step back
            self._by = 1 if at == self._at + 1 else -1
            self._at = at
        frame = self._frames.get(time_ns)
        if frame is None:
            with self._reading:
                self._decode(time_ns)
            frame = self._frames.get(time_ns)
        elif self._reading.acquire(blocking=False):  # otherwise the file is read again
            try:
                self._decode_ahead()
            finally:
                self._reading.release()
        return frame

    def _decode(self, time_ns: int) -> None:
        """Decode a moment, within its stretch."""
        if self._stretch is None or not self._stretch.first <= self._at <= self._stretch.last:
            self._stretch = self._stretch_from(self._at)
        while time_ns not in self._frames and self._decode_one():
            pass

    def _decode_ahead(self) -> None:
        if self._stretch is None:
            beside = range(self._at, self._at + self._by * (self._longest + 1), self._by)
            missing = next((at for at in beside if 0 <= at < len(self.times)
                            and self.times[at] not in self._frames), None)
            self._stretch = None if missing is None else self._stretch_from(missing)
        for _ in range(_AHEAD):
            if not self._decode_one():
                return

    @property
    def _longest(self) -> int:
        """Return the moments of a stretch, of which two may be kept."""
        return min(_STRETCH, self._most // 2)

    @property
    def _most(self) -> int:
        some = next(iter(self._frames.values()), None)
        cells = 1 if some is None else sum(len(values) for values in some.newer.values.values())
        return max(4, min(2 * _STRETCH, _MOST_CELLS // max(1, cells)))

    def _stretch_from(self, at: int) -> _Stretch:
        """Return the stretch that begins at a position, or, for steps back, ends there."""
        times = self.times
        other = max(0, min(len(times) - 1, at + self._by * (self._longest - 1)))
        first, last = min(at, other), max(at, other)
        return _Stretch(first, last, self.journal.decoding(times[first], times[last]))

    def _decode_one(self) -> bool:
        """Decode one more tick of the stretch; return False at its end."""
        for frame in () if self._stretch is None else self._stretch.frames:
            if frame is not None:
                self._frames[frame.newer.wall_ns] = frame
                while len(self._frames) > self._most:
                    del self._frames[max(self._frames, key=self._distance)]
            return True
        self._stretch = None
        return False

    def _distance(self, time_ns: int) -> tuple[bool, int]:
        """Return a moment's distance in the direction of steps; moments behind are farther than all ahead."""
        apart = time_ns - self.times[self._at]
        return apart * self._by < 0, abs(apart)
