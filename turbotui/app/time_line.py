"""The time bar on a screen, which shows the current moment and moves it by a click or a drag."""

from __future__ import annotations

from textual import events
from textual.message import Message

from turbotui.app.past import TimeCursor
from turbotui.dataclass import dataclass
from turbotui.sampling.frame import Frame
from turbotui.widgets.segment_lines import SegmentLines
from turbotui.widgets.time_bar import Moments, TimeBar, time_at, time_bar


class TimeLine(SegmentLines):
    """One line, from the first moment that can be shown to now, or to the end of a recording."""

    @dataclass()
    class Pointed(Message):
        """A moment was pointed at, in nanoseconds since 1970."""

        time_ns: int

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._bar = TimeBar((), 0, 0)
        self._ends = (0, 0)
        self._dragged = False

    def show_moment(self, cursor: TimeCursor, latest: Frame | None, width: int, state: str = "") -> None:
        """Show where the cursor is.

        Args:
            latest: the newest frame of a watched machine, whose time is now.
            state: whether a recording plays, in words.
        """
        times = cursor.timeline.times
        if cursor.at is None or not times:
            return
        now = latest.newer.wall_ns if cursor.live and latest is not None else times[-1]
        happened = next((event.text for event in cursor.events if event.time_ns == cursor.at), "")
        moments = Moments(times, [event.time_ns for event in cursor.events], cursor.at, max(now, times[-1]),
                          cursor.live, state, happened)
        self._bar = time_bar(moments, width)
        self._ends = times[0], moments.last
        self.show([self._bar.segments])

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Show the moment under the mouse, and start following the mouse; words behind the bar are none."""
        if event.x >= self._bar.start + self._bar.size:
            return
        self._dragged = True
        self.capture_mouse()
        self._go(event.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Follow the mouse while its button is down."""
        if self._dragged:
            self._go(event.x)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """Keep the moment at which the button was released."""
        if self._dragged:
            self._dragged = False
            self.release_mouse()
            self._go(event.x)

    def _go(self, x: int) -> None:
        if self._bar.size:
            self.post_message(self.Pointed(time_at(x - self._bar.start, *self._ends, self._bar.size)))
