"""The past of a watched machine, its last hour in memory, and a cursor in it. Nothing here knows Textual."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import CounterColumn, Value
from turbotui.quantities.filters import Filter
from turbotui.quantities.moments import age
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.sentences import as_sentence
from turbotui.sampling.frame import Frame
from turbotui.tables.row_names import row_name
from turbotui.untrusted import one_line
from turbotui.widgets.rows import row_words

if TYPE_CHECKING:  # loaded with the first frame, after the screen
    from turbotui.recording.ring import PastRing
    from turbotui.recording.stream_writer import Event, Gap

AFTER: Final = 0.1
"""Seconds without a key, or on a screen, after which the past is read: nobody looks at pictures on the way."""
_PART: Final = 0.004
"""Seconds of work on the past, and of rest after it."""


class Portions:
    """Parts of work on the past, between which keys are handled."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    async def rest(self) -> bool:
        """Rest, if there was work enough; return whether there was."""
        if time.monotonic() - self._began <= _PART:
            return False
        await asyncio.sleep(_PART)
        self._began = time.monotonic()
        return True


@dataclass(frozen=True, slots=True)
class PastEvent:
    """An event at a moment, shown by a tick on the time bar."""

    time_ns: int  # ns since 1970
    text: str  # a sentence; outside text if it is a user's mark


class PastFrames(Protocol):
    """Moments that can be shown, of the last hour or of a recording."""

    @property
    def times(self) -> Sequence[int]:
        """End of each interval that still exists, in ns since 1970, oldest first."""

    @property
    def events(self) -> Sequence[PastEvent]:
        """Events, oldest first."""

    def look_again(self) -> None:
        """Find moments that were added since, in a recording that still grows."""

    def frame(self, time_ns: int) -> Frame | None:
        """The interval that ended at one of `times`; None if it is gone or damaged."""


Condition = Filter[CounterColumn]


class TimeCursor:
    """The shown moment: now, or one of a timeline.

    Args:
        live: whether there is a now after the last moment; a recording has none.

    Attributes:
        at: ns since 1970 of the moment; None for now.
        condition: what `search` also looks for; None for nothing.
        marks: moments marked by the user.
    """

    def __init__(self, timeline: PastFrames, *, live: bool = True) -> None:
        self.timeline = timeline
        self.live = live
        self.condition: Condition | None = None
        self.marks: tuple[PastEvent, ...] = ()
        self.at: int | None = None

    @property
    def index(self) -> int:
        """Index of the moment in the timeline's times; -1 if there are none."""
        times = self.timeline.times
        return len(times) - 1 if self.at is None else max(0, bisect_right(times, self.at) - 1) if times else -1

    @property
    def events(self) -> Sequence[PastEvent]:
        """Events and the user's marks, oldest first."""
        events = self.timeline.events
        return sorted((*events, *self.marks), key=lambda event: event.time_ns) if self.marks else events

    def step(self, by: int) -> bool:
        """Step by a number of moments; true if another is shown. After the last one of a watched machine comes now."""
        return self.go_to(self.index + by)

    def go_to(self, index: int) -> bool:
        """Show the moment at an index; before the first comes the first."""
        times = self.timeline.times
        before = self.at
        if not times:
            return False
        self.at = None if self.live and index >= len(times) - 1 else times[max(0, min(len(times) - 1, index))]
        return self.at != before

    def jump(self, time_ns: int) -> bool:
        """Show the last moment that is not after a time."""
        times = self.timeline.times
        return self.go_to(max(0, bisect_right(times, time_ns) - 1)) if times else False

    def now(self) -> None:
        """Return to now; in a recording, to its end."""
        times = self.timeline.times
        self.at = None if self.live or not times else times[-1]

    def frame(self) -> Frame | None:
        """The interval that ended at the moment; None for now, and if it is gone."""
        if self.at is None:
            return None
        index = self.index
        return None if index < 0 else self.timeline.frame(self.timeline.times[index])

    def before(self, count: int) -> Sequence[int]:
        """The times of up to a number of moments before this one, and its own, oldest first."""
        index = self.index
        return self.timeline.times[max(0, index - count + 1):index + 1]

    def search(self, by: int, *, events: bool = True) -> Iterator[FoundMoment | None]:
        """Look for the next event, or the next moment at which the condition begins to hold.

        Args:
            by: 1 for later moments, -1 for earlier ones.
            events: whether an event that is nearer is found as well.

        Yields:
            None after each moment checked, so that the caller can do something else in between, and finally the result,
            if any.
        """
        times = tuple(self.timeline.times)
        here = self.index
        event = self._event(by, times[here] if 0 <= here < len(times) else 0) if events else None
        edge = None if event is None else max(0, bisect_right(times, event.time_ns) - 1)
        if self.condition is not None:
            for onset in self._onsets(self.condition, times, here, by, edge):
                yield onset
                if onset is not None:
                    return
        if event is not None and edge is not None:
            yield FoundMoment(times[edge], event.text)

    def _event(self, by: int, here_ns: int) -> PastEvent | None:
        events = self.events
        times = [event.time_ns for event in events]
        at = bisect_right(times, here_ns) if by > 0 else bisect_left(times, here_ns) - 1
        return events[at] if 0 <= at < len(events) else None

    def _onsets(self, condition: Condition, times: Sequence[int], here: int, by: int,
                edge: int | None) -> Iterator[FoundMoment | None]:
        """Moments up to the index `edge` at which a condition holds, but not at the moment before."""
        end = edge if edge is not None else len(times) - 1 if by > 0 else 0
        holds = self._holds(times[here], condition) if by > 0 and 0 <= here < len(times) else None
        later: FoundMoment | None = None  # looking back: the moment after the one being checked
        for index in range(here + by, end + by, by):
            yield None
            moment = self._holds(times[index], condition)
            if by > 0 and moment is not None and holds is None:
                yield moment
                return
            if by < 0 and moment is None and later is not None:
                yield later
                return
            holds, later = moment, moment
        if by < 0 and later is not None and end == 0:
            yield later

    def _holds(self, time_ns: int, condition: Condition) -> FoundMoment | None:
        frame = self.timeline.frame(time_ns)
        if frame is None or frame.older is None:
            return None
        row = first_row(frame, condition)
        return None if row is None else FoundMoment(time_ns, f"{condition.text} in {row_name(frame.topology, row)}")


