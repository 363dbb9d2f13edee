"""A canvas of characters with braille dots, texts and marks, each with a role. Nothing here knows Textual.

Coordinates run from 0 at the left and the bottom to 1 at the right and the top; anything outside is not drawn.
"""

from __future__ import annotations

from typing import TypeAlias

from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment

DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of Unicode block U+2800 by line and column within a character (The Unicode Standard, 21.1)."""


Place: TypeAlias = tuple[float, float]


def clip(start: Place, end: Place) -> tuple[Place, Place] | None:
    """The part of a line between 0 and 1 on both axes; None if there is none (the method of Liang and Barsky)."""
    first, last = 0.0, 1.0
    for at in (0, 1):
        step = end[at] - start[at]
        if step == 0:
            if not 0 <= start[at] <= 1:
                return None
            continue
        near, other = (0 - start[at]) / step, (1 - start[at]) / step
        first, last = max(first, min(near, other)), min(last, max(near, other))
    if first > last:
        return None

    def along(share: float) -> Place:
        ends = (start[at] + share * (end[at] - start[at]) for at in (0, 1))
        x, y = (min(1.0, max(0.0, value)) for value in ends)
        return x, y

    return along(first), along(last)


class Canvas:
    """A canvas of `width` times `height` characters: lines are drawn below texts, and texts below marks."""

    def __init__(self, width: int, height: int) -> None:
        self.width = max(1, width)
        self.height = max(1, height)
        self._dots: list[list[int]] = [[0] * self.width for _ in range(self.height)]
        self._roles: list[list[StyleRole]] = [[StyleRole.PLAIN] * self.width for _ in range(self.height)]
        self._chars: list[dict[int, TextSegment]] = [{} for _ in range(self.height)]
        self._texts: list[set[int]] = [set() for _ in range(self.height)]  # columns of texts, without their blanks

    def copy(self) -> Canvas:
        """A copy to draw over."""
        other = Canvas.__new__(Canvas)
        other.width, other.height = self.width, self.height
        other._dots = [line[:] for line in self._dots]  # noqa: SLF001 - of the same class
        other._roles = [line[:] for line in self._roles]  # noqa: SLF001 - as above
        other._chars = [dict(line) for line in self._chars]  # noqa: SLF001 - as above
        other._texts = [set(line) for line in self._texts]  # noqa: SLF001 - as above
        return other

    def cell(self, x: float, y: float) -> tuple[int, int] | None:
        """The column and line of a place; None outside the canvas."""
        if not (0.0 <= x <= 1.0 and 0.0 <= y <= 1.0):
            return None
        return min(self.width - 1, int(x * self.width)), self.height - 1 - min(self.height - 1, int(y * self.height))

    def line(self, start: tuple[float, float], end: tuple[float, float], role: StyleRole) -> None:
        """Draw a straight line, as far as it is inside the canvas."""
        if (inside := clip(start, end)) is None:
            return
        start, end = inside
        across, down = self.width * 2 - 1, self.height * 4 - 1
        x0, y0, x1, y1 = start[0] * across, (1 - start[1]) * down, end[0] * across, (1 - end[1]) * down
        steps = max(1, round(max(abs(x1 - x0), abs(y1 - y0))))
        for step in range(steps + 1):
            x = round(x0 + (x1 - x0) * step / steps)
            y = round(y0 + (y1 - y0) * step / steps)
            self._dots[y // 4][x // 2] |= DOTS[y % 4][x % 2]
            self._roles[y // 4][x // 2] = role

    def text(self, column: int, line: int, text: str, role: StyleRole) -> bool:
        """Draw a text if its place is free; false, with nothing drawn, if it is not."""
        if not 0 <= line < self.height or column < 0 or column + len(text) > self.width:
            return False
        row = self._chars[line]
        if any(at in row for at in range(column - 1, column + len(text) + 1)):
            return False
        for at, char in enumerate(text, start=column):
            row[at] = (char, role)
        self._texts[line].update(at for at, char in enumerate(text, start=column) if char != " ")
        return True

    def mark(self, column: int, line: int, char: str, role: StyleRole) -> None:
        """Draw a single character over anything."""
        self._chars[line][column] = (char, role)

    def draw_char(self, column: int, line: int, char: str, role: StyleRole) -> None:
        """Draw a single character, but not over a text, of which half a number would be another number."""
        if column not in self._texts[line]:
            self._chars[line][column] = (char, role)

    def segments(self, line: int) -> list[TextSegment]:
        """The segments of one line, with neighbours of one role merged."""
        segments: list[TextSegment] = []
        dots, roles, chars = self._dots[line], self._roles[line], self._chars[line]
        text, role = "", StyleRole.PLAIN
        for at in range(self.width):
            if at in chars:
                char, here = chars[at]
            elif dots[at]:
                char, here = chr(0x2800 + dots[at]), roles[at]
            else:
                char, here = " ", StyleRole.PLAIN if role is StyleRole.CELL else role  # the cursor has a background
            if here is not role and text:
                segments.append((text, role))
                text = ""
            text += char
            role = here
        if text:
            segments.append((text, role))
        return segments
