"""Rows that go offline while the cursor, a tag, a fold, a window or a mark refers to them; cells without a scale."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from dashboard_driver import dashboard, lines, table, text_of
from scripted_machine import FakeSession, Script, build_topology

from turbotui.app.actions import ACTIONS
from turbotui.app.graph import Graph
from turbotui.app.one_cell import FrameCell
from turbotui.app.screen_table import SCREENS
from turbotui.machine.topology import Topology, topology_of
from turbotui.quantities.scope import cpu_row
from turbotui.widgets.painter import nice_top
from turbotui.widgets.segment_lines import SegmentLines
from turbotui.widgets.table_view import TAGS_ROW

_LEAVE = frozenset({"quit", "interrupt", "suspend", "save", "roof_svg", "roof_csv", "watch", "start_stop"})


def without(topology: Topology, *gone: int) -> Topology:
    """The machine with these CPUs offline."""
    return topology_of([place for cpu, place in topology.places.items() if cpu not in gone])


def plug(session: FakeSession, topology: Topology) -> None:
    """Have the next frames of a machine with other CPUs."""
    session.topology = session.script.topology = topology
    session.script.totals.clear()


async def test_a_graph_of_nothing_but_zeros_has_a_scale() -> None:
    topology = build_topology(1, 4, 1)
    session = FakeSession(topology, script=Script(topology, load=lambda _cpu, _tick: 0.0))
    async with dashboard(session, ticks=4) as (app, pilot):
        assert session.latest is not None
        drawn = {}  # of cells that are drawn alike one is enough
        for column in table(app).columns_in_order:
            cell = FrameCell(app.watched, column, cpu_row(1))
            drawn[column.unit, column.decimals, cell.top, session.latest.cell(column, cell.row)] = cell
        for cell in drawn.values():
            app.push_screen(Graph(cell))
            await pilot.pause()
            session.tick(2)
            await pilot.pause()
            assert app.screen.query_one("#curve", SegmentLines).text
            await pilot.press("escape")
            await pilot.pause()


@pytest.mark.parametrize("peak", [0.0, -1.0, float("inf"), float("nan")])
def test_what_has_no_peak_has_a_scale(peak: float) -> None:
    assert nice_top(peak) == 1.0


@pytest.mark.parametrize("levels", [0, 1, 5], ids=["flat", "by package", "by core"])
async def test_a_tagged_cpu_goes_offline_in_every_grouping(levels: int) -> None:
    topology = build_topology(2, 2, 2)
    session = FakeSession(topology)
    async with dashboard(session, size=(200, 60)) as (app, pilot):
        table(app).select(cpu_row(1))
        await pilot.press("v", *["t"] * levels)
        plug(session, without(topology, 1))
        session.tick(2)
        await pilot.pause()
        assert table(app).view.pinned[1] == cpu_row(1)
        assert TAGS_ROW in table(app).view.pinned
        assert "cpu 1 off" in lines(app)[2]
        assert "—" in lines(app)[2]
        plug(session, topology)
        session.tick(2)
        await pilot.pause()
        assert "off" not in lines(app)[2]
        assert "—" not in lines(app)[2].split("│")[1]


async def test_the_map_says_that_its_cpu_is_offline_while_the_picture_is_paused() -> None:
    topology = build_topology(1, 4, 1)
    session = FakeSession(topology)
    async with dashboard(session) as (app, pilot):
        await pilot.press("3", "end", "space")
        plug(session, without(topology, 3))
        session.tick(2)
        await pilot.pause()
        await pilot.press("left", "right", "space")
        await pilot.pause()
        assert text_of(app, "status")


@pytest.mark.parametrize("seed", range(4))
async def test_random_keys_while_cpus_come_and_go(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # P writes there
    chance = random.Random(seed)
    types = bool(seed % 2)
    topology = build_topology(*chance.choice([(1, 1, 1), (1, 4, 2), (2, 4, 2), (1, 20, 1)]), types=types)
    session = FakeSession(topology)
    keys = [key for action in ACTIONS if action.id not in _LEAVE for key in action.keys if "ctrl" not in key]
    keys = [key for key in keys if key not in {"q", "s", "S", "X", "w", "f10"}]
    async with dashboard(session, size=chance.choice([(80, 24), (120, 36), (40, 10), (200, 60)])) as (app, pilot):
        for step in range(45):
            there = sorted(topology.cpus)
            gone = chance.sample(there, chance.randrange(len(there))) if step % 3 == 0 else []
            plug(session, without(topology, *gone))
            session.tick()
            if chance.random() < 0.25:
                await pilot.press("escape", chance.choice([spec.number for spec in SCREENS if spec.number != "7"]))
            await pilot.press(chance.choice(keys))
            assert app.is_running
