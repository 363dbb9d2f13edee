"""A cursor that moves changes the roles of two lines and paints no cell again."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from textual.app import App, ComposeResult

from turbotui.app.themes import TUI_DEFAULTS
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import RowTable
from turbotui.widgets.cells import Slot
from turbotui.widgets.content import Line
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.row_content import Naming, RowContent, RowPainter, RowView
from turbotui.widgets.slots import row_slots
from turbotui.widgets.table_view import RowList, TableView
from turbotui.widgets.table_widget import TableWidget

JOB: Column[int] = Column("Job", "", 0, (), lambda job: job, width=5, identity=True, priority=0)
HALF: Column[int] = Column("Half", "", 1, (), lambda job: job / 2, width=6, priority=0)
TWICE: Column[int] = Column("Twice", "", 0, (), lambda job: job * 2, width=6, priority=0)
CONTENT = RowContent(RowTable("jobs", "job", (JOB, HALF, TWICE), tuple(range(30))), Naming[int](str, str, str))


class CountingPainter(RowPainter[int]):
    """Counts the columns that it paints."""

    painted = 0

    def column(self, content: RowContent[int], rows: Sequence[Hashable], slot: Slot) -> list[TextSegment]:
        type(self).painted += 1
        return super().column(content, rows, slot)


class TableApp(App[None]):
    """An application with one table."""

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The colours of roles."""
        return TUI_DEFAULTS

    def compose(self) -> ComposeResult:
        """The table."""
        yield TableWidget(TableView((HALF, TWICE)), RowList(), _painter_of)


def _painter_of(view: RowView[int], _seconds: float, width: int) -> RowPainter[int]:
    return CountingPainter(view, *row_slots(view, width), width)


def _styles(table: TableWidget[RowContent[int], Column[int], Hashable], y: int) -> list[tuple[str, object]]:
    return [(segment.text, segment.style) for segment in table.render_line(y)]


async def test_a_moved_cursor_paints_no_cell_again_and_lines_are_as_painted_anew() -> None:
    app = TableApp()
    async with app.run_test(size=(40, 12)) as pilot:
        table = app.query_one(TableWidget)
        table.show_content(CONTENT)
        await pilot.pause()
        before = CountingPainter.painted
        for move in (lambda: table.move(1), lambda: table.move(2), lambda: table.move_column(1),
                     lambda: table.move(-1)):
            move()
            await pilot.pause()
            moved = [_styles(table, y) for y in range(table.size.height)]
            assert CountingPainter.painted == before
            table._canvas.forget_lines()
            table._shown.clear()
            assert [_styles(table, y) for y in range(table.size.height)] == moved
            before = CountingPainter.painted
        assert before > 0


def test_the_place_of_a_cell_is_that_of_its_slot() -> None:
    painter = RowPainter(TableView((HALF, TWICE)), *row_slots(TableView((HALF, TWICE)), 40), 40)
    geometry = painter.geometry()
    [line] = painter.lines(CONTENT, [Line("12")], geometry)
    places = [painter.place(geometry, at) for at in range(len(painter.moving))]
    assert [line[place][0].strip() for place in places if place is not None] == ["6.0", "24"]
    assert painter.place(geometry, len(painter.moving)) is None
