"""The fleet screen over a stub of Prometheus' API: the first node, groups, the past, dead servers, opening a node."""

from __future__ import annotations

import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from dashboard_driver import until
from fleetbed import NORMAL, Asked, Reply, Stub, fleet_answer, nodes, stub, success
from patience import PATIENCE
from textual.pilot import Pilot

from turbotui.app.graph import Explain, Graph
from turbotui.errors import UsageError
from turbotui.features.fleet.columns import COLUMNS, MEASURED
from turbotui.features.fleet.engine import FleetQuestion, FleetReader
from turbotui.features.fleet.fleet_app import FleetApp
from turbotui.features.fleet.model import FleetCost, FleetNode, FleetReading
from turbotui.features.fleet.opening import NodeOpener, checked, run
from turbotui.features.fleet.screen import FleetScreen
from turbotui.features.fleet.screen_rows import fitted
from turbotui.features.fleet.server import Server, ServerAccess
from turbotui.features.fleet.session import FleetSession, PastRequest
from turbotui.features.fleet.trends import Trends
from turbotui.machine.own_program import own_command
from turbotui.sampling.frame import Frame
from turbotui.widgets.segment_lines import SegmentLines

SLOW = {"Bzy_MHz": 2500.0, "CoreTmp": 97.0}
LABELS = {f"n{at}": {"rack": f"r{at // 4}"} for at in range(8)}
FOREVER = 3600.0


@asynccontextmanager
async def fleet(values: Mapping[str, Mapping[str, float]] | None = None, size: tuple[int, int] = (120, 36),
                opener: NodeOpener | None = None) -> AsyncIterator[tuple[Stub, FleetScreen, Pilot[int]]]:
    """The fleet on the screen, after the first answer."""
    with stub(fleet_answer(values or nodes(8, n5=SLOW), LABELS)) as server:
        session = FleetSession(FleetReader(Server(ServerAccess(server.url)), FleetQuestion()), FOREVER)
        app = FleetApp(session, opener or NodeOpener())
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: isinstance(app.screen, FleetScreen) and app.screen.table.content is not None)
            screen = app.screen
            assert isinstance(screen, FleetScreen)
            yield server, screen, pilot


def rows(screen: FleetScreen) -> list[str]:
    return [str(line.row[1]) for line in screen.table.lines]  # type: ignore[index]  # keys are (is a group, name)


def text(screen: FleetScreen, name: str) -> str:
    return screen.query_one(f"#{name}", SegmentLines).text


async def test_the_odd_node_is_first_and_its_reason_is_read_out() -> None:
    async with fleet() as (_server, screen, _pilot):
        assert rows(screen) == ["n5", "n0", "n1", "n2", "n3", "n4", "n6", "n7"]
        assert "8 nodes · 1 odd" in text(screen, "summary")
        assert "n5: 37 °C hotter than its peers (97, median 60); 502 MHz slower" in text(screen, "notes")


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
async def test_name_and_reason_are_there_at_every_width(size: tuple[int, int]) -> None:
    async with fleet(size=size) as (_server, screen, _pilot):
        lines = ["".join(part.text for part in screen.table.render_line(y)) for y in range(4)]
        assert any("n5" in line and "37 °C hotter than its" in line for line in lines), lines


async def test_a_group_stands_above_its_nodes_and_folds() -> None:
    async with fleet() as (_server, screen, pilot):
        await pilot.press("t")
        assert rows(screen)[:3] == ["r1 · 4", "n5", "n4"]
        content = screen.table.content
        assert content is not None
        assert content.value_of("PkgWatt", (True, "r0 · 4")) == 1000.0
        assert content.value_of("CoreTmp", (True, "r1 · 4")) == 97.0
        await pilot.press("asterisk")
        assert rows(screen) == ["r1 · 4", "r0 · 4"]
        await pilot.press("right")
        assert len(rows(screen)) == 6
        await pilot.press("t")
        assert rows(screen)[0] == "n5"


async def test_explain_has_the_promql() -> None:
    async with fleet() as (_server, screen, pilot):
        await pilot.press(*["right"] * 3, "e")
        window = pilot.app.screen
        assert isinstance(window, Explain)
        said = " ".join(screen.cell(*screen.table.selected).lines(200)) if screen.table.selected else ""
        assert "sum by (instance) (rate(turbotui_machine_aperf_cycles_total[2m]))" in said
        assert "median of 8 busy nodes of its model" in said


