"""The keys `i` and `X`: tasks of a CPU, CPUs of a task, and command lines for a task."""

from __future__ import annotations

import asyncio

import pytest
from dashboard_driver import text_of
from drawn_tasks import DrawnTasksScreen
from patience import PATIENCE
from test_tasks_screen import Tasks, laptop, tasks
from textual.widgets import Static

from turbotui.app.command_lines_window import CommandLinesWindow
from turbotui.features.cpus.map_screen import MapScreen
from turbotui.features.cpus.screen import TableScreen
from turbotui.quantities.scope import SYSTEM_ROW, Scope, cpu_row
from turbotui.widgets.heat_map import LIT_MARK
from turbotui.widgets.listing import Listing


async def at(found: Tasks, number: str) -> object:
    """The screen of a number, once it is there."""
    await found.press(number)
    return found.app.screen_stack[0]


async def back_on_tasks(found: Tasks) -> DrawnTasksScreen:
    while not isinstance(found.app.screen_stack[0], DrawnTasksScreen):
        await found.pilot.pause()
    await asyncio.wait_for(found.screen.drawn.wait(), PATIENCE)
    await found.pilot.pause()
    return found.screen


@pytest.mark.parametrize("key", ["i", "enter"])
async def test_a_cpu_shows_who_runs_there_and_esc_returns(key: str) -> None:
    async with tasks(laptop()) as found:
        await found.next()
        everything = len(found.rows)
        table = await at(found, "1")
        assert isinstance(table, TableScreen)
        table.table.select(cpu_row(3))
        await found.press(key)
        screen = await back_on_tasks(found)
        async with asyncio.timeout(PATIENCE):  # what was asked for before the key may come after it
            while not 0 < len(screen.lines()) < everything:
                await found.next()
        assert "only what ran on CPU 3" in text_of(found.app, "status")
        content = screen.table.content
        assert content is not None
        assert all(3 in inputs.row.loads for row in content.rows if (inputs := content.get(row)) is not None)
        await found.press("escape")
        while not isinstance(found.app.screen_stack[0], TableScreen):
            await found.pilot.pause()
        assert screen.watch_state.pointing.cpu is None


@pytest.mark.parametrize("key", ["i", "enter"])
async def test_a_task_pins_and_lights_its_cpus(key: str) -> None:
    async with tasks(laptop()) as found:
        await found.next()
        row = found.screen.table.current
        content = found.screen.table.content
        assert content is not None
        inputs = content.get(row)
        assert inputs is not None
        cpus = sorted(inputs.row.loads)
        await found.press(key)
        while not isinstance(found.app.screen_stack[0], TableScreen):
            await found.pilot.pause()
        await found.pilot.pause()
        table = found.app.screen_stack[0]
        assert isinstance(table, TableScreen)
        assert table.table.view.tags == tuple(map(cpu_row, cpus[:8]))
        assert f"{inputs.row.name} ran there" in text_of(found.app, "status")
        the_map = await at(found, "3")
        assert isinstance(the_map, MapScreen)
        drawn = "".join(the_map.heat_map.render_line(y).text for y in range(the_map.heat_map.size.height))
        lit = len(set(cpus) - {the_map.heat_map.cpu})
        marks = drawn.count(LIT_MARK)
        assert marks >= lit
        assert marks % max(1, lit) == 0  # a tall cell has a mark on each of its lines
        await found.press("escape")
        await back_on_tasks(found)
        again = await at(found, "1")
        assert isinstance(again, TableScreen)
        assert again.table.view.tags == ()


async def test_enter_ends_the_interval_where_the_row_is_no_cpu_and_ctrl_j_always() -> None:
    async with tasks(laptop(), (200, 36)) as found:
        await found.next()
        table = await at(found, "1")
        assert isinstance(table, TableScreen)
        assert "Enter who" in text_of(found.app, "keys")
        seq = found.session.ended
        table.table.select(SYSTEM_ROW)
        await found.press("enter")
        assert found.session.ended == seq + 1
        table.table.select(cpu_row(3))
        await found.press("ctrl+j")
        assert found.session.ended == seq + 2
        assert found.app.screen_stack[0] is table
        topology = await at(found, "2")
        assert isinstance(topology, TableScreen)
        package = next(line.row for line in topology.table.lines if line.row.scope is Scope.PACKAGE)
        topology.table.select(package)
        await found.press("enter")
        assert package in topology.table.view.folded
        await found.press("enter")
        assert package not in topology.table.view.folded
        assert found.session.ended == seq + 2


async def test_a_command_line_is_copied_and_none_is_run() -> None:
    async with tasks(laptop()) as found:
        await found.next()
        pid = found.rows[0].split()[0]
        await found.press("X")
        window = found.app.screen
        assert isinstance(window, CommandLinesWindow)
        listing = window.query_one(Listing)
        assert f"kill -TERM {pid}" in listing.text
        assert "(SIMULATED machine laptop-old)" in window.heading
        assert "nice 10" in str(window.query_one("#about", Static).content)
        await found.press("down", "y")
        assert found.app.clipboard.startswith("# SIMULATED machine laptop-old: chrt -i -p 0 ")
        assert "Copied" in text_of(found.app, "status")


async def test_a_copied_cell_of_a_task_names_the_task() -> None:
    async with tasks(laptop()) as found:
        await found.next()
        name = found.rows[0].split()[2]
        await found.press("y")
        column, *row, value = found.app.clipboard.removesuffix(" (SIMULATED machine laptop-old)").split(" · ")
        assert column == "CPU%"
        assert name in row
        assert value.endswith(" %")
