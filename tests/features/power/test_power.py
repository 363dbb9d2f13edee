"""The power screen, on simulated machines whose load is known."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest
from dashboard_driver import dashboard, text_of, until_read
from hypothesis import given
from hypothesis import strategies as st
from replayed_machine import Recording, ReplayedSession, is_shown, recording
from scripted_machine import GUEST_SIGNALS, FakeSession, Script, build_topology
from textual.app import App
from textual.pilot import Pilot

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.graph import Explain, Graph
from turbotui.app.one_cell import FrameCell
from turbotui.features.power.domains import difference
from turbotui.features.power.screen import PowerScreen
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.signals import Raw, SignalId
from turbotui.widgets.bars import LAYERS, BarMark, bar, labels, stacked
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.panel import Panel, Span, inner_width, panel_line, plan
from turbotui.widgets.panel_grid import PanelGrid

SnapCompare = Callable[..., bool]


@pytest.fixture(scope="module")
def hot_laptop() -> Recording:
    """A laptop whose cores all work from the 18th second on, which brings PL2, then heat."""
    return recording("laptop", 12.0, 16, read=is_shown)


@pytest.fixture(scope="module")
def server() -> Recording:
    """The first package at work from the 20th second on: PL2, then PL1."""
    return recording("sapphire-2s", 17.0, 14, read=is_shown)


@pytest.fixture(scope="module")
def amd() -> Recording:
    return recording("turin-2s", 17.0, 14, read=is_shown)


@pytest.fixture(scope="module")
def big() -> Recording:
    return recording("big-8s", 10.0, 3, few=True, small=True)


@pytest.fixture(scope="module")
def on_battery() -> Recording:
    return recording("laptop-gpu", 10.0, 6, few=True)


@pytest.fixture(scope="module")
def card_asleep() -> Recording:
    """The graphics card sleeps from the 25th second on."""
    return recording("laptop-gpu", 22.0, 8, few=True)


@pytest.fixture(scope="module")
def supplied() -> Recording:
    return recording("server-psu", 10.0, 6, few=True, small=True)


@pytest.fixture(scope="module")
def grace() -> Recording:
    return recording("grace-2s", 10.0, 6, few=True, small=True)


@pytest.fixture(scope="module")
def guest() -> Recording:
    return recording("guest", 10.0, 6)


def grid(app: TurbotuiApp) -> PanelGrid:
    screen = app.screen_stack[0]
    assert isinstance(screen, PowerScreen)
    return screen.grid


async def go(pilot: Pilot[int], session: FakeSession, *keys: str, ticks: int = 0) -> None:
    if keys:
        await pilot.press(*keys)
        await pilot.pause()
    for _ in range(ticks):
        session.tick()
        await pilot.pause()


async def test_a_package_that_there_is_not_is_reported(hot_laptop: Recording) -> None:
    session = ReplayedSession(hot_laptop)
    async with dashboard(session, ticks=1) as (app, pilot):
        await go(pilot, session, "4")
        for keys in (("pagedown", "pageup"), ("down", "up"), ("end", "home")):
            for key, which in zip(keys, ("last", "first"), strict=True):
                await go(pilot, session, key)
                assert f"This is the {which} package" in text_of(app, "status"), key


async def test_the_sentence_and_the_numbers_of_a_hot_laptop(hot_laptop: Recording) -> None:
    session = ReplayedSession(hot_laptop)
    async with dashboard(session, ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=14)
        frame = session.latest
        assert frame is not None
        row = frame.rows(Scope.PACKAGE)[0]
        mhz, watts = (frame.cell(session.catalog.by_id[name], row) for name in ("Bzy_MHz", "PkgWatt"))
        assert f"Package 0 is held at {mhz:,.0f} of 4,300 MHz by heat" in text_of(app, "headline")
        assert "tj_max 110 °C" in text_of(app, "headline")
        assert "counted the time" in text_of(app, "headline")
        shown = grid(app).text
        assert f"{watts:,.1f} W" in shown
        for words in ("▲ heat", "TDP PL1 28", "PL2 64", "tj_max 110", "base 1,400", "all 4,300", "one 4,800",
                      "▲Thermal", "PL4 114", "cores", "graphics", "rest", "memory", "whole machine", "by psys",
                      "elsewhere"):
            assert words in shown


async def test_the_past_beside_a_bar_ends_with_the_interval_that_is_shown(server: Recording) -> None:
    session = ReplayedSession(server)
    async with dashboard(session, ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=6)
        shown = grid(app).text
        screen = app.screen
        assert isinstance(screen, PowerScreen)
        screen.show_frame()
        assert grid(app).text == shown


async def test_room_below_the_panels_has_charts_of_the_row_under_the_cursor(server: Recording) -> None:
    session = ReplayedSession(server)
    async with dashboard(session, (200, 60), ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=4)
        assert re.search(r"(?m)^ whole machine over \d+ s\n *SysWatt ", grid(app).text)
        await go(pilot, session, "down", ticks=2)
        assert re.search(r"(?m)^ package 0 over \d+ s\n *PkgWatt ", grid(app).text)
        assert grid(app).max_scroll_y == 0
        await pilot.resize_terminal(120, 36)
        await go(pilot, session, ticks=1)
        beside = re.search(r"(?m)^│.{57}│ +package 0 over \d+ s", grid(app).text)
        assert beside is not None, "where the last of three panels has no neighbour"
        assert grid(app).text.count(" over ") == 1
        await pilot.resize_terminal(80, 24)
        await go(pilot, session, ticks=1)
        assert " over " not in grid(app).text


async def test_each_package_has_a_panel_and_the_headline_is_of_the_one_held_back(server: Recording) -> None:
    session = ReplayedSession(server)
    async with dashboard(session, ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=12)
        assert text_of(app, "headline").startswith(" ▲ Package 0 is held at")
        assert "by PL1 (" in text_of(app, "headline")
        names = [panel.title.split(" · ")[0] for panel in grid(app).panels]
        assert names == ["whole machine", "package 0", "package 1"]
        assert "not held back" in grid(app).panels[2].title


async def test_arrows_choose_package_and_number_and_e_and_g_are_about_it(server: Recording) -> None:
    session = ReplayedSession(server)
    async with dashboard(session, ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=10)
        assert grid(app).target == (session.catalog.by_id["SysWatt"], SYSTEM_ROW)
        await go(pilot, session, "down", "down", "right")
        target = grid(app).target
        assert target is not None
        assert (target[0].id, target[1]) == ("PL1", RowId(Scope.PACKAGE, (1,)))
        assert text_of(app, "status").startswith(" PL1  package 1  350 W  Sustained power limit")
        session.tick()  # the cursor stays where it is
        await pilot.pause()
        assert grid(app).target == target
        await go(pilot, session, "e")
        window = app.screen
        assert isinstance(window, Explain)
        title = window.query_one(".window").border_title
        assert title is not None
        assert title.startswith("PL1 · package 1 · 350 W")
        await go(pilot, session, "escape", "g")
        assert isinstance(app.screen, Graph)
        await go(pilot, session, "escape", "up", "up", "left", "left")
        assert grid(app).target == (session.catalog.by_id["SysWatt"], SYSTEM_ROW)


async def test_right_leads_through_every_number_of_every_panel_and_left_back(server: Recording) -> None:
    session = ReplayedSession(server)
    async with dashboard(session, ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=10)
        expected = [(at, number) for at, panel in enumerate(grid(app).panels) for number in range(len(panel.targets))]
        await go(pilot, session, "home", "left")
        seen = [grid(app).place]
        for _ in expected:  # once more than there are numbers to go to: the last one is the end
            await go(pilot, session, "right")
            seen.append(grid(app).place)
        assert seen == [*expected, expected[-1]]
        for _ in expected:
            seen.append(grid(app).place)
            await go(pilot, session, "left")
        assert seen[-len(expected):] == expected[::-1]
        assert grid(app).place == expected[0]


async def test_words_cannot_be_drawn(server: Recording) -> None:
    session = ReplayedSession(server)
    async with dashboard(session, ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=8)
        await go(pilot, session, "down")
        while grid(app).target is not None and grid(app).target[0].id != "Throttle":  # type: ignore[index]  # not None
            await go(pilot, session, "right")
        await go(pilot, session, "g")
        assert not isinstance(app.screen, Graph)
        assert "words, not numbers" in text_of(app, "status")
        await go(pilot, session, "e")
        assert isinstance(app.screen, Explain)


async def test_a_click_chooses_a_number_and_a_second_one_explains_it(server: Recording) -> None:
    session = ReplayedSession(server)
    async with dashboard(session, ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=8)
        lines = grid(app).text.splitlines()
        y = next(at for at, line in enumerate(lines) if "TDP PL1 350" in line)
        x = lines[y].rindex("PL2 420") + 2
        await pilot.click("#panels", offset=(x, y))
        await pilot.pause()
        target = grid(app).target
        assert target is not None
        assert (target[0].id, target[1].key) == ("PL2", (0,))
        await pilot.click("#panels", offset=(x, y), times=2)
        await pilot.pause()
        assert isinstance(app.screen, Explain)


async def test_nothing_of_it_is_read_before_the_screen_is_shown(server: Recording) -> None:
    session = ReplayedSession(server)
    selected = {"PL1", "PL2", "TDP", "PkgThr%", "MaxMHz", "EPP", "CoreLog", "ThrLog"}
    async with dashboard(session, ticks=2) as (app, pilot):
        assert selected.isdisjoint(session.wanted)
        await go(pilot, session, "4", ticks=1)
        assert selected <= session.wanted
        assert "CurMHz" not in session.wanted  # there are better ones
        await go(pilot, session, "1", ticks=1)
        assert selected <= session.wanted, "for some minutes longer"
        assert app.current_mode == "cpus"


async def test_verdicts_continue_while_the_picture_is_paused(server: Recording) -> None:
    session = ReplayedSession(server)
    async with dashboard(session, ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=4)
        await go(pilot, session, "space")
        before = text_of(app, "headline")
        await go(pilot, session, ticks=7)
        assert text_of(app, "headline") == before
        await go(pilot, session, "space")
        assert "of the last 11 s" in text_of(app, "headline")


async def test_a_guest_says_in_one_line_each_what_is_missing_and_why(guest: Recording) -> None:
    session = ReplayedSession(guest)
    async with dashboard(session, size=(80, 24), ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=3)
        assert "cannot be told" in text_of(app, "headline")
        inside = [line.strip("│ ") for line in grid(app).text.splitlines()[1:-1]]
        for what in ("power", "power limits", "temperature", "clock", "throttle reasons"):
            assert sum(line.startswith(f"No {what}: ") for line in inside) == 1
        assert "…" not in grid(app).text  # there is room for every reason and remedy
        assert "modprobe msr" in inside
        assert "virtual machine: " in text_of(app, "status")
        assert "┃" not in grid(app).text
        await go(pilot, session, "e")
        window = app.screen
        assert isinstance(window, Explain)
        frame, power = session.latest, session.catalog.by_id["PkgWatt"]
        assert frame is not None
        said = FrameCell(app.watched, power, frame.rows(Scope.PACKAGE)[0]).lines(96)
        assert any(line.startswith("unknown: virtual machine") for line in said)


async def test_a_machine_without_power_limits_shows_what_it_has(amd: Recording) -> None:
    session = ReplayedSession(amd)
    async with dashboard(session, ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=12)
        assert "What holds package 0 at" in text_of(app, "headline")
        shown = grid(app).text
        assert "No power limits: " in shown
        assert "No throttle reasons: " in shown
        assert "heat" in shown
        assert "top 4,500" in shown
        assert "PL1" not in shown
        assert "package 1 · nothing seen" in shown


async def test_eight_packages_scroll(big: Recording) -> None:
    session = ReplayedSession(big)
    async with dashboard(session, size=(80, 24), ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=2)
        panels = grid(app)
        assert len(panels.panels) == 9
        for number in range(8):
            await go(pilot, session, "down")
            top = panels.scroll_offset.y
            seen = panels.text.splitlines()[top : top + panels.size.height]
            assert any(f" package {number} " in line for line in seen), number
        await go(pilot, session, "home")
        assert panels.scroll_offset.y == 0
        await go(pilot, session, "end")
        assert panels.at == 8
        await go(pilot, session, "pageup")
        assert panels.at < 8


async def test_panels_fit_any_size(server: Recording) -> None:
    session = ReplayedSession(server)
    sizes = ((300, 90), (200, 60), (120, 36), (80, 24), (40, 10))
    async with dashboard(session, size=sizes[0], ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=3)
        for size in sizes:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            panels, _blank, charts = grid(app).text.partition("\n\n")
            assert max(len(line) for line in grid(app).text.splitlines()) <= size[0]
            assert all(line[0] in "┌│└" for line in panels.splitlines())
            assert bool(charts) == (size >= (200, 60))


async def test_what_matters_can_be_read_at_80_by_24_without_scrolling(on_battery: Recording) -> None:
    session = ReplayedSession(on_battery)
    async with dashboard(session, size=(80, 24), ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=4)
        seen = "\n".join(grid(app).text.splitlines()[: grid(app).size.height])
        for words in ("W by psys", "package", "memory", "GPU0", "elsewhere", "battery", "discharging", "h left", "NPU0",
                      "fans", "TDP PL1 28", "PL2 64", "tj_max 110", "clock"):
            assert words in seen, words
        assert not grid(app).scroll_offset.y


async def test_a_card_that_sleeps_says_so_and_its_past_hides_nothing(card_asleep: Recording) -> None:
    session = ReplayedSession(card_asleep)
    async with dashboard(session, ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=6)
        assert any("GPU0" in line and "asleep" in line for line in grid(app).text.splitlines())
        line = next(line for line in grid(app).text.splitlines() if "elsewhere" in line)
        assert line.split("│")[1].rstrip()[-1] in "▁▂▃▄▅▆▇", "a spark of the past, beside a bar of now"


async def test_a_package_without_rapl_has_the_watts_of_its_socket_s_meters(grace: Recording) -> None:
    session = ReplayedSession(grace)
    async with dashboard(session, size=(200, 60), ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=2)
        assert "W by Meter0" in grid(app).panels[0].title
        lines = ["".join(span.text for span in line) for line in grid(app).panels[1].lines]
        assert any(line.startswith("socket ") for line in lines)
        assert any(line.startswith("CPU rail ") for line in lines)
        assert not any(line.startswith("No power: ") for line in lines)
        assert any(line.startswith("No power limits: ") for line in lines)


_AMOUNT = re.compile(r" *([\d,]+\.\d) W *")


@pytest.fixture(params=["hot_laptop", "server", "supplied", "card_asleep", "amd", "grace"])
def powered(request: pytest.FixtureRequest) -> Recording:
    """Every machine that reports power."""
    result: Recording = request.getfixturevalue(request.param)
    return result


async def test_every_number_of_watts_is_a_cell_that_has_this_number(powered: Recording) -> None:
    session = ReplayedSession(powered)
    async with dashboard(session, size=(200, 60), ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=5)
        frame = session.latest
        assert frame is not None
        seen = set[str]()
        for span in (span for panel in grid(app).panels for line in panel.lines for span in line):
            said = _AMOUNT.fullmatch(span.text)
            if said is not None:
                assert span.target is not None, span
                column, row = span.target
                value = frame.cell(column, row)
                assert isinstance(value, float)
                assert f"{value:,.1f}" == said[1], span
                seen.add(column.id)
                evidence = FrameCell(app.watched, column, row).lines(160)
                assert f"= {value:,.2f} W" in "\n".join(evidence), evidence
        assert ("░ elsewhere" in grid(app).text) == ("elsewhere" in seen)
        assert (" rest " in grid(app).text) == ("rest" in seen)


async def test_what_is_elsewhere_is_explained_drawn_found_and_copied_as_any_cell(on_battery: Recording) -> None:
    session = ReplayedSession(on_battery)
    async with dashboard(session, ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=2)
        await go(pilot, session, "slash", *"elsewh", "enter", ticks=1)
        target = grid(app).target
        assert target is not None
        column, row = target
        assert (column.id, row) == ("elsewhere", SYSTEM_ROW)
        assert text_of(app, "status").startswith(" elsewhere  whole machine")
        screen, frame = app.screen, session.latest
        assert isinstance(screen, PowerScreen)
        assert frame is not None
        value = frame.cell(column, row)
        assert f"elsewhere · whole machine · {value:.2f} W" in screen.copied()
        await go(pilot, session, "e")
        window = app.screen
        assert isinstance(window, Explain)
        FrameCell(app.watched, column, row).lines(160)  # asks for its past
        await until_read(app, pilot)
        lines = "\n".join(FrameCell(app.watched, column, row).lines(160))
        assert "max(0, Δenergy.psys" in lines, lines
        assert "over 3 intervals" in lines, lines  # with the one before the screen was shown
        await go(pilot, session, "g", ticks=1)
        assert isinstance(app.screen, Graph)


async def test_contradictions_are_reported_on_the_screen(supplied: Recording) -> None:
    session = ReplayedSession(supplied)
    async with dashboard(session, size=(200, 60), ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=4)
        assert "W by power supplies" in grid(app).text
        assert "exceed psys" in grid(app).text


async def test_the_picture_of_the_past_fills_its_width_however_short_the_past_is(server: Recording) -> None:
    session = ReplayedSession(server)
    async with dashboard(session, size=(120, 90), ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=8)
        lines = grid(app).text.splitlines()
        bottom = next(line for line in lines if "0 W ┤" in line)
        assert bottom.split("│")[1].rstrip(" ") == bottom.split("│")[1][:-1], "one blank before the frame, no more"
        assert bottom.partition("┤")[2][0] != " "
        axis = lines[lines.index(bottom) + 1]
        assert "└ 8 s ───" in axis


class Boundless(Script):
    """Firmware that set no sustained limit writes the greatest number there is room for."""

    def _gauge(self, name: SignalId, position: int, tick: int) -> Raw:
        return 4095 if name == "limit.pkg.pl1" else super()._gauge(name, position, tick)


async def test_a_limit_that_is_none_is_reported_and_is_no_mark() -> None:
    topology = build_topology(1, 4, 2)
    session = FakeSession(topology, script=Boundless(topology))
    async with dashboard(session, ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=3)
        shown = grid(app).text
        assert "4,095" not in shown
        assert "PL1: no limit" in shown
        first = "".join(span.text for span in grid(app).panels[-1].lines[0])
        assert first.startswith("power ")
        assert "┃" not in first


async def test_a_machine_with_a_few_signals_only_is_shown_too() -> None:
    session = FakeSession(build_topology(1, 2, 1), signals=GUEST_SIGNALS)
    async with dashboard(session, ticks=1) as (app, pilot):
        await go(pilot, session, "4", ticks=2)
        assert "cannot be told" in text_of(app, "headline")
        assert "Load%" in session.wanted
        await go(pilot, session, "right", "down", "e")
        assert isinstance(app.screen, Explain)


# Bars and panels, pure

positive = st.floats(0.1, 5000.0)


@given(st.none() | st.floats(0, 6000), positive, st.integers(0, 120), st.lists(st.floats(0, 6000), max_size=5))
def test_a_bar_is_as_wide_as_asked_and_keeps_its_marks(
    value: float | None, top: float, width: int, marks: list[float]
) -> None:
    drawn = bar(value, top, width, marks)
    assert len(drawn) == width
    if width:
        assert ("┃" in drawn) == any(mark <= top for mark in marks)


@given(st.floats(0, 100), st.floats(0, 100), st.integers(5, 80))
def test_a_longer_bar_is_a_larger_value(one: float, other: float, width: int) -> None:
    small, large = sorted((one, other))
    assert bar(small, 100.0, width).count("█") <= bar(large, 100.0, width).count("█")


@given(st.lists(st.tuples(st.floats(0, 120), st.sampled_from(["PL1 350", "PL2 420", "base 1,400", "x"])), max_size=5),
       st.integers(1, 100))
def test_labels_stay_on_their_line_and_apart(marks: list[tuple[float, str]], width: int) -> None:
    placed = labels([BarMark(value, label) for value, label in marks], 100.0, width)
    ends = 0
    for label in placed:
        assert label.at >= ends
        assert label.at + len(label.text) <= width
        ends = label.at + len(label.text) + 1
        assert marks[label.mark][1] == label.text
        assert marks[label.mark][0] <= 100.0


def test_labels_end_below_their_marks_where_there_is_room() -> None:
    drawn = bar(100.0, 441.0, 50, [350.0, 420.0])
    both = labels([BarMark(420.0, "PL2 420"), BarMark(350.0, "PL1 350")], 441.0, 50)
    assert [placed.text for placed in both] == ["PL1 350", "PL2 420"]
    first = labels([BarMark(350.0, "PL1 350")], 441.0, 50)[0]
    assert drawn[first.at + len(first.text) - 1] == "┃"


@given(st.lists(st.floats(0, 300), min_size=1, max_size=4), st.integers(1, 80))
def test_stacked_layers_keep_their_order_and_proportion(values: list[float], width: int) -> None:
    picture = stacked([[value] * width for value in values], 1200.0, width, 5)
    assert [len(line) for line in picture] == [width] * 5
    column = [line[-1] for line in reversed(picture)]
    layers = [LAYERS.find(character) for character in column if character != " "]
    assert layers == sorted(layers)
    assert abs(len(layers) - sum(values) / 1200.0 * 5) <= 1


def test_gaps_in_time_stay_gaps() -> None:
    assert stacked([[float("nan"), 5.0]], 10.0, 4, 2) == ["    ", "   █"]
    assert stacked([], 10.0, 3, 1) == ["   "]


def test_what_is_left_is_unknown_while_a_part_is() -> None:
    left = difference([200.0, 210.0], [[math.nan, 100.0]])
    assert math.isnan(left[0])
    assert left[1] == 110.0
    assert all(map(math.isnan, difference([200.0, 210.0], [[50.0, 60.0], []]))), "a part that was never kept"
    shorter = difference([200.0, 210.0, 220.0], [[10.0, 20.0], [1.0, 2.0, 3.0]])
    assert math.isnan(shorter[0]), "graphics were not kept yet"
    assert shorter[1:] == [198.0, 197.0]


@given(whole=st.lists(st.floats(0, 500) | st.just(math.nan), max_size=8),
       parts=st.lists(st.lists(st.floats(0, 500) | st.just(math.nan), max_size=12), max_size=3))
def test_what_is_left_and_the_parts_make_the_whole_or_nothing_is_reported(
    whole: list[float], parts: list[list[float]]
) -> None:
    left = difference(whole, parts)
    assert len(left) == len(whole)
    for back in range(1, len(whole) + 1):
        known = [whole[-back], *(part[-back] if back <= len(part) else math.nan for part in parts)]
        if any(map(math.isnan, known)):
            assert math.isnan(left[-back])
        else:
            assert left[-back] == pytest.approx(max(0.0, known[0] - sum(known[1:])))


@given(st.lists(st.integers(0, 20), max_size=9), st.integers(20, 250))
def test_panels_never_overlap_and_stay_inside(heights: list[int], width: int) -> None:
    panels = [Panel(str(number), StyleRole.PLAIN, ((Span("x"),),) * lines) for number, lines in enumerate(heights)]
    positions = plan(panels, width, 58)
    taken: set[tuple[int, int]] = set()
    for panel, position in zip(panels, positions, strict=True):
        assert position.x + position.width <= width
        assert position.height >= len(panel.lines) + 2
        assert position.width - 4 == inner_width(len(panels), width, 58) or width < 20
        cells = {
            (x, y)
            for x in (position.x, position.x + position.width - 1)
            for y in range(position.y, position.y + position.height)
        }
        assert taken.isdisjoint(cells)
        taken |= cells
        for y in range(position.height):
            line = panel_line(panel, position, y, None, here=False)
            assert sum(len(text) for text, _ in line) == position.width


# Pictures that were looked at


def after(session: FakeSession, ticks: int, *keys: str) -> Callable[[Pilot[int]], object]:
    async def run(pilot: Pilot[int]) -> None:
        await pilot.pause()
        session.tick()
        await go(pilot, session, "4", ticks=ticks)
        await go(pilot, session, *keys)
        await pilot.pause()

    return run


class TestPictures:
    @pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
    def test_a_hot_laptop(self, snap_compare: SnapCompare, hot_laptop: Recording, size: tuple[int, int]) -> None:
        session = ReplayedSession(hot_laptop)
        app: App[int] = TurbotuiApp(session)
        assert snap_compare(app, terminal_size=size, run_before=after(session, 14))

    @pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
    def test_a_server(self, snap_compare: SnapCompare, server: Recording, size: tuple[int, int]) -> None:
        session = ReplayedSession(server)
        app: App[int] = TurbotuiApp(session)
        assert snap_compare(app, terminal_size=size, run_before=after(session, 12, "down", "right"))

    def test_amd(self, snap_compare: SnapCompare, amd: Recording) -> None:
        session = ReplayedSession(amd)
        app: App[int] = TurbotuiApp(session)
        assert snap_compare(app, terminal_size=(120, 36), run_before=after(session, 12))

    def test_a_guest(self, snap_compare: SnapCompare, guest: Recording) -> None:
        session = ReplayedSession(guest)
        app: App[int] = TurbotuiApp(session)
        assert snap_compare(app, terminal_size=(80, 24), run_before=after(session, 4))

    def test_sixteen_colours(self, snap_compare: SnapCompare, hot_laptop: Recording) -> None:
        session = ReplayedSession(hot_laptop)
        app: App[int] = TurbotuiApp(session, theme="ansi")
        assert snap_compare(app, terminal_size=(120, 36), run_before=after(session, 14))
