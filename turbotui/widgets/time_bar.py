"""The time bar: the shown moment, the time that can be shown, and its events. Nothing here knows Textual."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from turbotui.cell_widths import flush_left
from turbotui.dataclass import dataclass
from turbotui.quantities.moments import NS, age, time_of_day
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment

_LINE, _EVENT, _HERE = "─", "┴", "●"
_LEAST = 16
"""Minimum characters of a line."""


@dataclass(frozen=True, slots=True)
class Moments:
    """The contents of a time bar."""

    times: Sequence[int]  # moments that can be shown, in ns since 1970, oldest first
    events: Sequence[int]  # times of events
    at: int
    last: int  # the end of the line: the present, or the end of a recording
    live: bool  # whether the end of the line is the present
    state: str = ""  # of a replay that plays ("▶ 2x"); "" for none
    note: str = ""  # text after the age: what happened at the moment


@dataclass(frozen=True, slots=True)
class TimeBar:
    """The bar as text."""

    segments: Sequence[TextSegment]
    start: int  # where the line begins, in characters
    size: int  # characters of the line; 0 if there is no room


def time_bar(moments: Moments, width: int) -> TimeBar:
    """The time bar as segments of a number of characters."""
    times = moments.times
    first, last = (times[0] if times else moments.at), max(moments.last, moments.at)
    word = f"PAST {age((moments.last - moments.at) / NS)} ago" if moments.live else moments.state or "RECORDED"
    left = f" {word} · {time_of_day(moments.at)}{_step(times, moments.at)} "
    right = f" {time_of_day(last)} {'now: Esc ' if moments.live else ''}"
    note = f"{moments.note} " if moments.note else ""
    size = width - len(left) - len(right) - len(note)
    if size < _LEAST:
        note = ""
        size = width - len(left) - len(right)
    if size < _LEAST:
        return TimeBar([(flush_left(left[:width], width), StyleRole.AMBER)], 0, 0)
    line = [_LINE] * size
    for event in moments.events:
        if first <= event <= last:
            line[place_of(event, first, last, size)] = _EVENT
    here = place_of(moments.at, first, last, size)
    return TimeBar([
        (left, StyleRole.AMBER), ("".join(line[:here]), StyleRole.RULE), (_HERE, StyleRole.AMBER),
        ("".join(line[here + 1:]), StyleRole.RULE), (right, StyleRole.DIM), (note, StyleRole.KEY),
    ], len(left), size)


def place_of(time_ns: int, first: int, last: int, size: int) -> int:
    """The character of a time on a line of `size` characters from `first` to `last`."""
    return 0 if last <= first else max(0, min(size - 1, (time_ns - first) * (size - 1) // (last - first)))


def time_at(place: int, first: int, last: int, size: int) -> int:
    """The time at a character of that line."""
    return first if size < 2 else first + (last - first) * max(0, min(size - 1, place)) // (size - 1)


def _step(times: Sequence[int], at: int) -> str:
    """The distance between moments here, if more than a second: older moments are kept at a lower resolution."""
    index = bisect_right(times, at) - 1
    if index < 1:
        return ""
    seconds = (times[index] - times[index - 1]) / NS
    return f" by {age(seconds)}" if seconds >= 1.5 else ""
