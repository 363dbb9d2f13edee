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


async def at(result: Tasks, number: str) -> object:
    """The screen of a number, once it is there."""
    await result.press(number)
    return result.app.screen_stack[0]


async def back_on_tasks(result: Tasks) -> DrawnTasksScreen:
    while not isinstance(result.app.screen_stack[0], DrawnTasksScreen):
        await result.pilot.pause()
    await asyncio.wait_for(result.screen.drawn.wait(), PATIENCE)
    await result.pilot.pause()
    return result.screen


@pytest.mark.parametrize("key", ["i", "enter"])
async def test_a_cpu_shows_who_runs_there_and_esc_returns(key: str) -> None:
    async with tasks(laptop()) as result:
        await result.next()
        everything = len(result.rows)
        table = await at(result, "1")
        assert isinstance(table, TableScreen)
        table.table.select(cpu_row(3))
        await result.press(key)
        screen = await back_on_tasks(result)
        async with asyncio.timeout(PATIENCE):  # what was asked for before the key may come after it
            while not 0 < len(screen.lines()) < everything:
                await result.next()
        assert "only what ran on CPU 3" in text_of(result.app, "status")
        content = screen.table.content
        assert content is not None
        assert all(3 in inputs.row.loads for row in content.rows if (inputs := content.get(row)) is not None)
        await result.press("escape")
        while not isinstance(result.app.screen_stack[0], TableScreen):
            await result.pilot.pause()
        assert screen.watch_state.pointing.cpu is None


@pytest.mark.parametrize("key", ["i", "enter"])
async def test_a_task_pins_and_lights_its_cpus(key: str) -> None:
    async with tasks(laptop()) as result:
        await result.next()
        row = result.screen.table.current
        content = result.screen.table.content
        assert content is not None
        inputs = content.get(row)
        assert inputs is not None
        cpus = sorted(inputs.row.loads)
        await result.press(key)
        while not isinstance(result.app.screen_stack[0], TableScreen):
            await result.pilot.pause()
        await result.pilot.pause()
        table = result.app.screen_stack[0]
        assert isinstance(table, TableScreen)
        assert table.table.view.tags == tuple(map(cpu_row, cpus[:8]))
        assert f"{inputs.row.name} ran there" in text_of(result.app, "status")
        the_map = await at(result, "3")
        assert isinstance(the_map, MapScreen)
        drawn = "".join(the_map.heat_map.render_line(y).text for y in range(the_map.heat_map.size.height))
        lit = len(set(cpus) - {the_map.heat_map.cpu})
        marks = drawn.count(LIT_MARK)
        assert marks >= lit
        assert marks % max(1, lit) == 0  # a tall cell has a mark on each of its lines
        await result.press("escape")
        await back_on_tasks(result)
        again = await at(result, "1")
        assert isinstance(again, TableScreen)
        assert again.table.view.tags == ()


async def test_enter_ends_the_interval_where_the_row_is_no_cpu_and_ctrl_j_always() -> None:
    async with tasks(laptop(), (200, 36)) as result:
        await result.next()
        table = await at(result, "1")
        assert isinstance(table, TableScreen)
        assert "Enter who" in text_of(result.app, "keys")
        seq = result.session.ended
        table.table.select(SYSTEM_ROW)
        await result.press("enter")
        assert result.session.ended == seq + 1
        table.table.select(cpu_row(3))
        await result.press("ctrl+j")
        assert result.session.ended == seq + 2
        assert result.app.screen_stack[0] is table
        topology = await at(result, "2")
        assert isinstance(topology, TableScreen)
        package = next(line.row for line in topology.table.lines if line.row.scope is Scope.PACKAGE)
        topology.table.select(package)
        await result.press("enter")
        assert package in topology.table.view.folded
        await result.press("enter")
        assert package not in topology.table.view.folded
        assert result.session.ended == seq + 2


async def test_a_command_line_is_copied_and_none_is_run() -> None:
    async with tasks(laptop()) as result:
        await result.next()
        pid = result.rows[0].split()[0]
        await result.press("X")
        window = result.app.screen
        assert isinstance(window, CommandLinesWindow)
        listing = window.query_one(Listing)
        assert f"kill -TERM {pid}" in listing.text
        assert "(SIMULATED machine laptop-old)" in window.heading
        assert "nice 10" in str(window.query_one("#about", Static).content)
        await result.press("down", "y")
        assert result.app.clipboard.startswith("# SIMULATED machine laptop-old: chrt -i -p 0 ")
        assert "Copied" in text_of(result.app, "status")


async def test_a_copied_cell_of_a_task_names_the_task() -> None:
    async with tasks(laptop()) as result:
        await result.next()
        name = result.rows[0].split()[2]
        await result.press("y")
        column, *row, value = result.app.clipboard.removesuffix(" (SIMULATED machine laptop-old)").split(" · ")
        assert column == "CPU%"
        assert name in row
        assert value.endswith(" %")
