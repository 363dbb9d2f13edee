"""The time bar: which moment is shown, of how long a time, and what happened then. Nothing here knows Textual."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from turbotui.dataclass import dataclass
from turbotui.quantities.moments import NS, age, time_of_day
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment

_LINE, _EVENT, _HERE = "─", "┴", "●"
_LEAST = 16
"""Characters of a line below which there is none."""


@dataclass(frozen=True, slots=True)
class Moments:
    """The contents of a time bar.

    Attributes:
        times: of the moments that can be shown, in ns since 1970, oldest first.
        events: times of what happened.
        at: the moment that is shown.
        last: the end of the line: now, or the end of a recording.
        live: whether the end of the line is now.
        state: of a replay that plays ("▶ 2x"); "" for none.
        note: what follows the age: what happened at the moment.
    """

    times: Sequence[int]
    events: Sequence[int]
    at: int
    last: int
    live: bool
    state: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class TimeBar:
    """The bar as text.

    Attributes:
        segments: of the whole line.
        start: where the line begins, in characters.
        size: characters of the line; 0 where there is no room for one.
    """

    segments: Sequence[TextSegment]
    start: int
    size: int


def time_bar(moments: Moments, width: int) -> TimeBar:
    """The time bar as segments of so many characters."""
    times = moments.times
    first, last = (times[0] if times else moments.at), max(moments.last, moments.at)
    ago = (moments.last - moments.at) / NS
    word = f"PAST {age(ago)} ago" if moments.live else moments.state or "RECORDED"
    left = f" {word} · {time_of_day(moments.at)}{_step(times, moments.at)} "
    right = f" {time_of_day(last)} {'now ' if moments.live else ''}"
    note = f"{moments.note} " if moments.note else ""
    size = width - len(left) - len(right) - len(note)
    if size < _LEAST:
        note = ""
        size = width - len(left) - len(right)
    if size < _LEAST:
        return TimeBar([(left[:width].ljust(width), StyleRole.AMBER)], 0, 0)
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
    """The character of a line of `size` characters from `first` to `last` at which a time stands."""
    return 0 if last <= first else max(0, min(size - 1, (time_ns - first) * (size - 1) // (last - first)))


def time_at(place: int, first: int, last: int, size: int) -> int:
    """The time at a character of that line."""
    return first if size < 2 else first + (last - first) * max(0, min(size - 1, place)) // (size - 1)


def _step(times: Sequence[int], at: int) -> str:
    """How far apart moments are here, where that is more than a second: older ones are kept at longer steps."""
    index = bisect_right(times, at) - 1
    if index < 1:
        return ""
    seconds = (times[index] - times[index - 1]) / NS
    return f" by {age(seconds)}" if seconds >= 1.5 else ""
