"""The groups screen of a simulated machine: its tree, its past, and what it copies."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from simulated_session import SimulatedSession
from textual.pilot import Pilot
from textual.widgets import Input, Static

from turbotui.app.add import AddCounter
from turbotui.app.command_lines_window import CommandLinesWindow
from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.graph import Explain
from turbotui.features.groups.engine import GroupInterval
from turbotui.features.groups.screen import GroupsScreen
from turbotui.quantities.scope import Scope
from turbotui.simulated.strain_files import GROUPS, OWN_GROUP, SLICE
from turbotui.widgets.listing import Listing
from turbotui.widgets.segment_lines import SegmentLines

CPUS = 22
"""How many CPUs the simulated laptop has."""


async def shown(session: SimulatedSession, screen: GroupsScreen, pilot: Pilot[int]) -> None:
    """Wait until the interval of the newest tick is drawn: another thread reads it."""
    assert session.latest is not None
    while screen._newest is None or screen._newest.early or (
            screen._newest.wall_ns < session.latest.newer.wall_ns):
        await pilot.pause()


@asynccontextmanager
async def groups(size: tuple[int, int] = (120, 36),
                 shape: str = "laptop") -> AsyncIterator[tuple[SimulatedSession, GroupsScreen, Pilot[int]]]:
    """The dashboard on its groups screen, after an interval."""
    session = SimulatedSession(shape)
    async with TurbotuiApp(session, screen="groups").run_test(size=size) as pilot:
        while not session.started:
            await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, GroupsScreen)
        await shown(session, screen, pilot)
        session.tick()
        await shown(session, screen, pilot)
        yield session, screen, pilot


def value(screen: GroupsScreen, path: str, name: str) -> float:
    content = screen.table.content
    assert content is not None
    result = content.value_of(name, path)
    assert isinstance(result, int | float), (path, name, result)
    return result


def lines(screen: GroupsScreen) -> list[tuple[str, int]]:
    return [(str(line.row), line.depth) for line in screen.table.lines]


async def test_every_group_has_its_share_in_the_tree() -> None:
    async with groups() as (_session, screen, _pilot):
        whole = value(screen, "/", "CPU%")
        for path, share in GROUPS:
            assert value(screen, f"/{path}", "CPU%") == pytest.approx(share * whole, rel=1e-3, abs=0.01)
        assert lines(screen) == [
            ("/", 0), ("/user.slice", 1), (f"/{SLICE}", 2), (f"/{OWN_GROUP}", 3), ("/system.slice", 1),
            ("/system.slice/db.service", 2), ("/system.slice/web.service", 2), ("/init.scope", 1)]


async def test_t_makes_it_flat_and_the_star_folds() -> None:
    async with groups() as (_session, screen, pilot):
        await pilot.press("t")
        assert {depth for _, depth in lines(screen)} == {0}
        await pilot.press("t", "t", "asterisk")
        assert [row for row, _ in lines(screen)] == ["/", "/user.slice", "/system.slice", "/init.scope"]
        await pilot.press("down", "right")
        assert (f"/{SLICE}", 2) in lines(screen)
        await pilot.press("left")
        assert (f"/{SLICE}", 2) not in lines(screen)


async def test_what_passes_a_filter_stands_with_what_it_is_in() -> None:
    async with groups() as (_session, screen, pilot):
        await pilot.press("backslash", *"web", "enter")
        assert [row for row, _ in lines(screen)] == ["/", "/system.slice", "/system.slice/web.service"]
        await pilot.press("backslash", "ctrl+u", *"nonsense", "enter")
        assert lines(screen) == []
        assert screen.readout() == "No row passes the filter nonsense: \\ changes it"


async def test_the_past_has_the_rows_of_its_time() -> None:
    async with groups() as (session, screen, pilot):
        session.tick()
        await shown(session, screen, pilot)
        await pilot.press("comma")
        frame = screen.watch_state.frame
        assert frame is not None
        assert screen._shown is not None
        assert screen._shown.wall_ns == frame.newer.wall_ns
        assert value(screen, "/", "CPU%") > 0
        await pilot.press("backspace")
        assert screen._shown is screen._newest


async def test_groups_are_compared_with_the_means_of_the_last_minute() -> None:
    async with groups() as (session, screen, pilot):
        intervals: list[GroupInterval] = []
        for _ in range(65):  # the first of them are longer ago
            session.tick()
            await shown(session, screen, pilot)
            assert screen._shown is not None
            intervals.append(screen._shown)
        await pilot.press("b")
        await pilot.pause()
        mark, moment = screen.table.view.mark, screen.marked
        assert mark is not None
        assert moment is not None
        assert f"DIFFERENCES FROM the {moment.seconds:.0f} s before" in screen.query_one("#compared", SegmentLines).text
        assert 59 <= moment.seconds <= 61
        minute = intervals[-round(moment.seconds):]
        assert sum(interval.seconds for interval in minute) == pytest.approx(moment.seconds)
        for path in ("/", "/user.slice", "/system.slice/db.service"):
            rows = [row for interval in minute for row in interval.rows if row.group.path == path]
            mean = sum(row.increases["cpu_usec"] for row in rows) / sum(row.spans["Δt cpu.stat"] for row in rows)
            column = screen.find_column("CPU%")
            assert column is not None
            assert mark.value(column, path) == pytest.approx(mean / 1e4), path
        watt, topology = screen.find_column("Watt"), screen.watch_state.session.machine.topology
        assert watt is not None
        joules = sum(interval.energy.total(len(topology.instances(Scope.PACKAGE))) or 0.0 for interval in minute)
        work = sum(row.increases["cpu_usec"] for interval in minute for row in interval.rows if row.group.path == "/")
        assert mark.value(watt, "/") == pytest.approx(
            joules * work / 1e6 / CPUS / moment.seconds ** 2, rel=1e-3), "its part of the joules of the minute"


async def test_e_explains_and_x_shows_lines_that_are_never_run() -> None:
    async with groups() as (_session, screen, pilot):
        await pilot.press("down", "e")
        assert isinstance(pilot.app.screen, Explain)
        await pilot.press("escape", "X")
        assert isinstance(pilot.app.screen, CommandLinesWindow)
        await pilot.press("escape")
        assert "/user.slice" in screen.readout()


async def test_a_line_of_the_past_is_copied_as_a_comment_that_says_so() -> None:
    async with groups() as (session, screen, pilot):
        session.tick()
        await shown(session, screen, pilot)
        await pilot.press("down", "comma", "X", "down", "y")
        assert re.match(r"# SIMULATED machine \S+, PAST: \d\d:\d\d:\d\d: \w", pilot.app.clipboard)


async def test_files_are_closed_when_another_screen_is_shown() -> None:
    async with groups() as (session, screen, pilot):
        before = session.host.open_descriptors
        await pilot.press("9")
        assert screen._watcher is None
        assert session.host.open_descriptors < before
        await pilot.press("u")
        await shown(session, screen, pilot)


async def test_a_column_that_is_hidden_is_not_read() -> None:
    async with groups() as (session, screen, pilot):
        column = screen.find_column("PSIio%")
        assert column is not None
        screen.toggle(column)
        session.tick()
        await shown(session, screen, pilot)
        content = screen.table.content
        assert content is not None
        row = content.get("/user.slice")
        assert row is not None
        assert "stalled_io_some_usec" not in row.files
        assert "stalled_cpu_some_usec" in row.files


async def test_events_are_added_for_the_groups_that_can_be_seen_and_taken_away() -> None:
    async with groups() as (session, screen, pilot):
        before = session.host.open_descriptors
        await pilot.press("a")
        window = pilot.app.screen
        assert isinstance(window, AddCounter)
        window.query_one(Input).value = "Mine=instructions/cycles"
        await pilot.press("enter", "escape")
        for _ in range(2):  # counters are open from the first of these on
            session.tick()
            await shown(session, screen, pilot)
        assert value(screen, "/user.slice", "Mine") > 0
        assert session.host.open_descriptors - before == 2 * len(GROUPS) * CPUS + 2 * CPUS
        await pilot.press("a")
        window = pilot.app.screen
        window.query_one(Input).value = "msr0x10"
        await pilot.press("enter")
        assert "no counters of groups" in str(window.query_one("#answer", Static).render())
        window.query_one(Listing).select("remove Mine")
        await pilot.press("delete", "escape")
        session.tick()
        await shown(session, screen, pilot)
        assert screen.find_column("Mine") is None
        assert session.host.open_descriptors == before


async def test_escape_undoes_added_and_removed_events() -> None:
    async with groups() as (_, screen, pilot):
        await pilot.press("a")
        pilot.app.screen.query_one(Input).value = "Mine=instructions/cycles"
        await pilot.press("enter", "escape")
        assert screen.find_column("Mine") is not None
        await pilot.press("escape")
        assert screen.find_column("Mine") is None


async def test_t_continues_to_the_groups_of_resctrl() -> None:
    async with groups(shape="turin-2s") as (session, screen, pilot):
        await pilot.press("t", "t")
        for _ in range(2):  # the first reading of a counter has no increase
            session.tick()
            await shown(session, screen, pilot)
        assert [row for row, _ in lines(screen)] == ["/", "/batch"], "24 domains of each are folded"
        assert value(screen, "/batch", "MemBW") > 0
        assert "RMIDs are taken" in screen.query_one("#notes", SegmentLines).text
        await pilot.press("right")
        assert len(lines(screen)) > 24


async def test_without_resctrl_it_is_given_a_reason() -> None:
    async with groups() as (session, screen, pilot):
        await pilot.press("t", "t")
        session.tick()
        await shown(session, screen, pilot)
        assert not lines(screen)
        assert "No hardware: " in screen.readout()
