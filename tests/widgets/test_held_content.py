"""Rows that come and go: the scroll bar follows them, and the screen is not laid out anew."""

from __future__ import annotations

import re

import pytest
from textual import messages
from textual.app import App, ComposeResult
from textual.message import Message
from textual.screen import Screen

from turbotui.app.themes import TUI_DEFAULTS
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import RowTable
from turbotui.widgets.direct_screen import DirectScreen
from turbotui.widgets.row_content import Naming, RowContent, RowPainter, RowView
from turbotui.widgets.segment_lines import SegmentLines
from turbotui.widgets.slots import row_slots
from turbotui.widgets.table_view import RowList, TableView
from turbotui.widgets.table_widget import TableWidget

HEIGHT = 12
NUMBER: Column[int] = Column("Job", "", 0, (), lambda job: job, width=5, identity=True, priority=0)
NAMING = Naming[int](str, str, str)


class TableApp(App[None]):
    """An application with one table and lines below it."""

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The colours of roles."""
        return TUI_DEFAULTS

    def compose(self) -> ComposeResult:
        """The table and the lines."""
        yield TableWidget(TableView((NUMBER,)), RowList(), painter_of)
        yield SegmentLines()


class DirectApp(TableApp):
    """The same on a screen whose widgets draw their own lines."""

    def get_default_screen(self) -> Screen[None]:
        """That screen."""
        return DirectScreen()


def painter_of(view: RowView[int], _seconds: float, width: int) -> RowPainter[int]:
    return RowPainter(view, *row_slots(view, width), width)


def jobs(count: int) -> RowContent[int]:
    return RowContent(RowTable("jobs", "job", (NUMBER,), tuple(range(count))), NAMING)


async def test_another_number_of_rows_asks_for_no_layout() -> None:
    app, layouts = TableApp(), 0

    def count_layout(_screen: object) -> None:
        nonlocal layouts
        layouts += 1

    async with app.run_test(size=(40, HEIGHT)) as pilot:
        table = app.query_one(TableWidget)
        table.show_content(jobs(30))
        await pilot.pause()
        app.screen.screen_layout_refresh_signal.subscribe(table, count_layout)
        for count in (31, 40, 20):
            table.show_content(jobs(count))
            await pilot.pause()
            assert layouts == 0
            assert table.vertical_scrollbar.window_virtual_size == table.virtual_size.height == count + 1


async def test_the_scroll_bar_comes_and_goes_with_the_rows_that_need_it() -> None:
    app = TableApp()
    async with app.run_test(size=(40, HEIGHT)) as pilot:
        table = app.query_one(TableWidget)
        for count, shown in ((3, False), (30, True), (5, False), (30, True)):
            table.show_content(jobs(count))
            await pilot.pause()
            assert table.show_vertical_scrollbar is shown
        table.move_to_end(last=True)
        await pilot.pause()
        table.show_content(jobs(15))
        await pilot.pause()
        assert table.scroll_offset.y == table.virtual_size.height - table.size.height


async def test_a_table_as_high_as_its_rows_grows_with_them() -> None:
    app = TableApp()
    async with app.run_test(size=(40, 50)) as pilot:
        table = app.query_one(TableWidget)
        table.styles.height = "auto"
        heights = []
        for count in (3, 30, 7):
            table.show_content(jobs(count))
            await pilot.pause()
            heights.append(table.size.height)
        assert (heights[1] - heights[0], heights[2] - heights[0]) == (27, 4)


async def test_lines_that_go_on_saying_nothing_are_not_drawn() -> None:
    app, asked = TableApp(), 0

    def hear(message: Message) -> None:
        nonlocal asked
        asked += isinstance(message, messages.Update)

    async with app.run_test(size=(40, HEIGHT), message_hook=hear) as pilot:
        await pilot.pause()
        asked = 0
        for _ in range(3):
            app.query_one(SegmentLines).show([])
            await pilot.pause()
        assert asked == 0


@pytest.mark.parametrize("height", [HEIGHT, 40])
async def test_the_bar_of_more_rows_is_drawn_directly_as_textual_would_draw_it(
        height: int, monkeypatch: pytest.MonkeyPatch) -> None:
    app, asked = DirectApp(), 0
    bars: set[str] = set()
    lines: list[str] = []

    def composed() -> list[str]:
        return [strip.text for strip in app.screen._compositor.render_strips()]

    def hear(message: Message) -> None:
        nonlocal asked
        asked += isinstance(message, messages.Update)

    def write(data: str) -> None:
        for line, column, words in re.findall(r"\x1b\[(\d+);(\d+)H((?:(?!\x1b\[\d+;\d+H).)*)", data):
            text, at = re.sub(r"\x1b\[[\d;]*m", "", words), int(column) - 1
            lines[int(line) - 1] = lines[int(line) - 1][:at] + text + lines[int(line) - 1][at + len(text):]

    async with app.run_test(size=(40, height), message_hook=hear) as pilot:
        table = app.query_one(TableWidget)
        table.show_content(jobs(200))
        await pilot.pause()
        await pilot.pause()
        lines += composed()
        monkeypatch.setattr(app._driver, "write", write)
        asked = 0
        for count in (201, 150, 90, 60, 300, 2000):
            table.show_content(jobs(count))
            await pilot.pause()
            bars.add("".join(line[-1] for line in lines))
            assert lines == composed(), count
        assert asked == 0
        assert len(bars) > 1