@dataclass(frozen=True, slots=True)
class FoundMoment:
    """A moment found by a search."""

    time_ns: int  # ns since 1970
    text: str


def first_row(frame: Frame, condition: Condition) -> RowId | None:
    """The first row in which a condition holds: the whole machine, then each CPU; None if it holds nowhere."""
    for row in (SYSTEM_ROW, *frame.rows(Scope.CPU)):
        if condition.passes(row_words(frame.topology, row).lower(), _cell_of(frame, row)):
            return row
    return None


def _cell_of(frame: Frame, row: RowId) -> Callable[[CounterColumn], Value]:
    return lambda column: column.as_shown(frame.cell(column, row))


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
        """Do nothing: the list of moments is always up to date."""

    @property
    def times(self) -> Sequence[int]:
        times = () if self._ring is None else self._ring.times
        return times[1:] if times and times[0] == self._first else times

    @property
    def events(self) -> Sequence[PastEvent]:
        return () if self._ring is None else past_events(self._ring.events)

    def frame(self, time_ns: int) -> Frame | None:
        return None if self._ring is None else self._ring.frame(time_ns)


def past_events(noted: Iterable[Event | Gap]) -> Sequence[PastEvent]:
    """Events of the past as lines safe for a terminal, oldest first."""
    from turbotui.recording.stream_writer import Event  # noqa: PLC0415 - as above

    texts = [(event.wall_ns, event.text if isinstance(event, Event) else _in_words(event)) for event in noted]
    events = [PastEvent(time_ns, as_sentence(one_line(text))) for time_ns, text in texts]
    return sorted(events, key=lambda event: event.time_ns)


def _in_words(gap: Gap) -> str:
    seconds, frames = age(abs(gap.seconds)), f"{gap.frames:,} interval{'s' * (gap.frames != 1)}"
    return {
        "missed": f"{frames} left out: a reading took too long",
        "suspend": f"the machine was suspended for {seconds}",
        "clock": f"the clock was set {'back' if gap.seconds < 0 else 'forward'} by {seconds}",
        "lost": f"{frames} lost: a reader was too slow",
    }.get(gap.reason, gap.reason)
