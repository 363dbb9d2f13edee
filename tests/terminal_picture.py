"""A terminal's screen as a model: what a program has drawn, whichever cells its last update had to send for that."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from typing import Final

from rich.cells import cell_len

Cell = tuple[str, tuple[str, str, str]]
"""A character with what is combined with it, and the attributes, foreground and background that it is written in."""
_TOKEN: Final = re.compile(r"\x1b(?:\[([0-?]*)[ -/]*([@-~])|[\]PX^_].*?(?:\x07|\x1b\\)|[()#%][ -~]|[^\[\]PX^_()#%])"
                           r"|([\x20-\x7e]+|[^\x1b])", re.DOTALL)
"""A control sequence, a control string, another escape sequence, or characters (ECMA-48, 5.3 to 5.6)."""
_PLAIN: Final = ("", "", "")
_BLANK: Final[Cell] = " ", _PLAIN
_COLOUR: Final = re.compile(r"[34]8;(?:2;\d+;\d+;\d+|5;\d+)|\d+")


class TerminalPicture:
    """The cells of a screen as tall and wide as what is written on it.

    It knows the control functions that the dashboard, its opening and a shell write; what it does not know moves and
    clears nothing.
    """

    def __init__(self) -> None:
        self.rows: dict[int, dict[int, Cell]] = {}
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""
        self._style = _PLAIN
        self._y = self._x = 1
        self._alternate = False
        self._touched: set[int] = set()

    def feed(self, data: bytes) -> str:
        """Draw output; returns the lines that it wrote on, as they are now, each whole."""
        text, end = self._rest + self._decode(data), 0
        self._touched = set()
        while match := _TOKEN.match(text, end):
            end = match.end()
            if match[3] is not None:
                self._put(match[3])
            elif match[2] is not None:
                self._control(match[1], match[2])
        self._rest = text[end:]
        return "\n".join(self.line(y) for y in sorted(self._touched))

    def line(self, y: int) -> str:
        """The text of a line, counted from 1, up to its last character."""
        cells = self.rows.get(y, {})
        return "".join(cells.get(x, _BLANK)[0] for x in range(1, max(cells, default=0) + 1))

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self.line(y) for y in range(1, max(self.rows, default=0) + 1))

    def _put(self, text: str) -> None:
        if text == "\r":
            self._x = 1
        elif text == "\n":
            self._y += 1
        elif text == "\b":
            self._x = max(1, self._x - 1)
        elif text >= " ":
            row = self.rows.setdefault(self._y, {})
            self._touched.add(self._y)
            for character in text:
                width = 1 if character.isascii() else cell_len(character)
                if width:
                    row[self._x] = character, self._style
                else:
                    combined, style = row.get(self._x - 1, _BLANK)
                    row[self._x - 1] = combined + character, style
                if width == 2:
                    row[self._x + 1] = "", self._style
                self._x += width

    def _control(self, parameters: str, final: str) -> None:
        """CUP, CUF, ED, EL, SGR, and xterm's alternate screen, which is empty when it is come to."""
        if final == "H":
            row, _, column = parameters.partition(";")
            self._y, self._x = int(row or 1), int(column or 1)
        elif final == "C":
            self._x += int(parameters or 1)
        elif final == "J":
            self._clear_line()
            self.rows = {} if parameters == "2" else {y: row for y, row in self.rows.items() if y <= self._y}
        elif final == "K":
            self._clear_line()
        elif final in "hl" and parameters == "?1049":
            if self._alternate != (final == "h"):
                self.rows.clear()
            self._alternate = final == "h"
        elif final == "m" and not parameters.startswith(("<", "=", ">", "?")):
            self._turn(parameters)

    def _clear_line(self) -> None:
        row = self.rows.get(self._y, {})
        self.rows[self._y] = {x: cell for x, cell in row.items() if x < self._x}

    def _turn(self, parameters: str) -> None:
        """SGR: attributes add up until a 0, colours replace each other (ECMA-48, 8.3.117)."""
        attributes, front, back = self._style
        for word in _COLOUR.findall(parameters) or ["0"]:
            number = int(word.partition(";")[0])
            if number == 0:
                attributes = front = back = ""
            elif 30 <= number < 40 or 90 <= number < 98:
                front = "" if number == 39 else word
            elif 40 <= number < 50 or 100 <= number < 108:
                back = "" if number == 49 else word
            else:
                attributes = ";".join(sorted({*filter(None, attributes.split(";")), word}))
        self._style = attributes, front, back
