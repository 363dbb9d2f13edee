"""Text by the cells of a terminal: wide characters take two of them, combining ones none.

Names of tasks, groups, devices, machines and files have any characters. Whatever stands in a column is cut and padded
here; .ci/text_numbers.py, a plugin of mypy, refuses `ljust`, `rjust`, `center` and widths of format strings on text
elsewhere.
"""

from __future__ import annotations

import functools
import re
from typing import Final

_ELLIPSIS: Final = "…"
_SINGLE: Final = "[^\x20-\x7e\xa0-\u02ff\u2010-\u2027\u2190-\u2193\u2500-\u25fc\u2713-\u2718\u2800-\u28ff]"
"""Matches what may not take one cell: lines of a screen have blocks, rules, arrows and ticks beside ASCII."""


def cell_count(text: str) -> int:
    """The number of cells that a text takes, without line breaks and control characters."""
    if are_single_cells(text):
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 - 13 ms, and most texts are plain

    return cell_len(text)


def are_single_cells(text: str) -> bool:
    """Whether each character is known to take one cell."""
    return text.isascii() or _single().search(text) is None


def flush_left(text: str, width: int) -> str:
    """A text with blanks behind it up to a number of cells; a longer one stays as it is."""
    return text.ljust(width) if text.isascii() else text + " " * (width - cell_count(text))


def flush_right(text: str, width: int, fill: str = " ") -> str:
    """A text behind blanks, or another character of one cell, up to a number of cells; a longer one stays as it is."""
    return text.rjust(width, fill) if text.isascii() else fill * (width - cell_count(text)) + text


def centred(text: str, width: int, fill: str = " ") -> str:
    """A text amid blanks, or another character of one cell, up to a number of cells; a longer one stays as it is."""
    if text.isascii():
        return text.center(width, fill)
    spare = max(0, width - cell_count(text))
    before = spare // 2 + (spare & width & 1)  # as str.center divides them
    return fill * before + text + fill * (spare - before)


def begin_of(text: str, width: int) -> str:
    """As many whole characters from the beginning of a text as fit into a number of cells."""
    if text.isascii() or cell_count(text) <= width:
        return text[:max(0, width)] if text.isascii() else text
    low, high = 0, len(text)
    while low < high:  # the longest beginning that fits: a longer one is never narrower
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cell_count(text[:middle]) <= width else (low, middle - 1)
    return text[:low]


def cut(text: str, width: int) -> str:
    """A text of at most this many cells; a cut text ends in an ellipsis."""
    return text if cell_count(text) <= width else begin_of(begin_of(text, width - 1) + _ELLIPSIS, width)


def fitted(text: str, width: int) -> str:
    """A text of exactly this many cells: its beginning, with blanks behind it."""
    return flush_left(begin_of(text, width), width)


@functools.cache
def _single() -> re.Pattern[str]:
    return re.compile(_SINGLE)
