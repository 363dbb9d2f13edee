"""The strips of a table's lines, made once per frame, and again only if their text changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeAlias

from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import C, K
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.content import F, Line
from turbotui.widgets.geometry import Geometry, arrange, offset_showing, sideways_order
from turbotui.widgets.painter import Painter, TextSegment, merged
from turbotui.widgets.role_styles import Palette, beside
from turbotui.widgets.table_view import TableView


@dataclass(slots=True)
class _Drawn:
    generation: int
    segments: list[TextSegment]
    strip: Strip | None = None  # with these:
    base: StyleRole = StyleRole.PLAIN
    place: int | None = None  # of the cursor in the line


Paint: TypeAlias = Callable[[TableView[C, K], float, int], Painter[F, C, K]]
"""Makes the painter for a view, an interval in seconds and a width."""


class TableCanvas(Generic[F, C, K]):
    """Painter, geometry and strips of one table at one width."""

    def __init__(self, widget: Widget, view: TableView[C, K], paint: Paint[C, K, F], seconds: float) -> None:
        self._paint = paint
        self._palette = Palette(widget, final=True)
        self._generation = 0
        self._drawn: dict[K, _Drawn] = {}
        self._headers: list[Strip] = []
        self._blank: Strip | None = None
        self._charts: list[tuple[list[TextSegment], Strip]] = []
        self._joined: dict[int, tuple[Strip, Strip, Strip]] = {}
        self.show(view, seconds, 0)

    def show(self, view: TableView[C, K], seconds: float, width: int, offset: int = 0) -> None:
        """Use another view or width; call `arrange` afterwards."""
        self._seconds = seconds
        self.painter = self._paint(view, seconds, width)
        self.painter.offset = min(offset, len(self.painter.moving))
        self.geometry: Geometry = self.painter.geometry()
        self._generation += 1

    def resize(self, width: int) -> None:
        """Use another width; call `arrange` afterwards."""
        self.show(self.painter.view, self._seconds, width, self.painter.offset)

    def arrange(self, slot: int | None) -> None:
        """Place the slots so that this one is drawn."""
        painter = self.painter
        # what columns that are hidden now leave free at the right belongs to those at the left
        at = painter.moving, painter.edge, painter.width
        while painter.offset and not arrange(*at, painter.offset - 1).more_right:
            painter.offset -= 1
        self.reveal(slot)
        self.geometry = painter.geometry()
        self.forget_lines()

    def reveal(self, slot: int | None) -> bool:
        """Scroll sideways until a slot is drawn; returns whether anything moved."""
        painter = self.painter
        if slot is not None:
            painter.offset = offset_showing(painter.moving, painter.edge, painter.width, painter.offset, slot)
        geometry = painter.geometry()
        if geometry == self.geometry:
            return False
        self.geometry = geometry
        self.forget_lines()
        return True

    def order(self) -> list[int]:
        """The slots in the order in which the cursor walks through them."""
        painter = self.painter
        return sideways_order(painter.moving, max(0, painter.width - painter.edge - 1))

    def first_choice(self, *columns: Column[Any] | None) -> int | None:
        """The slot of the first drawn one of these columns, else the first drawn slot; None if there is none."""
        drawn = {
            slot.column.id: at
            for slot, at in zip(self.geometry.slots, self.geometry.indices, strict=True)
            if not slot.spark
        }
        for column in columns:
            if column is not None and column.id in drawn:
                return drawn[column.id]
        return self.geometry.indices[0] if self.geometry.indices else None

    def new_content(self) -> None:
        """Note that every line may have changed."""
        self._generation += 1

    def forget_colours(self) -> None:
        """Forget colours after a change of theme."""
        self._palette.clear()
        self._blank = None
        self.forget_lines()

    def forget_lines(self) -> None:
        """Draw every line again."""
        self._headers = []
        self._charts = []
        self._joined = {}
        self._drawn.clear()

    # Strips

    def headers(self) -> list[Strip]:
        """The lines of titles."""
        if not self._headers:
            self._headers = [self._palette.strip(titles, self.painter.width, StyleRole.TITLE)
                             for titles in self.painter.headers(self.geometry)]
        return self._headers

    def blank(self) -> Strip:
        """A line below the last row."""
        if self._blank is None or self._blank.cell_length != self.painter.width:
            self._blank = self._palette.strip((), self.painter.width)
        return self._blank

    def charts(self, lines: Sequence[list[TextSegment]], width: int) -> list[Strip]:
        """Strips of lines below or beside the rows; the same for the same lines, or each drawing would be an update."""
        before = self._charts
        self._charts = [before[at] if at < len(before) and before[at][0] == line and before[at][1].cell_length == width
                        else (line, self._palette.strip(line, width)) for at, line in enumerate(lines)]
        return [strip for _line, strip in self._charts]

    def beside(self, strips: Sequence[Strip], charts: Sequence[Strip], at: int) -> list[Strip]:
        """Continue strips from a cell on with those of charts; of the same two strips the same one."""
        before = self._joined
        self._joined = {
            y: known if (known := before.get(y)) is not None and known[0] is strip and known[1] is chart
            else (strip, chart, beside(strip, chart, at))
            for y, (strip, chart) in enumerate(zip(strips, charts, strict=False))}
        return [*(joined for _strip, _chart, joined in self._joined.values()), *strips[len(charts):]]

    @property
    def ground(self) -> Style:
        """The style where nothing is drawn."""
        return self._palette.ground

    def strips(self, content: F, lines: Sequence[tuple[Line[K], StyleRole]],
               chosen: tuple[K, int] | None) -> list[Strip]:
        """Make the strips of rows; those of new content are painted in one go, and a moved cursor paints no cell."""
        now, drawn = self._generation, self._drawn
        stale = [line for line, _base in lines if (known := drawn.get(line.row)) is None or known.generation != now]
        if stale:
            self._paint_lines(content, stale)
            if len(drawn) > 4 * len(lines):  # rows that were scrolled or sorted out of sight
                self._drawn = drawn = {line.row: drawn[line.row] for line, _base in lines}
        row, place = (None, None) if chosen is None else (chosen[0], self.painter.place(self.geometry, chosen[1]))
        return [self._strip(drawn[line.row], base, place if line.row == row else None) for line, base in lines]

    def _paint_lines(self, content: F, stale: Sequence[Line[K]]) -> None:
        drawn = self._drawn
        for line, segments in zip(stale, self.painter.lines(content, stale, self.geometry), strict=True):
            if (known := drawn.get(line.row)) is not None and known.segments == segments:
                known.generation = self._generation
            else:
                drawn[line.row] = _Drawn(self._generation, segments)

    def _strip(self, drawn: _Drawn, base: StyleRole, place: int | None) -> Strip:
        """The strip of a line, made anew if its text, its role or the cursor's place in it changed."""
        if (strip := drawn.strip) is None or drawn.base is not base or drawn.place != place:
            segments = [*drawn.segments]
            if place is not None:
                segments[place] = segments[place][0], StyleRole.CELL
            drawn.base, drawn.place = base, place
            drawn.strip = strip = self._palette.strip(merged(segments), self.painter.width, base)
        return strip
