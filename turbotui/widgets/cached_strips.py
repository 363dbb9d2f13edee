"""The drawing of a table: a widget whose strips are kept, so that only changed lines are drawn again."""

from __future__ import annotations

from typing import Any

from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from turbotui.widgets.direct_screen import draw_lines
from turbotui.widgets.styled_scroll import StyledScroll
from turbotui.widgets.table_canvas import TableCanvas


class CachedStrips(StyledScroll):
    """A scrolling widget whose lines come from a canvas and are kept until they change."""

    _canvas: TableCanvas[Any, Any, Any]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._shown: dict[int, Strip] = {}

    def all_strips(self) -> dict[int, Strip]:
        """Every line of the widget; a line that did not change is the same object as before."""
        raise NotImplementedError

    def draw_changes(self, *, everything: bool) -> None:
        """Draw the lines that changed, or all of them."""
        fresh = self.all_strips()
        if everything:
            self.refresh()
        # all at once: until Textual draws, rows of a new view would stand below titles of the old one
        dirty = {y: strip for y, strip in fresh.items() if everything or self._shown.get(y) is not strip}
        if dirty:
            draw_lines(self, dirty)
        self._shown = fresh

    @property
    def is_out_of_sight(self) -> bool:
        """Whether the container was scrolled past the whole widget."""
        place, around = self.virtual_region, self.parent
        if not self.styles.is_auto_height or not isinstance(around, Widget) or not place.area:
            return False
        return not around.scroll_y - place.height < place.y < around.scroll_y + around.size.height

    def render_line(self, y: int) -> Strip:
        """One line of the widget."""
        strip = self._shown.get(y)
        if strip is None:
            self._shown = self.all_strips()
            strip = self._shown.get(y)
        return self._canvas.blank() if strip is None else strip

    def render_lines(self, crop: Region) -> list[Strip]:
        """Some lines of the widget.

        Textual's own method applies borders, padding and filters to each line, at twice the cost of drawing it; the
        widget has no borders and no padding, and the palette's colours are already filtered.
        """
        strips = [self.render_line(y) for y in crop.line_range]
        covered = self.scrollbar_size_vertical if self.show_vertical_scrollbar else 0
        if crop.x == 0 and crop.right == self._canvas.painter.width + covered:
            return strips
        return [strip.adjust_cell_length(crop.right, self._canvas.ground).crop(crop.x) for strip in strips]

    def notify_style_update(self) -> None:
        """Forget colours after a change of theme."""
        super().notify_style_update()
        self._canvas.forget_colours()
        self._shown.clear()
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Draw all lines, from their cached strips, after scrolling."""
        super().watch_scroll_y(old_value, new_value)
        self._shown.clear()
