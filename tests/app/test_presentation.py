"""A user's units and thresholds change what is shown everywhere, and never what is computed."""

from __future__ import annotations

import pytest
from dashboard_driver import dashboard, lines, text_of
from hypothesis import given
from hypothesis import strategies as st
from scripted_machine import FakeSession

from turbotui.app.saved_views import CounterView
from turbotui.app.settings import parse_settings
from turbotui.quantities.columns import CounterColumn, ShownAs, Thresholds
from turbotui.quantities.filters import parse_filter
from turbotui.quantities.presentation import Limits, Presentation
from turbotui.quantities.scope import Scope
from turbotui.widgets.cells import StyleRole, alarm, cell_text, in_words
from turbotui.widgets.comparison import difference_in_words, difference_text
from turbotui.widgets.frame_rows import FrameContent
from turbotui.widgets.summary import Gauge, gauge_line
from turbotui.widgets.table_view import TableView, passes

FAHRENHEIT = Presentation(temperature="F")


def column_of(name: str, wanted: Presentation) -> CounterColumn:
    return wanted.of(FakeSession().catalog.by_id[name])


class TestUnits:
    @pytest.mark.parametrize(("celsius", "text"), [(0, "32"), (100, "212"), (-40, "-40"), (47, "117")])
    def test_a_temperature_is_shown_in_the_other_unit(self, celsius: float, text: str) -> None:
        column = column_of("CoreTmp", FAHRENHEIT)
        assert cell_text(column, celsius, 5).strip() == text
        assert in_words(column, celsius) == f"{text} °F"
        assert column.title == "CoreTmp°F"

    @given(st.floats(-200, 200))
    def test_what_is_shown_leads_back(self, celsius: float) -> None:
        shown = ShownAs("°F", 1.8, 32.0)
        assert shown.back(celsius * 1.8 + 32) == pytest.approx(celsius, abs=1e-9)

    def test_a_difference_has_no_offset(self) -> None:
        column = column_of("CoreTmp", FAHRENHEIT)
        assert difference_text(column, 10.0, 5).strip() == "+18"
        assert difference_in_words(column, 60.0, 50.0) == "+18 °F (from 122 °F to 140 °F)"

    def test_degrees_fahrenheit_have_room_for_one_digit_more(self) -> None:
        assert column_of("CoreTmp", FAHRENHEIT).width == FakeSession().catalog.by_id["CoreTmp"].width + 1

    def test_other_columns_and_what_is_computed_stay(self) -> None:
        session = FakeSession()
        assert FAHRENHEIT.of(session.catalog.by_id["Busy%"]) is session.catalog.by_id["Busy%"]
        session.frame()
        frame = session.frame()
        row = frame.rows(Scope.CORE)[0]
        assert frame.cell(column_of("CoreTmp", FAHRENHEIT), row) == frame.cell(session.catalog.by_id["CoreTmp"], row)

    def test_a_filter_compares_what_is_shown(self) -> None:
        session, column = FakeSession(), column_of("CoreTmp", FAHRENHEIT)
        session.frame()
        content = FrameContent(session.frame())
        view: CounterView = TableView(filter=parse_filter("CoreTmp>120", lambda _: column))
        kept = [row for row in content.rows if passes(content, view, row)]
        assert kept == [row for row in content.rows if content.value(column, row) * 1.8 + 32 > 120]  # type: ignore[operator]
        assert 0 < len(kept) < len(content.rows)

    def test_a_gauge_says_its_unit(self) -> None:
        line = gauge_line([Gauge("Hot", column_of("CoreTmp", FAHRENHEIT), 100.0)], 80, 0)
        assert "212 °F" in "".join(text for text, _ in line)

    async def test_table_line_and_titles_follow_the_settings(self) -> None:
        settings = parse_settings('[units]\ntemperature = "F"\nenergy = "J"\n', "s.toml")
        async with dashboard(FakeSession(), size=(200, 36), screen="cpus", settings=settings) as (app, _):
            assert not settings.problems
            assert "CoreTmp°F" in lines(app)[0]
            assert "Pkg_J" in lines(app)[0]
            assert " °F" in text_of(app, "summary")
            assert " °C" not in text_of(app, "summary")


class TestThresholds:
    @pytest.mark.parametrize(("limits", "low", "some", "much"), [
        (Limits(high=50, critical=90), None, StyleRole.AMBER, StyleRole.RED),
        (Limits(critical=60), None, None, StyleRole.RED),
        (Limits(high=10), StyleRole.AMBER, StyleRole.AMBER, StyleRole.AMBER),
        (Limits(high=50, critical=20), StyleRole.RED, StyleRole.AMBER, None),
    ])
    def test_marks_follow_them(self, limits: Limits, low: StyleRole | None, some: StyleRole | None,
                               much: StyleRole | None) -> None:
        column = column_of("Busy%", Presentation(limits={"Busy%": limits}))
        assert tuple(alarm(column, value) for value in (15.0, 50.0, 95.0)) == (low, some, much)

    def test_they_are_in_the_unit_that_is_shown(self) -> None:
        column = column_of("PkgTmp", Presentation("F", {"PkgTmp": Limits(high=140, critical=212, full=212, empty=32)}))
        assert column.thresholds == Thresholds(pytest.approx(60.0), pytest.approx(100.0))  # type: ignore[arg-type]
        assert column.scale is not None
        assert column.scale.ends(lambda _: None) == pytest.approx((0.0, 100.0))

    def test_one_of_both_leaves_the_other_as_it_is(self) -> None:
        column = column_of("PkgTmp", Presentation(limits={"PkgTmp": Limits(high=50)}))
        assert column.thresholds == Thresholds(50.0, 95.0)

    def test_twice_is_as_once(self) -> None:
        wanted = Presentation("F", {"PkgTmp": Limits(high=140)})
        assert wanted.of(wanted.of(FakeSession().catalog.by_id["PkgTmp"])) == column_of("PkgTmp", wanted)

    async def test_an_unknown_column_is_reported_with_its_line_and_the_others_hold(self) -> None:
        settings = parse_settings('[thresholds]\n"busy%" = {high = 1}\nNosuch = {high = 3}\n', "s.toml")
        async with dashboard(FakeSession(), screen="cpus", settings=settings) as (app, _):
            assert "s.toml, line 3: no column of CPUs is called Nosuch" in text_of(app, "status")
            assert "▲" in lines(app)[2]


@pytest.mark.parametrize(("text", "line"), [
    ('[units]\ntemperature = "K"\n', 2),
    ('[units]\nspeed = "c"\n', 2),
    ("[units]\ntemperature = [1]\n", 2),
    ("units = 5\n", 1),
    ("\n[thresholds]\nPkgTmp = 5\n", 3),
    ('[thresholds]\nPkgTmp = {high = "hot"}\n', 2),
    ("[thresholds]\nPkgTmp = {high = 5, colour = 1}\n", 2),
    ("thresholds = []\n", 1),
])
def test_what_is_wrong_is_reported_with_its_line(text: str, line: int) -> None:
    settings = parse_settings(text, "s.toml")
    assert [problem.split(":")[0] for problem in settings.problems] == [f"s.toml, line {line}"]