async def test_the_graph_begins_with_what_the_server_has() -> None:
    async with fleet() as (server, screen, pilot):
        before = server.answer
        end = 1_763_856_000

        def answer(asked: Asked) -> Reply:
            if asked.path.endswith("query_range"):
                values = [[end - 60 * at, str(50 + at)] for at in range(30, 0, -1)]
                return success([{"metric": {"instance": "n5"}, "values": values}], kind="matrix")
            return before(asked)

        server.answer = answer
        await pilot.press(*["right"] * 4, "g")
        assert isinstance(pilot.app.screen, Graph)
        column, row = screen.table.selected or (None, None)
        assert column is not None
        cell = screen.cell(column, row)
        await until(pilot, lambda: len(cell.earlier) >= 30)
        assert cell.ring is not None
        assert cell.ring.values()[0] == 80.0
        assert cell.earlier[0].end == (end - 1800) * 10 ** 9
        assert 'instance=~"n5"' in server.asked[-1].words["query"]


async def test_a_dead_server_leaves_the_last_numbers_with_their_age_and_comes_back() -> None:
    async with fleet() as (server, screen, pilot):
        before = server.answer
        server.answer = lambda _asked: Reply(503)
        session = screen.watch_state.session
        assert isinstance(session, FleetSession)
        session.end_interval()
        await until(pilot, lambda: session.trouble)
        screen.show_trouble()
        assert session.trouble.startswith("NUMBERS ARE ")
        assert "is not ready, or overloaded (HTTP 503)" in session.trouble
        assert rows(screen)[0] == "n5"
        assert "NUMBERS ARE " in text(screen, "banner")
        server.answer = before
        session.end_interval()
        await until(pilot, lambda: not session.trouble)


async def test_a_node_that_vanished_is_marked_and_kept() -> None:
    values = nodes(8)
    async with fleet(values) as (_server, screen, pilot):
        values["n3"] = {"Age": 240.0}
        session = screen.watch_state.session
        session.end_interval()
        await until(pilot, lambda: "1 gone" in text(screen, "summary"))
        assert rows(screen)[0] == "n3"
        line = next(line for y in range(5) if "n3" in (line := "".join(
            part.text for part in screen.table.render_line(y))))
        assert "no samples for 4 min" in line
        assert "‹3003" in line.replace(" ", "") or "‹" in line


def is_not_now(screen: FleetScreen, content: object) -> bool:
    return screen.table.content is not content


async def test_the_past_is_there_by_the_keys_of_every_screen() -> None:
    values = nodes(8, n5=SLOW)
    async with fleet(values) as (_server, screen, pilot):
        for hot in ("n1", "n2"):
            values.update(nodes(8, **{hot: SLOW}))
            before = screen.table.content
            screen.watch_state.session.end_interval()
            await until(pilot, partial(is_not_now, screen, before))
        assert rows(screen)[0] == "n2"
        await pilot.press("comma")
        await until(pilot, lambda: rows(screen)[0] == "n1")
        await pilot.press("backspace")
        await until(pilot, lambda: rows(screen)[0] == "n2")


async def test_enter_leaves_for_the_node() -> None:
    async with fleet(opener=NodeOpener("turbotui --host admin@{address}")) as (_server, _screen, pilot):
        await pilot.press("enter")
        app = pilot.app
        assert isinstance(app, FleetApp)
        await until(pilot, lambda: app.chosen)
        assert app.chosen == [*own_command(), "--host", "admin@n5"]


async def test_a_node_that_cannot_be_opened_is_reported() -> None:
    async with fleet(opener=NodeOpener("turbotui --host {nodename}")) as (_server, screen, pilot):
        await pilot.press("enter")
        await until(pilot, lambda: "has no label nodename" in text(screen, "status"))


def test_words_of_a_command_come_from_labels_and_are_no_options(tmp_path: Path) -> None:
    node = FleetNode("10.0.0.7:9177", {"instance": "10.0.0.7:9177", "rack": "r7", "evil": "-oProxyCommand=x",
                                       "two": "a b"}, NORMAL)
    assert NodeOpener("ssh -t {address} 'htop {rack}'").words(node) == ["ssh", "-t", "10.0.0.7", "htop r7"]
    six = FleetNode("[fe80::1]:9177", {"instance": "[fe80::1]:9177"})
    assert NodeOpener("x {address}").words(six) == ["x", "fe80::1"]
    for label in ("evil", "two", "none"):
        with pytest.raises(UsageError):
            NodeOpener(f"ssh {{{label}}}").words(node)
    with pytest.raises(UsageError):
        checked("'open")
    with pytest.raises(UsageError, match="no recording"):
        NodeOpener(recordings=str(tmp_path)).words(node)
    (tmp_path / "10.0.0.7.ttj").touch()
    assert NodeOpener(recordings=str(tmp_path)).words(node)[-2:] == ["replay", str(tmp_path / "10.0.0.7.ttj")]
    assert run([sys.executable, "-c", "raise SystemExit(3)"]).endswith("ended with status 3")
    assert run([sys.executable, "-c", ""]) == ""
    assert "cannot be started" in run([str(tmp_path / "none")])


