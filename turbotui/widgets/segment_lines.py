"""A few fixed lines of text with roles: the banner, the summary, the status line, the key bar."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Final

from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from turbotui.dataclass import dataclass
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.direct_screen import draw_lines
from turbotui.widgets.key_phrases import key_at
from turbotui.widgets.painter import TextSegment, shortened
from turbotui.widgets.role_styles import Palette, role_css

_LINES: Final = 3  # of a sentence below a table


@dataclass(frozen=True, slots=True)
class ClickableSegment:
    """A part of a line that runs an action when it is clicked."""

    y: int
    start: int
    end: int
    action: str


class SegmentLines(Widget):
    """Lines that are drawn as given; unchanged lines are not drawn again.

    Text is drawn verbatim: nothing in it is interpreted as markup.
    """

    DEFAULT_CSS = role_css("SegmentLines") + " SegmentLines { height: 1; }"

    @dataclass()
    class KeyClicked(Message):
        """Words that name a key were clicked."""

        key: str

    can_focus = False

    def __init__(self, *, base: StyleRole = StyleRole.PLAIN, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._base = base
        self._palette = Palette(self, final=True)
        self.segments: list[list[TextSegment]] = []
        self._strips: list[Strip] = []
        self._hot: Sequence[ClickableSegment] = ()

    @property
    def text(self) -> str:
        """The drawn text, without colours."""
        return "\n".join("".join(text for text, _ in line).rstrip() for line in self.segments)

    def show(self, lines: Sequence[Sequence[TextSegment]], hot: Sequence[ClickableSegment] = ()) -> None:
        """Show these lines."""
        self._hot = hot
        fresh = [list(line) for line in lines]
        # compared line by line: a tick of the overview takes 6 to 24 % more where all lines are drawn again
        before, self.segments = self.segments, fresh
        if fresh == before:
            return
        width = self.size.width  # cached: Textual computes it each time it is asked
        if not self._strips or not width:
            self._strips = []
            self.refresh()
        else:
            drawn, self._strips = self._strips, [self._strips[y] if y < len(before) and before[y] == line
                                                 else self._strip(line, width) for y, line in enumerate(fresh)]
            last = [self._palette.strip((), width, self._base)] * (len(drawn) - len(fresh))
            draw_lines(self, {y: strip for y, strip in enumerate([*self._strips, *last])
                              if y >= len(drawn) or strip is not drawn[y]})

    def _strip(self, line: Sequence[TextSegment], width: int) -> Strip:
        """A line drawn; one that is too wide ends behind a word, because half a number is another number."""
        return self._palette.strip(shortened(line, width), width, self._base)

    def render_line(self, y: int) -> Strip:
        """One line of the widget."""
        width = self.size.width
        if not self._strips:
            self._strips = [self._strip(line, width) for line in self.segments]
        return self._strips[y] if y < len(self._strips) else self._strip((), width)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Some lines of the widget, which has no border and no padding, in filtered colours."""
        strips = [self.render_line(y) for y in crop.line_range]
        if crop.x == 0 and crop.right == self.size.width:
            return strips
        return [strip.crop(crop.x, crop.right) for strip in strips]

    def notify_style_update(self) -> None:
        """Forget colours after a change of theme."""
        super().notify_style_update()
        self._palette.clear()
        self._strips = []

    def on_resize(self) -> None:
        """Draw again at the new width."""
        self._strips = []

    async def on_click(self, event: events.Click) -> None:
        """Run the action under the mouse, or say which key the words there name."""
        for hot in self._hot:
            if hot.y == event.y and hot.start <= event.x < hot.end:
                await self.app.run_action(hot.action, default_namespace=self.screen)
                return
        line = self.segments[event.y] if event.y < len(self.segments) else ()
        key = key_at("".join(text for text, _ in line), event.x)
        if key:
            self.post_message(self.KeyClicked(key))


class NoteLines(SegmentLines):
    """Sentences below a table, which take no room where there are none."""

    DEFAULT_CSS = "NoteLines { height: auto; }"

    def show_notes(self, notes: Iterable[str | TextSegment]) -> None:
        """Show sentences, which are dim and wrapped, and lines with roles of their own."""
        lines: list[TextSegment] = []
        for note in notes:
            lines += [(line, StyleRole.DIM) for line in textwrap.wrap(
                note, max(20, self.screen.size.width - 2), max_lines=_LINES, placeholder=" …")] if isinstance(
                    note, str) else [note]
        self.styles.height = len(lines)
        self.show([[(f" {text}", role)] for text, role in lines])
