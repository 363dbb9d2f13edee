"""Draw the screen below a window, which is what a window costs most while frames continue behind it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.css.styles import RulesMap
from textual.renderables.background_screen import BackgroundScreen
from textual.strip import Strip
from textual.style import Style as VisualStyle
from textual.visual import RenderOptions, Visual


class ScreenBelow(Visual):
    """The tinted screen below a window: the same lines as Textual's own, in a tenth of the time.

    Textual takes the lines of the screen below apart, mixes the colours of each word anew, passes the words through
    three generators of Rich and cuts the result into lines again. The lines are there already, and a screen has few
    styles.
    """

    def __init__(self, below: BackgroundScreen) -> None:
        self._below = below

    def render_strips(self, width: int, height: int | None, style: VisualStyle,
                      options: RenderOptions) -> list[Strip]:  # noqa: ARG002 - the base class's
        base, tint = style.rich_style, self._below.color
        lines = self._below.screen._compositor.render_strips()[:height]  # noqa: SLF001 - as Textual's own does
        return [_tinted_strip(line if line.cell_length <= width else line.crop(0, width), base, tint) for line in lines]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:  # noqa: ARG002 - as above
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:  # noqa: ARG002 - as above
        return self._below.screen.size.height


def _tinted_strip(line: Iterable[Segment], base: Style, tint: Color) -> Strip:
    return Strip([Segment(text, _tinted(style, base, tint)) for text, style, control in line if not control])


@lru_cache(4096)
def _tinted(style: Style | None, base: Style, tint: Color) -> Style:
    """The style of a word below a window whose own style is `base`."""
    (word,) = BackgroundScreen.process_segments([Segment("", style)], tint)
    return base + word.style
