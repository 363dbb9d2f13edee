"""The last hour of a watched machine, as moments that can be shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from turbotui.app.past import PastEvent
from turbotui.quantities.moments import age
from turbotui.sampling.frame import Frame
from turbotui.untrusted import one_line

if TYPE_CHECKING:  # loaded with the first frame, after the screen
    from turbotui.recording.ring import PastRing
    from turbotui.recording.stream_writer import Event, Gap


class LivePast:
    """`app.past.PastFrames` of a ring in memory."""

    def __init__(self) -> None:
        self._ring: PastRing | None = None
        self._first = -1  # the time of the first reading, at which no interval ends

    def take(self, frame: Frame) -> None:
        """Keep a frame; called on the sampler's thread."""
        if self._ring is None:
            from turbotui.recording.ring import PastRing  # noqa: PLC0415 - as above

            self._ring, self._first = PastRing(), frame.newer.wall_ns
        self._ring.take(frame)

    def look_again(self) -> None:
        """The list is always up to date."""

    @property
    def times(self) -> Sequence[int]:
        times = () if self._ring is None else self._ring.times
        return times[1:] if times and times[0] == self._first else times

    @property
    def events(self) -> Sequence[PastEvent]:
        return () if self._ring is None else past_events(self._ring.events)

    def frame(self, time_ns: int) -> Frame | None:
        return None if self._ring is None else self._ring.frame(time_ns)


def past_events(found: Iterable[Event | Gap]) -> Sequence[PastEvent]:
    """Events of the past as lines safe for a terminal, oldest first."""
    from turbotui.recording.stream_writer import Event  # noqa: PLC0415 - as above

    events = [PastEvent(one.wall_ns, one_line(one.text if isinstance(one, Event) else _in_words(one))) for one in found]
    return sorted(events, key=lambda event: event.time_ns)


def _in_words(gap: Gap) -> str:
    seconds, frames = age(abs(gap.seconds)), f"{gap.frames:,} interval{'s' * (gap.frames != 1)}"
    return {
        "missed": f"{frames} left out: a reading took too long",
        "suspend": f"the machine was suspended for {seconds}",
        "clock": f"the clock was set {'back' if gap.seconds < 0 else 'forward'} by {seconds}",
        "lost": f"{frames} lost: a reader was too slow",
    }.get(gap.reason, gap.reason)
