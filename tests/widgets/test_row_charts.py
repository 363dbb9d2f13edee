"""Charts of the row under the cursor: which columns have one, and that charts keep their places."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

import pytest

from turbotui.quantities.columns import Column
from turbotui.quantities.tables import Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.history import HistoryRing
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.row_charts import ChartedRow, RowCharts, grid_of, past_of
from turbotui.widgets.row_content import Naming, RowContent
from turbotui.widgets.table_view import TableView

ROW = "machine"
NAMING = Naming[str](lambda row: row, lambda row: row, lambda row: f"row {row}")
PASTS: Mapping[str, Sequence[float]] = {"Busy%": [40.0, 80.0, 60.0], "MHz": [800.0, 3600.0, 2400.0],
                                        "steal%": [0.0, 0.2, 0.0], "TSC": [2600.0, 2600.0, 2600.0]}


def _charts(pasts: Mapping[str, Sequence[float]] = PASTS) -> RowCharts[RowContent[str], Column[str], Hashable]:
    return RowCharts(lambda column, _row, count: pasts[column.id][-count:])


def _column(name: str, value: float) -> Column[str]:
    return Column(name, "%" if "%" in name else "", 0, (), lambda _row: value)


def _room(chosen: str = "Busy%", width: int = 100, height: int = 20,
          pasts: Mapping[str, Sequence[float]] = PASTS) -> ChartedRow[RowContent[str], Column[str], Hashable]:
    columns = tuple(_column(name, pasts[name][-1]) for name in pasts)
    content = RowContent(RowTable("made", "row", columns, (ROW,)), NAMING)
    column = next(item for item in columns if item.id == chosen)
    return ChartedRow(content, TableView(columns), columns, column, ROW, 1.0, width, height)


def _texts(charts: RowCharts[RowContent[str], Column[str], Hashable],
           room: ChartedRow[RowContent[str], Column[str], Hashable]) -> list[str]:
    return ["".join(text for text, _role in line) for line in charts.lines(room)]


def test_what_has_something_to_show_has_a_chart() -> None:
    text = "\n".join(_texts(_charts(), _room()))
    assert "row machine over 3 s" in text
    assert "Busy%  60 " in text
    assert "MHz 2400 ─" in text
    assert "steal%" not in text  # it never was 1 %
    assert "TSC" not in text  # it never varies
    assert "steal%" in "\n".join(_texts(_charts(), _room("steal%")))  # the column under the cursor always has one


def test_charts_of_a_row_have_the_same_time_axis() -> None:
    """A column that was read later than the others fills no more of the width than its intervals."""
    pasts = {"Busy%": [40.0, 80.0, 60.0, 70.0], "MHz": [math.nan, math.nan, 2400.0, 3600.0]}
    busy, mhz = _texts(_charts(pasts), _room(pasts=pasts))[-1].split()
    assert len(mhz) == len(busy) / 2


def test_a_past_of_which_nothing_is_read_yet_has_no_length() -> None:
    pasts = {"Busy%": [math.nan, math.nan]}
    lines = _texts(_charts(pasts), _room(pasts=pasts))
    assert " row machine" in lines
    assert not any("over 0 s" in line for line in lines)


def test_the_newest_value_is_at_the_right_end_and_no_line_is_too_wide() -> None:
    for width in (60, 100, 240):
        lines = _texts(_charts(), _room(width=width))
        assert all(len(line) <= width for line in lines)
        assert any(line.endswith("█") for line in lines)


def test_a_chart_stays_while_the_cursor_stays_on_its_row() -> None:
    charts, flat = _charts(), {name: [0.0] * 3 for name in PASTS}
    assert "MHz" in "\n".join(_texts(charts, _room()))
    charts._past = lambda column, _row, count: flat[column.id][-count:]
    assert "MHz" in "\n".join(_texts(charts, _room(pasts=flat)))
    assert "MHz" not in "\n".join(_texts(_charts(flat), _room(pasts=flat)))


def test_columns_without_room_leave_by_priority_and_never_the_one_under_the_cursor() -> None:
    lively = {name: [1.0, 50.0, 90.0] for name in PASTS}
    for chosen in PASTS:
        text = "\n".join(_texts(_charts(lively), _room(chosen, 40, 8, lively)))
        assert [name for name in PASTS if name in text] == [chosen]


def test_shares_that_add_up_to_slightly_more_than_the_whole_keep_its_scale() -> None:
    for peak, end in ((100.0, "100"), (100.4, "100"), (135.0, "150")):
        pasts = {"Sum%": [99.8, peak, 99.9]}
        lines = _texts(_charts(pasts), _room("Sum%", pasts=pasts))
        [heading] = [line for line in lines if line.startswith(" Sum%")]
        assert heading.endswith(f" {end}")


def test_of_a_row_of_which_nothing_is_known_the_reasons_are_whole_and_the_rest_is_for_others() -> None:
    why = Unavailable(Reason.NO_HARDWARE, "no meter of " + "this long kind " * 10)
    pasts = {"Watt": [math.nan], "Joule": [math.nan]}
    columns = tuple(Column[str](name, "", 0, (), lambda _row: None) for name in pasts)
    table = RowTable("made", "row", columns, (ROW,), lambda _column, _row, _value: Cell(None, why))
    room = replace(_room(pasts=PASTS), content=RowContent(table, NAMING), columns=columns, chosen=columns[1])
    charts: RowCharts[RowContent[str], Column[str], Hashable] = RowCharts(
        lambda column, _row, _count: pasts[column.id],
        lambda width, height: [[(f"{width} x {height}", StyleRole.PLAIN)]])
    _blank, name, *reasons, below = _texts(charts, room)
    assert name == " row machine"
    assert " ".join(line.strip() for line in reasons) == f"Joule, Watt: {why.sentence()}".strip()
    assert below == f"100 x {20 - 2 - len(reasons)}"


def test_without_room_nothing_is_drawn() -> None:
    assert _charts().lines(_room(height=5)) == []
    assert _charts().lines(_room(width=20)) == []


@pytest.mark.parametrize("count", range(1, 14))
@pytest.mark.parametrize("size", [(80, 16), (120, 28), (200, 50), (300, 80)])
def test_charts_lie_inside_their_room(count: int, size: tuple[int, int]) -> None:
    grid = grid_of(count, *size)
    if grid is None:
        assert count > 6  # so many fit into the smallest
        return
    assert grid.across * grid.down >= count > (grid.across - 1) * grid.down
    assert grid.across * (grid.width + 2) <= size[0]
    assert grid.down * grid.height <= size[1]


def test_a_past_ends_with_the_newest_value_and_keeps_gaps() -> None:
    ring = HistoryRing(3)
    for seq, value in enumerate((1.0, 2.0, 3.0)):
        ring.leave(seq)
        ring.last = seq
        ring.push(value)
    assert list(past_of(ring, 2, 3.0, 3)) == [1.0, 2.0, 3.0]
    assert list(past_of(ring, 3, 4.0, 3)) == [2.0, 3.0, 4.0]
    later = list(past_of(ring, 5, 6.0, 3))
    assert later[2] == 6.0
    assert math.isnan(later[0])
    assert math.isnan(later[1])
    assert ring.length == 3
    past_of(ring, 2, 3.0, 5)
    assert ring.length == 5
    assert list(past_of(None, 7, 8.0, 3)) == [8.0]
    assert math.isnan(past_of(None, 7, None, 3)[0])
