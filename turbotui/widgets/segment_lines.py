"""One or a few fixed lines of text with roles: the banner, the summary, the status line, the key bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.strip import Strip
from textual.widget import Widget

from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.role_styles import Palette, role_css


@dataclass(frozen=True, slots=True)
class Hot:
    """A stretch of a line that runs an action when it is clicked."""

    y: int
    start: int
    end: int
    action: str


class SegmentLines(Widget):
    """Lines that are drawn as given; a line that stays the same is not drawn again.

    Text is put on the screen as it is: nothing in it is taken for markup.
    """

    DEFAULT_CSS = role_css("SegmentLines") + " SegmentLines { height: 1; }"

    can_focus = False

    def __init__(self, *, base: StyleRole = StyleRole.PLAIN, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._base = base
        self._palette = Palette(self)
        self._segments: list[list[TextSegment]] = []
        self._strips: list[Strip] = []
        self._hot: Sequence[Hot] = ()

    @property
    def text(self) -> str:
        """The drawn text, without colours."""
        return "\n".join("".join(text for text, _ in line) for line in self._segments)

    def show(self, lines: Sequence[Sequence[TextSegment]], hot: Sequence[Hot] = ()) -> None:
        """Show these lines."""
        self._hot = hot
        fresh = [list(line) for line in lines]
        if fresh == self._segments and self._strips:
            return
        self._segments = fresh
        self._strips = []
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of the widget."""
        if not self._strips:
            width = self.size.width
            self._strips = [self._palette.strip(line, width, self._base) for line in self._segments]
        return self._strips[y] if y < len(self._strips) else self._palette.strip((), self.size.width, self._base)

    def notify_style_update(self) -> None:
        """Forget colours when the theme changes."""
        super().notify_style_update()
        self._palette.clear()
        self._strips = []

    def on_resize(self) -> None:
        """Draw again at the new width."""
        self._strips = []

    async def on_click(self, event: events.Click) -> None:
        """Run what is under the mouse."""
        for hot in self._hot:
            if hot.y == event.y and hot.start <= event.x < hot.end:
                await self.app.run_action(hot.action, default_namespace=self.screen)
                return
