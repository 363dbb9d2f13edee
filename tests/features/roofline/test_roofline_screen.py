"""The roofline screen: points of simulated machines, cursor, zoom, files, and what it says without counters."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from dashboard_driver import dashboard, until, until_read
from hypothesis import given
from hypothesis import strategies as st
from replayed_frames import ReplayedSession, roofline
from roofline_bed import Bed
from simulated_session import SimulatedSession
from textual import events
from textual.app import App
from textual.pilot import Pilot

from turbotui.app.dashboard import TurbotuiApp
from turbotui.features.roofline.plot import build_plot, plot_within
from turbotui.features.roofline.roof_plot import CURSOR, TRAIL, draw_roofs
from turbotui.features.roofline.screen import RooflineScreen
from turbotui.features.roofline.screen_text import side_lines
from turbotui.features.roofline.screen_view import MOST, RoofView
from turbotui.features.roofline.theory import chip_roofs
from turbotui.features.roofline.verdict_text import verdict_text
from turbotui.quantities.catalog.roofline import measured_definitions
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.widgets.canvas import Canvas, clip
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.explanation import explanation
from turbotui.widgets.segment_lines import SegmentLines
from turbotui.widgets.spark import BLOCKS


def _text(screen: App[int], name: str) -> str:
    return screen.screen_stack[0].query_one(f"#{name}", SegmentLines).text


async def test_a_point_is_read_out_with_its_roof() -> None:
    async with roofline(ReplayedSession("laptop-old+calculix")) as (app, _pilot, screen):
        point = screen.view.under_cursor
        assert point is not None
        assert point.row.scope is Scope.CORE
        assert point.intensity == pytest.approx(0.4 / 4.4, rel=0.02)
        status = _text(app, "status")
        assert "core " in status
        assert "AI ~0.0909 flop/B" in status
        assert "% of the" in status
        assert "no roof binds: latency, dependencies or waiting" in status
        assert CURSOR in screen.roof_plot.text
        assert "L1 384 GB/s" in screen.roof_plot.text
        assert "L1 0.167" in screen.roof_plot.text
        side = _text(app, "side")
        assert "theory at the highest clock, 4.00 GHz; not measured" in " ".join(side.split())
        assert "DRAM: 2 channels with 2 modules at 2400 MT/s" in " ".join(side.split())
        assert " per W " in side
        assert "counters were multiplexed" in side


async def test_flat_roofs_of_each_format_in_turn_and_no_points_under_those_of_int8() -> None:
    async with roofline(ReplayedSession("server-psu+calculix")) as (app, pilot, screen):
        seen = []
        for _ in range(4):
            await pilot.press("r")
            await pilot.pause()
            picture = screen.roof_plot.picture
            assert picture is not None
            seen.append(("AMX" in screen.roof_plot.text, picture.plot.y.title, bool(picture.dots)))
        assert seen == [(False, "GFLOP/s", True), (True, "GFLOP/s", True), (True, "GOP/s", False),
                        (False, "GFLOP/s", True)]
        assert "Flat roofs: those of the point" in _text(app, "status")
        for _ in range(3):
            await pilot.press("r")
        await pilot.pause()
        picture = screen.roof_plot.picture
        assert picture is not None
        heights = {line.name: line.end[1] for line in picture.plot.lines}
        clock = 3.8  # GHz: AMX multiplies 1,024 pairs of int8 a cycle, VNNI of two units 128
        assert heights["AMX FMA int8 7782 GOP/s"] == pytest.approx(2 * 1024 * clock)
        assert heights["AVX-512 VNNI FMA int8 972.8 GOP/s"] == pytest.approx(2 * 128 * clock)
        assert "op/byte" in picture.plot.x.title
        assert "roofs of int8" in " ".join(_text(app, "side").split())
        assert not picture.trail
        await pilot.press("right")
        await pilot.pause()
        assert "No point lies there" in _text(app, "status")


async def test_the_memorys_traffic_is_read_while_the_screen_is_looked_at_and_a_while_after() -> None:
    session = ReplayedSession("laptop-old+calculix")
    async with roofline(session) as (_app, pilot, screen):
        assert session.beside == screen.view.traffic.signals()
        assert any("imc" in name for name in session.beside)
        await pilot.press("1")
        await pilot.pause()
        assert session.beside == screen.view.traffic.signals()  # for five minutes: see app/column_requests.py


async def test_the_rooflines_counters_are_read_and_others_beside_them_after_it() -> None:
    session = ReplayedSession("laptop-old+tonto")
    async with roofline(session) as (_app, pilot, _screen):
        assert {"GFLOP/s", "CoreGB/s", "AI"} <= session.wanted
        await pilot.press("1")
        await pilot.pause()
        assert {"Busy%", "AI"} <= session.wanted  # the roofline is read on for five minutes


async def test_rows_go_from_cpus_to_the_whole_machine() -> None:
    async with roofline(ReplayedSession("sapphire-2s", 4)) as (_app, pilot, screen):
        seen = {}
        for _ in range(5):
            seen[screen.view.levels[screen.view.level].word] = len(screen.view.points)
            await pilot.press("t")
            await pilot.pause()
        assert seen == {"CPUs": 224, "cores": 112, "packages": 2, "whole machine": 1, "tasks": 0}
        placed = screen.view.placed
        assert placed
        assert sum(point.gflops for point in screen.view.points) > 0


async def test_the_trail_grows_by_a_point_each_interval_and_a_frame_counts_once() -> None:
    session = ReplayedSession("laptop-old+calculix")
    async with roofline(session, ticks=2) as (_app, pilot, screen):
        picture = screen.roof_plot.picture
        assert picture is not None
        before = len(picture.trail)
        session.tick()
        await pilot.pause()
        screen.show_frame()  # the same frame again, as on a return to the screen
        picture = screen.roof_plot.picture
        assert picture is not None
        assert len(picture.trail) == before + 1
        await pilot.press("v")
        await pilot.pause()
        picture = screen.roof_plot.picture
        assert picture is not None
        assert len(picture.trail) == 4 * (before + 1)  # four cores
        await pilot.press("v")
        await pilot.pause()
        picture = screen.roof_plot.picture
        assert picture is not None
        assert picture.trail == ()


async def test_the_cursor_moves_to_points_and_a_click_takes_the_nearest() -> None:
    async with roofline(ReplayedSession("sapphire-2s", 6)) as (app, pilot, screen):
        first = screen.view.cursor
        await pilot.press("n")
        await pilot.pause()
        assert screen.view.cursor != first
        placed = screen.view.placed
        places = screen.roof_plot.places
        inside = [(at, place) for at, place in enumerate(places) if place is not None]
        assert len(inside) > 10
        _at, place = min(inside, key=lambda item: item[1][0])
        await pilot.click("#roofs", offset=place)
        await pilot.pause()
        chosen = screen.view.under_cursor
        assert chosen is not None
        here = next(number for number, point in enumerate(placed) if point.row == chosen.row)
        assert screen.roof_plot.places[here] == place
        await pilot.press("right")
        await pilot.pause()
        moved = next(number for number, point in enumerate(placed) if point.row == screen.view.cursor)
        column = screen.roof_plot.places[moved]
        assert column is not None
        assert column[0] > place[0]
        for _ in range(len(placed)):
            await pilot.press("right")
        await pilot.pause()
        assert "No point lies there" in _text(app, "status")


async def test_the_table_keeps_its_height_when_points_go() -> None:
    async with roofline(ReplayedSession("sapphire-2s", 6)) as (_app, pilot, screen):
        before = screen.roof_plot.size.height
        assert before
        screen.view.points = ()
        screen._fit_table()
        await pilot.pause()
        assert screen.roof_plot.size.height == before


async def test_zoom_and_pan_keep_the_axes_until_everything_is_asked_for() -> None:
    session = ReplayedSession("laptop-old+tonto")
    async with roofline(session) as (_app, pilot, screen):
        whole = screen.view.plot()
        await pilot.press("right_square_bracket")
        await pilot.pause()
        near = screen.view.plot()
        assert whole is not None
        assert near is not None
        assert near.x.high / near.x.low < whole.x.high / whole.x.low
        session.tick()
        await pilot.pause()
        assert screen.view.plot() == near
        await pilot.press("L", "K")
        await pilot.pause()
        moved = screen.view.plot()
        assert moved is not None
        assert moved.x.low > near.x.low
        assert moved.y.low > near.y.low
        await pilot.press("A")
        await pilot.pause()
        assert screen.view.plot() == whole
        assert "All points are in sight" in screen.view.axes.whole()  # asked for twice


async def test_no_zoom_and_no_pan_leads_out_of_the_world() -> None:
    async with roofline(ReplayedSession("laptop-old+tonto")) as (app, pilot, screen):
        for key in ("left_square_bracket", "right_square_bracket", "H", "J", "L", "K"):
            for _ in range(150):
                app.post_message(events.Key(key, None if "_" in key else key))
            await pilot.press("shift+f12")  # no action's key: it is the last to go through the gate
            plot = screen.view.plot()
            assert plot is not None
            assert 0 < plot.x.low < plot.x.high
            assert 0 < plot.y.low < plot.y.high


async def test_going_through_the_levels_counts_no_interval_twice() -> None:
    async with roofline(ReplayedSession("laptop-old+tonto"), ticks=4) as (_app, pilot, screen):
        levels = len(screen.view.levels)
        before = screen.view.past
        for _ in range(levels):
            await pilot.press("t")
        await pilot.pause()
        assert screen.view.past == before
        assert len(screen.view._past[SYSTEM_ROW]) == 4


async def test_the_filter_of_the_table_is_that_of_the_picture() -> None:
    async with roofline(ReplayedSession("sapphire-2s", 6)) as (app, pilot, screen):
        every = screen.view.placed
        assert screen.table.lines[0].row == screen.view.cursor  # the fastest stands on top
        await pilot.press("backslash", *"AI<0.01", "enter")
        await pilot.pause()
        rows = {line.row for line in screen.table.lines}
        assert 0 < len(rows) < len(every)
        assert {point.identity for point in screen.view.placed} == {
            point.identity for point in every if point.intensity is not None and point.intensity < 0.01}
        assert screen.view.cursor in rows
        assert f"filter AI<0.01: {len(rows)} rows" in _text(app, "status")
        picture = screen.roof_plot.picture
        assert picture is not None
        assert len(picture.dots) == len(rows)


async def test_a_point_stays_under_the_cursor_while_rows_change_places_and_is_drawn_with_it() -> None:
    session = ReplayedSession("sapphire-2s", 6)
    async with roofline(session) as (_app, pilot, screen):
        await pilot.press("j", "j", "l", "x")
        await pilot.pause()
        chosen = screen.view.cursor
        assert screen.table.view.tags
        session.tick()
        await pilot.pause()
        assert screen.table.current == screen.view.cursor == chosen
        picture = screen.roof_plot.picture
        assert picture is not None
        assert picture.cursor is not None
        assert screen.view.placed[picture.cursor].identity == chosen
        assert screen.readout().startswith("GB/s · ")


async def test_every_cell_of_a_point_is_explained_by_what_was_counted() -> None:
    async with roofline(ReplayedSession("laptop-old+calculix")) as (_app, _pilot, screen):
        content, row = screen.table.content, screen.view.cursor
        assert content is not None
        words = {column.id: "\n".join(explanation(content, column, row)) for column in screen.known_columns}
        point = screen.view.under_cursor
        assert point is not None
        sentence = verdict_text(point, screen.view.roofs(point.row))
        assert all(sentence in " ".join(text.split()) for text in words.values())
        assert f"= {point.gflops:.3f} GFLOP/s" in words["GFLOP/s"]
        assert "ΣΔroofline.skylake.scalar_double = " in words["GFLOP/s"]
        assert "FP_ARITH_INST_RETIRED" in words["of roof"]
        assert len(words["AI"].split("AI = ")) == 2


async def test_a_point_is_shown_at_each_memory_level_and_what_binds_is_reported() -> None:
    async with roofline(ReplayedSession("laptop-old+calculix")) as (_app, pilot, screen):
        before = {column.id for column in screen.wanted}
        await pilot.press("E")
        assert {column.id for column in screen.wanted} - before == {"L2GB/s", "L3GB/s"}
        screen.show_frame()
        verdict = screen.view.by_level
        point = screen.view.under_cursor
        assert verdict is not None
        assert point is not None
        assert [level_point.level for level_point in verdict.points][:2] == ["L1", "L2"]
        assert verdict.points[0].intensity == pytest.approx(point.intensity)
        assert screen.readout().startswith(f"{point.name}: ")
        assert verdict.sentence in screen.readout()
        words = "\n".join("".join(text for text, _role in line) for line in side_lines(screen.view, (), [], (), 0))
        assert "by memory level" in words
        await pilot.press("E")
        assert screen.view.by_level is None
        assert {column.id for column in screen.wanted} == before


async def test_the_width_of_an_access_can_be_given_and_the_past_is_sized_again() -> None:
    session = ReplayedSession("laptop-old+tonto")
    async with roofline(session) as (app, pilot, screen):
        await pilot.press("w", "w", "w")  # precision, 8 bytes, 16 bytes
        await pilot.pause()
        point = screen.view.under_cursor
        assert point is not None
        assert point.intensity == pytest.approx(0.6 / (0.4 * 16), rel=0.02)
        assert "16 bytes" in _text(app, "status")
        assert [roofline_point.intensity for roofline_point in screen.view.past] == pytest.approx(
            [point.intensity] * len(screen.view.past), rel=1e-6)


async def test_picture_and_points_are_saved_beside_older_files(tmp_path: Path,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with roofline(ReplayedSession("laptop-old+tonto")) as (app, pilot, _screen):
        for key in ("S", "S", "X"):
            await pilot.press(key)
            await pilot.pause()
            assert "Saved " in _text(app, "status")
    _check_saved(tmp_path)


def _check_saved(tmp_path: Path) -> None:
    drawings = sorted(tmp_path.glob("turbotui-roofline-laptop-old+tonto-*.svg"))
    tables = list(tmp_path.glob("*.csv"))
    assert (len(drawings), len(tables)) == (2, 1)
    texts = "".join(ET.fromstring(drawings[0].read_text("utf-8")).itertext())  # noqa: S314 - our own file
    assert "SIMULATED machine laptop-old+tonto" in texts
    with tables[0].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["machine"], row["kind"]) for row in rows} == {("laptop-old+tonto", "SIMULATED")}
    assert len(rows) >= 8  # four cores, two intervals
    assert {(row["length"], row["rates per"]) for row in rows} == {("1.000000000", "second of the interval")}
    assert float(rows[0]["AI"]) == pytest.approx(0.1875, rel=0.02)


async def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    async with roofline(ReplayedSession("laptop-old+tonto")) as (app, pilot, _screen):
        gone.rmdir()
        await pilot.press("S")
        await pilot.pause()
        assert "Not saved" in _text(app, "status")


async def test_without_counters_it_says_which_and_offers_a_simulated_machine(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with roofline(ReplayedSession("guest", 4)) as (app, pilot, screen):
        text = _text(app, "missing")
        assert "virtual machine" in text
        assert "cpu" in text
        assert "turbotui --machine laptop-old+calculix" in text
        assert screen.view.points == ()
        await pilot.press(*"tyPwnjkhlgxbASXe", "escape")  # nothing fails
        await pilot.pause()
        assert "RooflineScreen" in type(app.screen_stack[0]).__name__


def test_cores_without_a_spec_sheet_have_points_and_no_roofs() -> None:
    bed = Bed("forest-1s")
    later = replace(bed.machine, model=replace(bed.machine.model, model=0x86))  # Tremont: no sheet here
    view = RoofView(later, measured_definitions(bed.capabilities.signals), {})
    view.take(bed.frames(1.0, 1)[0], estimated=False)
    assert view.placed
    assert view.choice.roofs is None
    assert "no spec sheet" in view.choice.source
    picture = view.picture()
    assert picture is not None
    assert picture.plot.lines == ()
    assert view.memory == ""


def test_a_frame_of_the_past_is_remembered_once() -> None:
    bed = Bed("laptop-old+tonto")
    view = RoofView(bed.machine, measured_definitions(bed.capabilities.signals), {})
    frames = list(bed.frames(1.0, 4))
    for frame in (*frames[:3], frames[0], frames[1], frames[3]):
        view.take(frame, estimated=False)
    seconds = [point.seconds for point in view._past[SYSTEM_ROW]]
    assert len(seconds) == 4
    assert seconds == sorted(set(seconds))


async def test_the_trail_has_what_was_read_during_a_look_back_and_another_screen() -> None:
    session = SimulatedSession("laptop-old+tonto")
    async with roofline(session, ticks=3) as (app, pilot, screen):  # type: ignore[arg-type]  # has what is asked for
        flops = session.catalog.by_id["GFLOP/s"]
        for away, back in (("comma", "backspace"), ("1", "6")):
            screen._unseen = None
            await pilot.press(away)
            for _ in range(4):
                session.tick()
                await pilot.pause()
            await pilot.press(back)
            session.tick()
            await pilot.pause()
            await until(pilot, lambda: screen._unseen is not None and screen._unseen.done())
            cursor = app.watched.cursor
            assert cursor is not None
            kept = [frame for time_ns in cursor.timeline.times if (frame := cursor.timeline.frame(time_ns)) is not None]
            counted = [frame.seq for frame in kept if frame.cell(flops, SYSTEM_ROW) is not None]
            for points in screen.view._past.values():
                assert [point.seconds for point in points] == counted


async def _trail(pilot: Pilot[int], screen: RooflineScreen) -> Sequence[tuple[float, float]]:
    """The trail, once all of it was read."""
    await until(pilot, lambda: not screen.view.lacking(screen._times) and (
        screen._unseen is None or screen._unseen.done()))
    picture = screen.view.picture()
    assert picture is not None
    return picture.trail


async def test_the_trail_leads_to_the_shown_moment_whatever_was_shown_before() -> None:
    session = SimulatedSession("laptop-old+tonto")
    async with roofline(session, ticks=5) as (_app, pilot, screen):  # type: ignore[arg-type]  # has what is asked for
        now = await _trail(pilot, screen)
        assert len(now) >= 4
        await pilot.press("comma", "comma")
        assert await _trail(pilot, screen) == now[:-2]
        await pilot.press("backspace")
        for _level in screen.view.levels:
            await pilot.press("t")
        assert await _trail(pilot, screen) == now
        await pilot.press("t", "t")
        for _ in range(2):
            session.tick()
            await pilot.pause()
        await pilot.press(*["t"] * (len(screen.view.levels) - 2))
        later = await _trail(pilot, screen)
        assert (later[:-2], len(later)) == (now, len(now) + 2)


async def test_a_width_of_accesses_has_a_trail_of_all_kept_intervals() -> None:
    session = SimulatedSession("laptop-old+tonto")
    async with roofline(session, ticks=5) as (_app, pilot, screen):  # type: ignore[arg-type]  # has what is asked for
        before = await _trail(pilot, screen)
        await pilot.press("w")
        assert len(await _trail(pilot, screen)) == len(before)


async def test_points_without_floating_point_work_are_counted_not_hidden() -> None:
    async with roofline(ReplayedSession("sapphire-2s", 4)) as (app, _pilot, screen):
        view = screen.view
        note = f"{len(view.points) - len(view.placed)} without floating-point work"
        assert (note in _text(app, "side")) == (len(view.placed) < len(view.points))
        assert len(view.placed) - screen.roof_plot.outside == sum(
            place is not None for place in screen.roof_plot.places)


# The canvas

_PLACE = st.floats(-3.0, 4.0)


@given(_PLACE, _PLACE, _PLACE, _PLACE)
def test_what_is_clipped_is_inside_and_on_the_line(x0: float, y0: float, x1: float, y1: float) -> None:
    result = clip((x0, y0), (x1, y1))
    inside = [0 <= x <= 1 and 0 <= y <= 1
              for x, y in ((x0 + (x1 - x0) * at / 50, y0 + (y1 - y0) * at / 50) for at in range(51))]
    if result is None:
        assert not any(inside)
        return
    for x, y in result:
        assert 0 <= x <= 1
        assert 0 <= y <= 1
        assert (x - x0) * (y1 - y0) == pytest.approx((y - y0) * (x1 - x0), abs=1e-6)


@given(st.integers(1, 60), st.integers(1, 30), st.tuples(_PLACE, _PLACE), st.tuples(_PLACE, _PLACE))
def test_a_canvas_has_its_size_whatever_is_drawn(width: int, height: int, start: tuple[float, float],
                                                 end: tuple[float, float]) -> None:
    canvas = Canvas(width, height)
    canvas.line(start, end, StyleRole.SPARK)
    place = canvas.cell(*start)
    if place is not None:
        canvas.mark(*place, "o", StyleRole.SUMMARY)
    lines = ["".join(text for text, _ in canvas.segments(y)) for y in range(height)]
    assert all(len(line) == width for line in lines)
    assert sum(line.count("o") for line in lines) == (place is not None)


def test_texts_do_not_cover_each_other() -> None:
    canvas = Canvas(20, 2)
    assert canvas.text(2, 0, "first", StyleRole.DIM)
    assert not canvas.text(6, 0, "second", StyleRole.DIM)
    assert canvas.text(6, 1, "second", StyleRole.DIM)
    assert not canvas.text(16, 0, "too long", StyleRole.DIM)
    assert not canvas.text(0, 2, "below", StyleRole.DIM)


def test_roofs_meet_where_the_model_says() -> None:
    plot = build_plot(chip_roofs("i7-3770K", "all"))
    canvas = draw_roofs(plot, 100, 30, short=False)
    text = ["".join(segment for segment, _ in canvas.segments(y)) for y in range(30)]
    for mark in plot.ridges:
        place = canvas.cell(plot.x.place(mark.intensity), plot.y.place(mark.gflops))
        assert place is not None
        assert text[place[1]][place[0]] == "┬"
    whole = "\n".join(text)
    for name in ("L1 672 GB/s", "DRAM 29.86 GB/s", "AVX ADD+MUL double 112 GFLOP/s", "DRAM 3.75", "L1 0.167"):
        assert name in whole


def test_roofs_stay_on_any_axes() -> None:
    roofs = chip_roofs("i7-3770K", "all")
    plot = build_plot(roofs)
    for factor, at in ((40.0, 0.3), (40.0, 20.0), (0.01, 1.0)):
        x, y = plot.x.zoomed(factor, at), plot.y.zoomed(factor, 50.0)
        near = plot_within(roofs, x, y)
        for line in near.lines:
            (x0, y0), (x1, y1) = line.start, line.end
            if x0 != x1 and y0 != y1:
                assert y0 / x0 == pytest.approx(y1 / x1)  # slanted ones keep their bandwidth
        draw_roofs(near, 80, 20, short=True)


def test_the_past_has_four_ages_told_apart_without_colour() -> None:
    assert len({role for _, role in TRAIL}) == 4
    assert len({mark for mark, _ in TRAIL}) >= 3
    assert MOST >= 2_000


async def test_the_machines_curves_have_the_intervals_that_nobody_saw() -> None:
    session = ReplayedSession("laptop-old+calculix", 12)
    async with dashboard(session, ticks=2) as (app, pilot):  # type: ignore[arg-type]  # it ticks alike
        await pilot.press("6")
        for keys, ticks in (((), 2), (("space",), 3), (("1", "space"), 2), (("6",), 2)):
            await pilot.press(*keys)
            await pilot.pause()
            for _ in range(ticks):
                session.tick()
                await pilot.pause()
        await until_read(app, pilot)
        side = app.screen.query_one("#side", SegmentLines).text.split("\n")
        curves = [line for line in side if line.startswith((" power", " all", " per W"))]
        drawn = [sum(letter in BLOCKS for letter in line) for line in curves]
        assert drawn == [11, 10, 10], "of eleven, of which the first ends at a reading that the past does not have"


def test_points_stand_beside_names_and_never_in_their_numbers() -> None:
    ground = Canvas(20, 2)
    assert ground.text(2, 0, "L2 243.2 GB/s", StyleRole.DIM)
    canvas = ground.copy()
    for column in range(20):
        canvas.draw_char(column, 0, "o", StyleRole.SUMMARY)
    assert "".join(text for text, _role in canvas.segments(0)) == "ooL2o243.2oGB/sooooo"
    canvas.draw_char(0, 0, "△", StyleRole.SUMMARY)
    assert "".join(text for text, _role in canvas.segments(0)).startswith("△oL2")


# Pictures that were looked at

SnapCompare = Callable[..., bool]


@pytest.mark.parametrize(("machine", "size", "keys"), [
    ("laptop-old+calculix", (80, 24), ()), ("laptop-old+calculix", (120, 36), ("v",)),
    ("sapphire-2s", (200, 60), ("v",)), ("guest", (80, 24), ()),
], ids=["narrow", "usual", "server", "guest"])
def test_pictures(snap_compare: SnapCompare, machine: str, size: tuple[int, int], keys: tuple[str, ...]) -> None:
    session = ReplayedSession(machine, 12)
    app = TurbotuiApp(session)

    async def run(pilot: Pilot[int]) -> None:
        await pilot.pause()
        await pilot.press("6", *keys)
        await pilot.pause()
        for _ in range(11):
            session.tick()
            await pilot.pause()
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=run)
