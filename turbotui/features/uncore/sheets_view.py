"""Sheets on the screen: scrolling, a cursor on one cell, and the mouse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from turbotui.features.uncore.sheets import (
    LineContent,
    Sheet,
    SheetRow,
    arrange,
    contents_of,
    heading_line,
    keep_in_sight,
    row_line,
    title_line,
)
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.styled_scroll import StyledScroll


class SheetsView(StyledScroll):
    """Several sheets with one cursor. The cursor stays on its row and column while numbers change and rows re-sort."""

    @dataclass
    class Moved(Message):
        """The cursor is on another cell."""

    @dataclass
    class Pressed(Message):
        """A title (fold), a heading (sort) or a cell a second time (explain) was clicked."""

        part: str
        sheet: Sheet
        column: int

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.sheets: tuple[Sheet, ...] = ()
        self._contents: list[LineContent] = []
        self._at = -1
        self._column = 0
        self._firsts: dict[str, int] = {}

    @property
    def sheet(self) -> Sheet | None:
        """The one under the cursor."""
        return self.sheets[self._contents[self._at].sheet] if 0 <= self._at < len(self._contents) else None

    @property
    def row(self) -> SheetRow | None:
        """The one under the cursor."""
        sheet = self.sheet
        number = self._contents[self._at].row if sheet is not None else None
        return None if sheet is None or number is None else sheet.rows[number]

    @property
    def column(self) -> int:
        """Index of the column under the cursor, -1 in a sheet without columns."""
        sheet = self.sheet
        return -1 if sheet is None else min(self._column, len(sheet.columns) - 1)

    @property
    def text(self) -> str:
        """What is drawn, without colours."""
        return "\n".join(self.render_line(y).text.rstrip() for y in range(self.size.height))

    def show(self, sheets: Sequence[Sheet]) -> None:
        """Show these; the cursor stays on its row, or on the nearest one where that has gone."""
        sheet, row = self.sheet, self.row
        self.sheets = tuple(sheets)
        self._contents = contents_of(self.sheets)
        places = self._places()
        same = [
            at
            for at in places
            if sheet is not None and row is not None and self._row(at).key == row.key
            and self.sheets[self._contents[at].sheet].key == sheet.key
        ]  # fmt: skip
        near = [
            at for at in places if sheet is not None and self.sheets[self._contents[at].sheet].key == sheet.key
        ]  # fmt: skip
        self._at = (same or near or places or [-1])[0]
        self.virtual_size = Size(self.size.width, len(self._contents))
        self.refresh()
        self._reveal()

    def _row(self, at: int) -> SheetRow:
        content = self._contents[at]
        return self.sheets[content.sheet].rows[content.row or 0]

    def _places(self) -> list[int]:
        return [at for at, content in enumerate(self._contents) if content.row is not None]

    def move(self, by: int) -> None:
        """Move the cursor by rows."""
        places = self._places()
        if places:
            here = places.index(self._at) if self._at in places else 0
            self._go(places[max(0, min(len(places) - 1, here + by))], self._column)

    def move_sheet(self, by: int) -> None:
        """Move the cursor to the first row of another sheet."""
        sheet = self.sheet
        if sheet is None:
            return
        number = max(0, min(len(self.sheets) - 1, self._contents[self._at].sheet + by))
        place = next((at for at in self._places() if self._contents[at].sheet == number), self._at)
        self._go(place, self._column)

    def sideways(self, by: int) -> bool:
        """Move the cursor by columns; false at the edge."""
        sheet = self.sheet
        wanted = self.column + by
        if sheet is None or not 0 <= wanted < len(sheet.columns):
            return False
        self._go(self._at, wanted)
        return True

    def select(self, sheet: str, row: str, column: int) -> None:
        """Put the cursor on a cell."""
        for at in self._places():
            if self.sheets[self._contents[at].sheet].key == sheet and self._row(at).key == row:
                self._go(at, column)

    def _go(self, at: int, column: int) -> None:
        self._at, self._column = at, column
        sheet = self.sheet
        if sheet is not None and self.column >= 0:
            first = self._firsts.get(sheet.key, 0)
            self._firsts[sheet.key] = keep_in_sight(sheet, self._width, first, self.column)
        self._reveal()
        self.refresh()
        self.post_message(self.Moved())

    @property
    def _width(self) -> int:
        return self.scrollable_content_region.width

    def _reveal(self) -> None:
        if self._at < 0:
            return
        # of a sheet's first row the title and the headings are shown too
        start = self._at
        while start and self._contents[start - 1].part in ("title", "heading", "unit"):
            start -= 1
        self.reveal(start, self._at)

    def render_line(self, y: int) -> Strip:
        """One line of the widget."""
        at, width = y + self.scroll_offset.y, self._width
        if at >= len(self._contents):
            return self._palette.strip((), width)
        content = self._contents[at]
        sheet = self.sheets[content.sheet]
        if content.part == "blank":
            return self._palette.strip((), width)
        if content.part == "title":
            return self._palette.strip(title_line(sheet, width), width)
        shown = arrange(sheet, width, min(self._firsts.get(sheet.key, 0), max(0, len(sheet.columns) - 1)))
        if content.row is None:
            return self._palette.strip(heading_line(sheet, shown, width, int(content.part == "unit")), width)
        here = at == self._at
        segments = row_line(sheet, shown, sheet.rows[content.row], width, self.column if here else None)
        return self._palette.strip(segments, width, StyleRole.CURSOR if here else StyleRole.PLAIN)

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self.virtual_size = Size(self.size.width, len(self._contents))
        self._reveal()

    def on_click(self, event: events.Click) -> None:
        """Put the cursor there; fold by the title, sort by a heading, explain by a second click on a cell."""
        at = event.y + self.scroll_offset.y
        if not 0 <= at < len(self._contents):
            return
        content = self._contents[at]
        sheet = self.sheets[content.sheet]
        shown = arrange(sheet, self._width, self._firsts.get(sheet.key, 0))
        hit = next(
            (
                shown.first + place
                for place, start in enumerate(shown.starts)
                if start <= event.x <= start + sheet.columns[shown.first + place].width
            ),
            -1,
        )
        if content.row is None:
            if content.part == "title" or hit >= 0:
                self.post_message(self.Pressed(content.part, sheet, hit))
            return
        again = at == self._at and hit == self.column and hit >= 0
        self._go(at, hit if hit >= 0 else self._column)
        if again:
            self.post_message(self.Pressed("cell", sheet, hit))
