"""The widget of the overview: lines of which those that changed are drawn, with a cursor on their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.message import Message

from turbotui.dataclass import dataclass
from turbotui.widgets.painter import merged
from turbotui.widgets.panel import Line, Target
from turbotui.widgets.segment_lines import SegmentLines


@dataclass(frozen=True, slots=True)
class CellPlace:
    """Where a cell is drawn."""

    x: int
    y: int
    width: int
    target: Target


def places_of(lines: Sequence[Line]) -> list[CellPlace]:
    """Where cells are drawn, from the top left on; neighbours of one target are one place."""
    found: list[CellPlace] = []
    for y, line in enumerate(lines):
        x = 0
        for span in line:
            if span.target is not None:
                last = found[-1] if found else None
                if last is not None and last.y == y and last.target == span.target and last.x + last.width == x:
                    found[-1] = CellPlace(last.x, y, last.width + len(span.text), span.target)
                else:
                    found.append(CellPlace(x, y, len(span.text), span.target))
            x += len(span.text)
    return found


def nearest(places: Sequence[CellPlace], here: CellPlace, across: int, down: int) -> CellPlace | None:
    """The next place in a direction: on the same line across, else on the nearest line that has one.

    Args:
        places: all of them.
        here: where one is.
        across: -1 for left, 1 for right, 0 for neither.
        down: -1 for up, 1 for down, 0 for neither.
    """
    best: tuple[float, CellPlace] | None = None
    for place in places:
        dx, dy = place.x - here.x, place.y - here.y
        if (across and (dx * across <= 0 or dy)) or (down and dy * down <= 0) or place.target == here.target:
            continue
        distance = abs(dx) if across else abs(dy) * 1000.0 + abs(dx)
        if best is None or distance < best[0]:
            best = distance, place
    return None if best is None else best[1]


class OverviewLines(SegmentLines):
    """Lines that are made for the widget's size; clicks are told with their places."""

    DEFAULT_CSS = "OverviewLines { height: 1fr; }"

    @dataclass()
    class Clicked(Message):
        """A place was clicked, so many times."""

        x: int
        y: int
        times: int

    def __init__(self, resized: Callable[[], None], *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._resized = resized
        self.lines: Sequence[Line] = ()

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show these lines."""
        self.lines = lines
        self.show([merged([(span.text, span.role) for span in line]) for line in lines])

    def on_resize(self) -> None:
        """Have the lines made for the new size."""
        super().on_resize()  # before they are made: Textual runs the base's handler by itself too, but after this one
        self._resized()

    async def on_click(self, event: events.Click) -> None:
        """Tell the screen."""
        self.post_message(self.Clicked(event.x, event.y, event.chain))
