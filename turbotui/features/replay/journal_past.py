"""A recording as moments that can be shown: their times, the frames around one, what happened."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from turbotui.app.live_past import past_events
from turbotui.app.past import PastEvent
from turbotui.recording.journal import Journal
from turbotui.sampling.frame import Frame

_STRETCH: Final = 32
"""Moments that are decoded together: what comes behind one is looked at next."""
_MOST_CELLS: Final = 600_000
"""Readings of the frames that are kept decoded: some 30 MB."""


class JournalPast:
    """The moments of a journal, which may still grow: `look_again` finds what was appended, in the background."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._times: Sequence[int] = ()
        self._size = -1
        self._events: Sequence[PastEvent] = ()
        self._frames: OrderedDict[int, Frame] = OrderedDict()
        self._reading = threading.Lock()  # a file is read at one place at a time
        self._looking: threading.Thread | None = None

        self._find()

    def look_again(self) -> None:
        """See `PastFrames.look_again`."""
        if self.journal.size != self._size and (self._looking is None or not self._looking.is_alive()):
            self._looking = threading.Thread(target=self._find, name="times of a recording", daemon=True)
            self._looking.start()

    def _find(self) -> None:
        with self._reading:
            size = self.journal.size
            self._times = self.journal.clocks()[1:]  # the first tick ends no interval
            self._events = past_events((*self.journal.events(), *self.journal.gaps()))
            self._size = size

    @property
    def times(self) -> Sequence[int]:
        """See `PastFrames.times`."""
        return self._times

    @property
    def events(self) -> Sequence[PastEvent]:
        """See `PastFrames.events`."""
        return self._events

    def frame(self, time_ns: int) -> Frame | None:
        """See `PastFrames.frame`."""
        found = self._frames.get(time_ns)
        if found is None:
            with self._reading:
                self._decode(time_ns)
            found = self._frames.get(time_ns)
        return found

    def _decode(self, time_ns: int) -> None:
        """Decode a moment, and those around it up to the next key tick, as far as they may be kept."""
        times = self._times
        at = bisect_right(times, time_ns) - 1
        first = times[max(0, at - _STRETCH)] if times else time_ns
        for frame in self.journal.frames(first, time_ns):
            self._frames[frame.newer.wall_ns] = frame
            self._frames.move_to_end(frame.newer.wall_ns)
            cells = sum(len(values) for values in frame.newer.values.values())
            while len(self._frames) > max(4, _MOST_CELLS // max(1, cells)):
                self._frames.popitem(last=False)
