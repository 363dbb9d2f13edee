"""Find the title or right border of a column under the mouse. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Sequence

from turbotui.dataclass import dataclass
from turbotui.widgets.cells import Slot


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a slot at its position."""

    slot: Slot
    start: int  # the character of the mark before it

    @property
    def end(self) -> int:
        """The character after the title, where the mouse grabs the border to change the width."""
        return self.start + self.slot.outer


def heading_at(headings: Sequence[Heading], x: int) -> Heading | None:
    """The title under a character."""
    return next((heading for heading in headings if heading.start <= x < heading.end), None)


def border_at(headings: Sequence[Heading], x: int) -> Heading | None:
    """The title whose right border is under a character, between its end and the blank before the next title."""
    for at, heading in enumerate(headings):
        following = headings[at + 1].start if at + 1 < len(headings) else heading.end
        if heading.end <= x <= following and not heading.slot.spark:
            return heading
    return None


@dataclass()
class Drag:
    """The part of the titles that the mouse drags."""

    heading: Heading
    is_border: bool
    pressed: int  # the character at which the button went down
    is_moved: bool = False  # whether the mouse has moved since

    def width(self, x: int) -> int:
        """The column's width if its border were at a character."""
        return self.heading.slot.width + x - self.pressed