async def test_a_wide_screen_has_the_last_hour_of_the_nodes_in_sight() -> None:
    async with fleet(size=(200, 60)) as (server, screen, pilot):
        before, end = server.answer, 1_763_856_000

        def answer(asked: Asked) -> Reply:
            if asked.path.endswith("query_range"):
                return success([{"metric": {"instance": name}, "values": [[end - 150 * at, high] for at in (2, 1, 0)]}
                                for name, high in (("n5", "40"), ("n0", "80"))], kind="matrix")
            return before(asked)

        server.answer = answer
        column = screen.find_column("CoreTmp")
        screen._sort(column)  # another column is asked for at once
        screen.watch_state.session.end_interval()

        def drawn() -> str:
            return "".join(part.text for y in range(10) for part in screen.table.render_line(y))

        await until(pilot, lambda: "███" in drawn() and "▅▅▅" in drawn())
        asked = [item.words for item in server.asked if item.path.endswith("query_range")][-1]
        assert "temperature" in asked["query"]
        assert asked["step"] == "150"


def test_the_past_is_fetched_though_the_interval_is_ended_meanwhile() -> None:
    with stub(fleet_answer(nodes(2), LABELS)) as server:
        session = FleetSession(FleetReader(Server(ServerAccess(server.url)), FleetQuestion()), FOREVER)
        taken, frames = threading.Event(), 0

        def on_frame(_frame: Frame) -> None:
            nonlocal frames
            frames += 1
            if frames == 1:  # on the session's thread: both stand there when it waits
                session.ask_past(PastRequest(MEASURED[0], ("n0",), lambda _found: taken.set(), 24))
                session.end_interval()

        session.start(on_frame)
        assert taken.wait(PATIENCE)
        session.stop()
        assert frames == 2


def test_pictures_are_asked_for_once_a_minute_and_of_new_nodes() -> None:
    clock = [0.0]
    asked: list[PastRequest] = []
    done: list[int] = []
    trends = Trends(asked.append, lambda: done.append(1), lambda: clock[0])
    column = next(item for item in MEASURED if item.id == "CoreTmp")
    trends.want(column, ["a", "b"])
    trends.want(column, ["a", "b", "c"])  # not while an answer is waited for
    assert [request.nodes for request in asked] == [("a", "b")]
    asked[0].take({"a": [(3450.0, 100.0), (3600.0, 50.0)]})
    assert len(trends.pictures["a"]) == 24
    assert trends.pictures["a"].endswith("█▅")
    assert trends.pictures["b"] == ""
    trends.want(column, ["a", "b", "c"])
    assert asked[1].nodes == ("c",)
    asked[1].take({})
    clock[0] = 61.0
    trends.want(column, ["a"])
    assert asked[2].nodes == ("a",)
    other = next(item for item in MEASURED if item.id == "PkgWatt")
    trends.want(other, ["a"])
    assert asked[3].column is other
    asked[2].take({"a": [(1.0, 1.0)]})  # the answer of a column that is not shown any more
    assert trends.pictures == {}
    assert len(done) == 2


@pytest.mark.parametrize(("values", "shown", "hidden"), [
    ({"Bzy_MHz": 2_600.0}, {"Bzy_MHz"}, {"NowMHz", "NowErr%"}),
    ({"NowMHz": 4_100.0, "NowErr%": 0.8}, {"NowMHz", "NowErr%"}, {"Bzy_MHz"}),
])
def test_virtual_machines_show_their_timed_clock_and_its_error(values: dict[str, float], shown: set[str],
                                                               hidden: set[str]) -> None:
    reading = FleetReading("s", (FleetNode("a", values=values),), 0, 60.0, (), FleetCost(0, 0, 0, 0.0), {})
    seen = {column.id for column in fitted(COLUMNS, reading, 200) if column.default}
    assert shown <= seen
    assert not hidden & seen
