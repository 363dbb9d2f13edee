"""Graphs as lines of text: everything is in its place at every size."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.quantities.columns import Column
from turbotui.quantities.moments import NS, time_of_day
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.curves import TimedValue
from turbotui.widgets.graph_picture import Curve, CurvePanel, GraphEvent, GraphPainter, GraphPicture, room
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.time_axis import TimeSpan

WHEN = 1_790_000_000 * NS
LOAD: Column[object] = Column("Load", "%", 1, (), lambda _: None)
CLOCK: Column[object] = Column("Clock", "MHz", 0, (), lambda _: None)


def timed(*values: float) -> tuple[TimedValue, ...]:
    return tuple(TimedValue(WHEN + at * NS, WHEN + (at + 1) * NS, value) for at, value in enumerate(values))


def picture(*panels: CurvePanel, at: int = 4, following: bool = False, loading: str = "",
            events: tuple[GraphEvent, ...] = ()) -> GraphPicture:
    return GraphPicture(panels, TimeSpan(WHEN, WHEN + 10 * NS), WHEN + at * NS, WHEN + 10 * NS, following, following,
                        events, loading)


def texts(lines: list[list[TextSegment]]) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


def of(*values: float, name: str = "cpu 0", role: StyleRole = StyleRole.SPARK) -> Curve:
    return Curve(name, role, timed(*values))


ONE = CurvePanel(LOAD, [of(1, 2, 3, 40, 5, math.nan, 7, 8, 9, 10)], 100.0)


@given(st.integers(30, 240), st.integers(8, 70), st.integers(1, 6), st.integers(1, 8))
def test_every_size_is_filled_and_every_panel_has_a_scale(width: int, height: int, panels: int, curves: int) -> None:
    item = [of(*range(at, at + 10), name=f"cpu {at}", role=StyleRole[f"LANE_{at}"]) for at in range(curves)]
    lines = texts(GraphPainter().lines(picture(*[CurvePanel(LOAD, item, 100.0)] * panels), width, height))
    assert len(lines) == height
    assert sum("100 %┤" in line for line in lines) == min(panels, room(height))
    assert sum(line.lstrip().startswith("0┤") for line in lines) == min(panels, room(height))
    if panels > room(height) and width >= 70:
        assert "in a higher window" in lines[-1]


def test_the_cursor_is_reported_with_its_value_its_age_and_what_happened() -> None:
    events = (GraphEvent(WHEN + 3 * NS + 5, "cpu 3 went offline"), GraphEvent(WHEN + NS, "mark 1"))
    lines = texts(GraphPainter().lines(picture(ONE, events=events), 90, 20))
    assert lines[0].startswith(" Load · cpu 0  40.0 %")
    assert lines[0].endswith("over 9 intervals:  min 1.0  mean 9.4  max 40.0 %")
    assert lines[-1].rstrip() == f" {time_of_day(WHEN + 4 * NS)} · 6 s ago · cpu 3 went offline"
    column = lines[-3].index("▲")
    assert all(line[column] == "│" or "\u2800" < line[column] <= "\u28ff" for line in lines[1:-3])
    assert lines[-3].count("┴") == 2
    assert time_of_day(WHEN + 4 * NS) in lines[-2]


def test_now_has_no_line_across_the_curve() -> None:
    lines = texts(GraphPainter().lines(picture(ONE, at=10, following=True), 80, 20))
    assert lines[-1].rstrip() == f" {time_of_day(WHEN + 10 * NS)} now"
    assert lines[-2].endswith("now")
    assert not any("│" in line[line.index("│") + 1:] for line in lines[1:-3] if "│" in line)


@pytest.mark.parametrize(("at", "loading", "said"), [(6, "", "—"), (6, "read 1 of 9", "—"), (20, "", "—"),
                                                     (20, "read 1 of 9", "…")])
def test_unknown_and_not_read_yet_are_distinguished(at: int, loading: str, said: str) -> None:
    lines = texts(GraphPainter().lines(picture(ONE, at=at, loading=loading), 90, 20))
    assert lines[0].startswith(f" Load · cpu 0  {said} ")
    assert lines[-1].endswith(loading)


def test_rows_have_colours_names_and_values_and_extremes_are_somebodys() -> None:
    curves = [of(*[1.0] * 10, role=StyleRole.LANE_0), of(*[90.0] * 10, name="cpu 7", role=StyleRole.LANE_1)]
    lines = GraphPainter().lines(picture(CurvePanel(LOAD, curves, 100.0)), 110, 20)
    assert texts(lines)[0].startswith(" Load  ━━ cpu 0 1.0 %  ━━ cpu 7 90.0 %")
    assert [role for text, role in lines[0] if "━" in text] == [StyleRole.LANE_0, StyleRole.LANE_1]
    assert texts(lines)[0].endswith("min 1.0 (cpu 0)  mean 45.5  max 90.0 % (cpu 7)")
    drawn = {role for line in lines[1:-3] for text, role in line if any("\u2800" < char <= "\u28ff" for char in text)}
    assert drawn == {StyleRole.LANE_0, StyleRole.LANE_1, StyleRole.CELL}


def test_long_names_do_not_push_numbers_out() -> None:
    curves = [of(*[1.0] * 10, name="a name of many words " * 2, role=StyleRole.LANE_0),
              of(*[90.0] * 10, name="another one", role=StyleRole.LANE_1)]
    lines = texts(GraphPainter().lines(picture(CurvePanel(LOAD, curves, 100.0)), 80, 20))
    assert any(line.rstrip().endswith("min 1.0  mean 45.5  max 90.0 %") for line in lines[:4])


def test_panels_have_their_own_scale_and_one_axis() -> None:
    lines = texts(GraphPainter().lines(picture(ONE, CurvePanel(CLOCK, [of(*[3100.0] * 10)])), 80, 24))
    first = next(line for line in lines if "100 %┤" in line)
    second = next(line for line in lines if "4,000 MHz┤" in line)
    assert first.index("┤") == second.index("┤")
    assert sum("▲" in line for line in lines) == 1


def test_below_zero_there_is_a_scale_too() -> None:
    lines = texts(GraphPainter().lines(picture(CurvePanel(LOAD, [of(*[-30.0] * 10)])), 80, 20))
    assert any(line.lstrip().startswith("0 %┤") for line in lines)
    assert any(line.lstrip().startswith("-30┤") for line in lines)


def test_a_curve_is_worked_out_once_while_the_cursor_moves() -> None:
    painter = GraphPainter()
    painter.lines(picture(ONE), 80, 20)
    before = {name: made for name, (_of, made) in painter._before.items()}
    assert len(before) == 3
    painter.lines(picture(ONE, at=7), 80, 20)
    assert all(painter._before[name][1] is made for name, made in before.items())
    painter.lines(picture(CurvePanel(LOAD, [of(1, 2)], 100.0)), 80, 20)
    assert all(painter._before[name][1] is not made for name, made in before.items())
