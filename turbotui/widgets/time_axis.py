"""A time axis: the visible times, their positions, and those that are written. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.moments import NS, local_time
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment, merged

_LINE, _TIME, _EVENT, _CURSOR = "─", "┬", "┴", "▲"
_NOW: Final = "now"
_APART: Final = 2
"""Minimum characters between two written times."""
_DAY: Final = 86_400 * NS
_HOUR: Final = 3_600 * NS
_MINUTE: Final = 60 * NS
_STEPS: Final = (
    *(NS // part for part in (10, 5, 2, 1)), *(NS * step for step in (2, 5, 10, 15, 30)),
    *(_MINUTE * step for step in (1, 2, 5, 10, 15, 30)), *(_HOUR * step for step in (1, 2, 3, 6, 12)),
    *(_DAY * step for step in (1, 2, 7, 14, 28, 91, 365, 3650)),
)
"""Possible distances between written times, in ns."""


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A stretch of time, drawn from left to right."""

    first: int  # its beginning, in ns since 1970
    last: int  # its end, later than `first`

    @property
    def length(self) -> int:
        """Nanoseconds from end to end."""
        return self.last - self.first

    def place(self, end: int, size: int) -> int:
        """Which of `size` places from left to right contains the end of an interval; the nearest one if outside."""
        return max(0, min(size - 1, -((self.first - end) * size // self.length) - 1))

    def time(self, place: int, size: int) -> int:
        """The end of a place: the inverse of `place`."""
        return self.first + self.length * (place + 1) // size

    def moved(self, by: int) -> TimeSpan:
        """A span of the same length, shifted by a number of ns."""
        return TimeSpan(self.first + by, self.last + by)

    def zoomed(self, factor: float, around: int, least: int, most: int) -> TimeSpan:
        """A longer or shorter span in which one moment keeps its place.

        Args:
            factor: of the length.
            least: ns of the shortest span.
            most: ns of the longest one.
        """
        length = max(1, least, min(most, round(self.length * factor)))
        before = (around - self.first) * length // self.length
        return TimeSpan(around - before, around - before + length)

    def holding(self, moment: int, whole: TimeSpan) -> TimeSpan:
        """Move no further than needed to show an interval that ended at a moment, with some time around it.

        Args:
            whole: everything that can be shown; the result does not extend past its end, nor before its start if it is
                long enough.
        """
        room = self.length // 10
        span = self
        if moment - room < span.first:
            span = span.moved(moment - room - span.first)
        elif moment + room > span.last:
            span = span.moved(moment + room - span.last)
        if span.first < whole.first:
            span = span.moved(whole.first - span.first)
        return span.moved(min(0, whole.last - span.last))


@dataclass(frozen=True, slots=True)
class AxisTime:
    """A written time."""

    time_ns: int
    label: str


def round_times(span: TimeSpan, width: int) -> Sequence[AxisTime]:
    """Round times of a span, as many as are readable in this many characters: whole seconds, minutes or hours."""
    for step in _STEPS:
        if step * width // span.length >= len(_label(span.first, step)) + _APART:
            break
    offset = _offset(span.first)
    at = -(-(span.first + offset) // step) * step - offset
    times: list[AxisTime] = []
    while at <= span.last:
        times.append(AxisTime(at, _label(at, step)))
        at += step
    return times


def _offset(time_ns: int) -> int:
    """The offset of local time from UTC, in ns."""
    offset = local_time(time_ns).utcoffset()
    return 0 if offset is None else round(offset.total_seconds()) * NS


def _label(time_ns: int, step: int) -> str:
    when = local_time(time_ns)
    if step < NS:
        return f"{when:%H:%M:%S}.{time_ns % NS * 10 // NS}"
    if step < _MINUTE:
        return f"{when:%H:%M:%S}"
    if step >= _DAY or (step >= _HOUR and when.hour == 0):
        return f"{when:%m-%d}"
    return f"{when:%H:%M}"


def axis_lines(span: TimeSpan, width: int, events: Sequence[int], cursor: int, *,
               now: bool) -> list[list[TextSegment]]:
    """The axis below a picture, and the times below the axis.

    Args:
        events: times of what happened.
        now: whether the span ends now.

    Returns:
        Two lines of `width` characters.
    """
    line: list[TextSegment] = [(_LINE, StyleRole.RULE)] * width
    labels = [" "] * width
    if now and width >= len(_NOW):
        labels[width - len(_NOW):] = _NOW
    free = 0
    for written in round_times(span, width):
        place = span.place(written.time_ns, width)
        line[place] = _TIME, StyleRole.DIM
        start = min(max(0, place - len(written.label) // 2), width - len(written.label))
        end = start + len(written.label)
        if free <= start and not "".join(labels[start:end + 1]).strip():
            labels[start:end] = written.label
            free = end + 1
    for event in events:
        if span.first <= event <= span.last:
            line[span.place(event, width)] = _EVENT, StyleRole.AMBER
    line[span.place(cursor, width)] = _CURSOR, StyleRole.KEY
    return [merged(line), [("".join(labels), StyleRole.DIM)]]
