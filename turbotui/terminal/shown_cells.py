"""What the terminal shows, cell by cell, so that an update sends only cells that changed.

Widgets draw whole lines: a line in which one digit changed was sent with all of its colours, 20 to 30 kB a second on
most screens (htop: 4.6), which ssh, tmux and a browser's tab have to carry and parse. An update is compared with the
cells here, and what is left of it names colours only where they change.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from turbotui.cell_widths import are_single_cells, cell_count

if TYPE_CHECKING:
    from rich.style import Style

Words = Sequence[tuple[str, "Style | None"]]
"""Segments of a line, as `StyledStrip` has them."""

_PART: Final = re.compile(r"(?:\x1b\[([?0-9;]*)([Hmhl]))?([^\x1b]*)(\x1b\[0m)?")
"""A position (CUP), a style (SGR) or an end of a synchronized update (2026); its text; and the end of the style."""
_UNKNOWN: Final = "\0"
_BRIDGED: Final = 3  # unchanged cells that are sent again between two changed ones: moving the cursor takes 4 bytes
_FOREGROUND: Final = frozenset((*range(30, 40), *range(90, 98)))
_BACKGROUND: Final = frozenset((*range(40, 50), *range(100, 108)))
_EXTENDED: Final = {"2": 5, "5": 3}  # numbers of a colour after 38 or 48, by the second one (ECMA-48; ISO 8613-6)
_START: Final = "\x1b[?2026h"
_END: Final = "\x1b[?2026l"


class ShownCells:
    """The cells of a terminal as far as they are known: characters, and the parameters of SGR that they have.

    The table of 224 simulated CPUs, 160x50, sends 8.5 kB a second, and 21.7 if every cell of a drawn line counts as
    changed; the process takes as much CPU time either way (7.8 %; November 2026). A terminal at the end of a line of
    ssh draws the difference.
    """

    def __init__(self) -> None:
        self._lines: dict[int, _Line] = {}
        self._rest = ""

    def forget(self) -> None:
        """Take every cell as unknown: something else may have written, or an update was lost."""
        self._lines.clear()
        self._rest = ""

    def changes(self, update: str) -> str:
        """The shortest update that leads to the same picture; "" if the terminal shows it already.

        An update with anything else than positions, styles and printable text behind a position is returned as it is,
        and all cells are unknown after it.
        """
        pen, line, rest = _Pen(), None, ""
        x = y = known = 0
        for parameters, final, words, end in _PART.findall(update):
            style = ""
            if final == "m" and parameters not in {"", "0"}:
                if not end:  # a second style would add to this one
                    break
                style = parameters
            elif final == "H":
                row, _, column = parameters.partition(";")
                y, x = int(row or 1), int(column or 1) - 1
                line = self._lines.setdefault(y, _Line())
                line.drawn.clear()
                rest = "" if words else f"\x1b[{parameters}H"
            elif final and parameters != "?2026":
                break
            known += bool(final) + bool(end)
            ended = words.endswith("\n")  # `LayoutUpdate` ends lines so, and begins each by its position
            text = words[:-1] if ended else words
            if text:
                if line is None or not text.isprintable():
                    break
                x += line.write(pen, y, x, text, style)
                rest = ""
            if ended:
                line = None
        else:
            if known == update.count("\x1b"):
                return self._complete(pen, update, rest)
        self.forget()
        return update

    def changes_of(self, lines: Iterable[tuple[int, int, Words]], sgr: Callable[[Style | None], str]) -> str:
        """The shortest update that draws lines; segments that are where they were cost little.

        Args:
            lines: the line and the cell at which each begins, counted from 0, and its segments.
            sgr: the parameters that a style has; "" for none.
        """
        pen = _Pen()
        for y, x, words in lines:
            self._lines.setdefault(y + 1, _Line()).draw(pen, y + 1, x, words, sgr)
        if not pen.words:
            return ""
        self._rest = ""
        return "".join((*pen.words, "\x1b[0m" if pen.style else ""))

    def _complete(self, pen: _Pen, update: str, rest: str) -> str:
        if not pen.words and rest == self._rest:
            return ""
        self._rest = rest
        return "".join((_START if update.startswith(_START) else "", *pen.words, "\x1b[0m" if pen.style else "", rest,
                        _END if update.endswith(_END) else ""))


class _Line:
    """The cells of one line.

    Attributes:
        drawn: segments that were drawn from a cell on, and the cell at which each begins, with that behind the last.
    """

    def __init__(self) -> None:
        self.drawn: dict[int, tuple[Words, Sequence[int]]] = {}
        self._text = ""
        self._styles: list[str] = []

    def draw(self, pen: _Pen, y: int, x: int, words: Words, sgr: Callable[[Style | None], str]) -> None:
        """Write what changes by segments from a cell on."""
        before, starts = self.drawn.get(x, ((), (x,)))
        if len(before) == len(words):
            changed = [place for place, (old, new) in enumerate(zip(before, words, strict=True)) if old != new]
            if all(cell_count(words[place][0]) == starts[place + 1] - starts[place] for place in changed):
                for place in changed:
                    text, style = words[place]
                    self.write(pen, y, starts[place], text, sgr(style))
                self.drawn[x] = words, starts
                return
        starts = [x]
        for text, style in words:
            starts.append(starts[-1] + self.write(pen, y, starts[-1], text, sgr(style)))
        self.drawn = {at: other for at, other in self.drawn.items() if other[1][-1] <= x or starts[-1] <= at}
        self.drawn[x] = words, starts

    def write(self, pen: _Pen, y: int, x: int, text: str, style: str) -> int:
        """Write what changes by a text of one style, from a cell on, and return how many cells the text takes."""
        single = are_single_cells(text)
        count = len(text) if single else cell_count(text)
        end = x + count
        if len(self._text) < end:
            missing = end - len(self._text)
            self._text += _UNKNOWN * missing
            self._styles += [_UNKNOWN] * missing
        if not single:  # wide and combining characters are always sent: a cell may have a half of one
            self._text = self._text[:x] + _UNKNOWN * count + self._text[end:]
            pen.write(y, x, text, style, count)
            pen.lift()  # terminals differ in what such a text takes
            return count
        before, styles = self._text[x:end], self._styles[x:end]
        same = styles.count(style)
        alike = same == count
        if alike and before == text:
            return count
        if not alike:
            self._styles[x:end] = [style] * count
        self._text = self._text[:x] + text + self._text[end:]
        if count <= _BRIDGED or not same:
            pen.write(y, x, text, style, count)
            return count
        if alike:
            changed = [place for place, (old, new) in enumerate(zip(before, text, strict=True)) if old != new]
        else:
            changed = [place for place, (old, new, style_before) in enumerate(zip(before, text, styles, strict=True))
                       if old != new or style_before != style]
        for first, last in _runs(changed):
            pen.write(y, x + first, text[first:last], style, last - first)
        return count


class _Pen:
    """The words of an update, the position behind them, and the style that the terminal writes in."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.style = ""
        self._y = self._x = 0

    def write(self, y: int, x: int, text: str, style: str, count: int) -> None:
        if y != self._y or x < self._x:
            self.words.append(f"\x1b[{y};{x + 1}H")
        elif x > self._x:
            self.words.append(f"\x1b[{x - self._x}C")
        if style != self.style:
            self.words.append(_turned(self.style, style))
            self.style = style
        self.words.append(text)
        self._y, self._x = y, x + count

    def lift(self) -> None:
        self._y = 0


