"""Differences between cells and those of a marked frame, always with a sign. Nothing here knows Textual."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple

from turbotui.cell_widths import cut, flush_left, flush_right
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.moments import time_of_day
from turbotui.sampling.frame import Frame
from turbotui.widgets.cells import TOO_WIDE, UNKNOWN, in_words, narrowed, number

SAME = "±0"


def difference(column: Column[Any], now: Value, then: Value) -> Value:
    """How much a number has grown since the mark; texts and ids are unchanged; None if one value is unknown."""
    if isinstance(now, str) or column.decimals < 0:
        return now
    if now is None or then is None or isinstance(then, str):
        return None
    return now - then


def difference_text(column: Column[Any], value: Value, width: int) -> str:
    """A difference at its column's width: "+12.30", "-4", "±0"; unknown as a dash."""
    if isinstance(value, str):
        return flush_left(cut(value, width), width)
    if value is None:
        return flush_right(UNKNOWN, width)
    if column.shown is not None:
        value *= column.shown.factor
    decimals = column.decimals_of(value)
    text = column.tiny(abs(value)) or number(abs(value), decimals, width - 1)
    if not any(sign in "123456789" for sign in text):
        is_same = width > column.width or not round(value, decimals)
        return flush_right(SAME, width) if is_same else TOO_WIDE * width
    if narrowed(text, value, column, width - 1) != text:
        return TOO_WIDE * width
    return flush_right(f"{'-' if value < 0 else '+'}{text}", width)


def difference_in_words(column: Column[Any], now: Value, then: Value) -> str:
    """A difference for use in a sentence: "+12.30 % (from 85.00 % to 97.30 %)"."""
    value = difference(column, now, then)
    words = f"(from {in_words(column, then)} to {in_words(column, now)})"
    if value is None or isinstance(value, str):
        return words
    sign = "-" if value < 0 else "+" if value > 0 else "±"
    if column.shown is not None:  # a difference has no offset
        column = replace(column, shown=replace(column.shown, offset=0.0))
    return f"{sign}{in_words(column, abs(value))} {words}"


class MarkedMoment(NamedTuple):
    """The time with which cells are compared: without its frame, of which a screen keeps the compared cells."""

    seq: int  # the number of its last interval
    wall_ns: int  # its end, ns since 1970
    seconds: float  # its length

    @property
    def words(self) -> str:
        """The time in words, in the time zone of the other times on the screen."""
        return f"the {self.seconds:.{int(self.seconds < _LONG)}f} s before {time_of_day(self.wall_ns)}"


_LONG: Final = 10.0
"""Seconds from which a time has no decimals."""


def marked_moment(frame: Frame) -> MarkedMoment:
    """The time of a frame."""
    seconds = (0 if frame.older is None else frame.newer.started_ns - frame.older.started_ns) / 1e9
    return MarkedMoment(frame.seq, frame.newer.wall_ns, seconds)
