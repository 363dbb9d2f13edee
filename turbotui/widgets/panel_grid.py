"""Panels side by side or below each other, scrolling, with a cursor on their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from turbotui.dataclass import dataclass
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.panel import Panel, PanelPosition, Target, panel_line, plan, target_at
from turbotui.widgets.row_charts import LEAST, DrawBelow
from turbotui.widgets.styled_scroll import StyledScroll


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A number of a panel, with the words by which a search finds it: its column and row, and the lines around it."""

    panel: int
    target: int
    words: str


def _named(at: int, panel: Panel) -> list[NamedPlace]:
    """The numbers of a panel; a line without a number belongs to the number above it."""
    texts: dict[int, list[str]] = {}
    last = 0
    for line in panel.lines:
        targets = list(dict.fromkeys(panel.targets.index(span.target) for span in line if span.target is not None))
        last = targets[-1] if targets else last
        for target in targets or [last]:
            texts.setdefault(target, []).append("".join(span.text for span in line))
    return [NamedPlace(at, target, " ".join([panel.title, column.id, *texts.get(target, ())]))
            for target, (column, _row) in enumerate(panel.targets)]


class PanelGrid(StyledScroll):
    """Draws panels of at least `least` characters, side by side if two fit; unchanged lines are not drawn again."""

    class Moved(Message):
        """The cursor moved to another number."""

    class Chosen(Message):
        """A number was clicked twice."""

    def __init__(self, least: int, below: DrawBelow | None = None, *,
                 id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._least = least
        self._below = below
        self.panels: tuple[Panel, ...] = ()
        self.at = 0
        self._chosen: dict[int, int] = {}  # panel -> which of its targets
        self._positions: tuple[PanelPosition, ...] = ()
        self._lines: list[list[TextSegment]] = []
        self._strips: dict[int, Strip] = {}

    @property
    def room(self) -> int:
        """Characters for panels side by side."""
        return max(1, self.size.width - 1)  # room for the scrollbar is kept free, so that nothing jumps

    @property
    def target(self) -> Target | None:
        """The number under the cursor."""
        if not 0 <= self.at < len(self.panels):
            return None
        targets = self.panels[self.at].targets
        return targets[min(self._chosen.get(self.at, 0), len(targets) - 1)] if targets else None

    @property
    def place(self) -> tuple[int, int]:
        """The panel with the cursor, and the index of the number under the cursor."""
        return self.at, self._chosen.get(self.at, 0)

    @property
    def places(self) -> list[NamedPlace]:
        """Every number with the words around it."""
        return [place for at, panel in enumerate(self.panels) for place in _named(at, panel)]

    def choose(self, panel: int, target: int) -> None:
        """Put the cursor on a number of a panel."""
        if panel < len(self.panels):
            self._chosen[panel] = target
            self._go(panel)

    @property
    def text(self) -> str:
        """The drawn text, without colours."""
        return "\n".join("".join(text for text, _ in line) for line in self._lines)

    def show(self, panels: Sequence[Panel]) -> None:
        """Show these panels; once moved, the cursor stays on its number if that still exists."""
        before = self.target if self.at in self._chosen else None
        self.panels = tuple(panels)
        self.at = max(0, min(self.at, len(self.panels) - 1))
        if before is not None and self.panels and before in self.panels[self.at].targets:
            self._chosen[self.at] = self.panels[self.at].targets.index(before)
        self._redraw()

    def _redraw(self) -> None:
        self._positions = plan(self.panels, self.room, self._least)
        target = self.target
        height = max((position.y + position.height for position in self._positions), default=0)
        lines: list[list[TextSegment]] = [[] for _ in range(height)]
        for number, (panel, position) in enumerate(zip(self.panels, self._positions, strict=True)):
            for y in range(position.height):
                line = lines[position.y + y]
                if line:
                    line.append((" ", StyleRole.PLAIN))
                line += panel_line(panel, position, y, target, here=number == self.at)
        if self._below is not None:
            self._draw_charts(self._below, lines)
            height = len(lines)
        old, self._lines = self._lines, lines
        if len(old) != len(lines):
            self.hold(Size(self.size.width, height))
            self._strips.clear()
            self.refresh()
            return
        top = self.scroll_offset.y
        dirty = [y for y, (a, b) in enumerate(zip(old, lines, strict=True)) if a != b]
        for y in dirty:
            self._strips.pop(y, None)
        seen = [Region(0, y - top, self.size.width, 1) for y in dirty if 0 <= y - top < self.size.height]
        if seen:
            self.refresh(*seen)

    def _draw_charts(self, draw: DrawBelow, lines: list[list[TextSegment]]) -> None:
        """Draw below the panels, or beside the last one if its row has room for another and there is none below."""
        last = self._positions[-1] if self._positions else PanelPosition(0, 0, 0, 0)
        beside, seen = self.room - last.x - last.width - 1, self.size.height - last.y
        if self.size.height - len(lines) >= LEAST or beside < self._least or seen < LEAST:
            lines += draw(self.room, self.size.height - len(lines))
            return
        for y, line in enumerate(draw(beside, min(last.height, seen))):
            lines[last.y + y] += [(" ", StyleRole.PLAIN), *line]

    def render_line(self, y: int) -> Strip:
        """One line of the widget."""
        at = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        strip = self._strips.get(at)
        if strip is None:
            strip = self._palette.strip(self._lines[at] if at < len(self._lines) else (), width)
            self._strips[at] = strip
        return strip

    # Moving

    def move(self, by: int) -> bool:
        """Move the cursor to another panel; return whether there was one."""
        return self._go(self.at + by)

    def step(self, by: int) -> None:
        """Move the cursor to the next number; after a panel's last number comes the next panel's first."""
        if not self.panels:
            return
        count = len(self.panels[self.at].targets)
        at = min(self._chosen.get(self.at, 0), max(0, count - 1)) + by
        if not 0 <= at < count:
            beyond = self.at + by
            while 0 <= beyond < len(self.panels) and not self.panels[beyond].targets:
                beyond += by
            if 0 <= beyond < len(self.panels):
                self.at, at = beyond, 0 if by > 0 else len(self.panels[beyond].targets) - 1
            else:
                at = max(0, min(count - 1, at))
        if self.panels[self.at].targets:
            self._chosen[self.at] = at
            self._moved()

    def page(self, by: int) -> bool:
        """Move the cursor by a page of panels; return whether there was one."""
        tall = self._positions[0].height if self._positions else 1
        across = sum(position.y == 0 for position in self._positions)
        return self._go(self.at + by * across * max(1, self.size.height // max(1, tall)))

    def end(self, by: int) -> bool:
        """Move the cursor to the first or last panel; return whether it was on another one."""
        return self._go(0 if by < 0 else len(self.panels) - 1)

    def _go(self, at: int) -> bool:
        before = self.at
        if self.panels:
            self.at = max(0, min(len(self.panels) - 1, at))
            self._moved()
        return self.at != before

    def _moved(self) -> None:
        self._redraw()
        self._reveal()
        self.post_message(self.Moved())

    def _reveal(self) -> None:
        """Scroll the number under the cursor into view, with as much of its panel as fits."""
        if not self._positions or not self.size.height:
            return
        position, panel, target = self._positions[self.at], self.panels[self.at], self.target
        rows = [at for at, line in enumerate(panel.lines) if any(span.target == target for span in line)]
        cursor = position.y + 1 + (rows[0] if target is not None and rows else 0)
        top, height = self.scroll_offset.y, self.size.height
        wanted = min(max(top, position.y + position.height - height), position.y)
        wanted = min(max(wanted, cursor + 2 - height), max(0, cursor - 1))
        if wanted != top:
            self.scroll_to(y=wanted, animate=False, immediate=True)

    def notify_style_update(self) -> None:
        """Draw every line again after a change of theme."""
        super().notify_style_update()
        self._strips.clear()

    def on_resize(self) -> None:
        """Lay the panels out for the new size."""
        self._strips.clear()
        self._lines = []
        self._redraw()
        self._reveal()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked number, or at least into its panel; a second click chooses the number."""
        y = event.y + self.scroll_offset.y
        for number, (panel, position) in enumerate(zip(self.panels, self._positions, strict=True)):
            if not (position.x <= event.x < position.x + position.width
                    and position.y <= y < position.y + position.height):
                continue
            target = target_at(panel, position, event.x, y)
            self.at = number
            if target is not None:
                self._chosen[number] = panel.targets.index(target)
            self._moved()
            if target is not None and event.chain == 2:
                self.post_message(self.Chosen())