def _runs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The start and end of each run of places, across gaps that are cheaper to write than to skip."""
    start = last = places[0]
    for place in places:
        if place - last > _BRIDGED + 1:
            yield start, last + 1
            start = place
        last = place
    yield start, last + 1


@functools.lru_cache(4096)
def _turned(before: str, after: str) -> str:
    """The sequence that leads from one style to another: only what differs."""
    old, new = _parts(before), _parts(after)
    if not after or old[0] != new[0]:
        return f"\x1b[0;{after}m" if before and after else f"\x1b[{after}m"
    words = [new[place] or default for place, default in ((1, "39"), (2, "49")) if old[place] != new[place]]
    return f"\x1b[{';'.join(words)}m"


@functools.lru_cache(1024)
def _parts(style: str) -> tuple[str, str, str]:
    """Parameters of SGR apart: attributes such as bold, the foreground, the background."""
    parts = ["", "", ""]
    numbers = style.split(";") if style else []
    while numbers:
        number = int(numbers[0] or 0)
        size = _EXTENDED.get(numbers[1], 1) if number in {38, 48} and len(numbers) > 1 else 1
        kind = 1 if number in _FOREGROUND else 2 if number in _BACKGROUND else 0
        words = ";".join(numbers[:size])
        parts[kind] = words if kind else f"{parts[0]};{words}"
        del numbers[:size]
    return parts[0], parts[1], parts[2]
