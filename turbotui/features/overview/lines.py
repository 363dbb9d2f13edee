"""The widget of the overview: lines of which those that changed are drawn, with a cursor on their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from turbotui.dataclass import dataclass
from turbotui.widgets.direct import draw_lines
from turbotui.widgets.painter import TextSegment, merged
from turbotui.widgets.panel import Line, Target
from turbotui.widgets.role_styles import Palette, role_css


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


class OverviewLines(Widget):
    """Draws lines; one that stays the same is not drawn again."""

    DEFAULT_CSS = role_css("OverviewLines") + " OverviewLines { height: 1fr; }"

    can_focus = False

    @dataclass()
    class Clicked(Message):
        """A place was clicked, so many times."""

        x: int
        y: int
        times: int

    def __init__(self, resized: Callable[[], None], *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._resized = resized
        self._palette = Palette(self, final=True)
        self._segments: list[list[TextSegment]] = []
        self._strips: dict[int, Strip] = {}
        self.lines: Sequence[Line] = ()

    @property
    def text(self) -> str:
        """The drawn text, without colours."""
        return "\n".join("".join(text for text, _ in line).rstrip() for line in self._segments)

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines."""
        self.lines = lines
        old = self._segments
        self._segments = fresh = [merged([(span.text, span.role) for span in line]) for line in lines]
        if len(old) != len(fresh):
            self._strips.clear()
            self.refresh()
            return
        dirty = [y for y, (before, now) in enumerate(zip(old, fresh, strict=True)) if before != now]
        for y in dirty:
            self._strips.pop(y, None)
        if dirty:
            draw_lines(self, {y: self.render_line(y) for y in dirty})

    def render_line(self, y: int) -> Strip:
        """One line of the widget."""
        strip = self._strips.get(y)
        if strip is None:
            segments = self._segments[y] if y < len(self._segments) else ()
            strip = self._strips[y] = self._palette.strip(segments, self.size.width)
        return strip

    def render_lines(self, crop: Region) -> list[Strip]:
        """Some lines of the widget, which has no border and no padding, in colours that are through the filters."""
        strips = [self.render_line(y) for y in crop.line_range]
        if crop.x == 0 and crop.right == self.size.width:
            return strips
        return [strip.crop(crop.x, crop.right) for strip in strips]

    def notify_style_update(self) -> None:
        """Forget colours when the theme changes."""
        super().notify_style_update()
        self._palette.clear()
        self._strips.clear()

    def on_resize(self) -> None:
        """Have the lines made for the new size."""
        self._strips.clear()
        self._segments = []
        self._resized()

    def on_click(self, event: events.Click) -> None:
        """Tell the screen."""
        self.post_message(self.Clicked(event.x, event.y, event.chain))
