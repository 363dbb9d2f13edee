"""The graph window: a cursor over the whole kept past."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from dashboard_driver import dashboard, table, text_of
from patience import PATIENCE
from replayed_machine import Recording, ReplayedSession, recording
from scripted_machine import FakeSession, build_topology
from textual.pilot import Pilot
from textual.widgets import Static
from timelines import FramesTimeline

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.graph import Graph, GraphLines
from turbotui.app.past import PastEvent, TimeCursor
from turbotui.app.picker import Picker
from turbotui.machine.topology import topology_of
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.moments import time_of_day
from turbotui.quantities.scope import RowId, cpu_row
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import History
from turbotui.widgets.cells import in_words

COUNT = 30


@pytest.fixture(scope="module")
def recorded() -> Recording:
    return recording("laptop", 20.0, COUNT)


@dataclass
class GraphDashboard:
    """A dashboard with a past, and a graph on it."""

    app: TurbotuiApp
    pilot: Pilot[int]
    recorded: Recording
    timeline: FramesTimeline

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def settle(self) -> None:
        """Wait until the whole wanted past has been read."""
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()

    @property
    def lines(self) -> list[str]:
        return self.app.screen.query_one(GraphLines).text.split("\n")

    def value(self, column: CounterColumn, row: RowId, at: int) -> str:
        """Return the text of a cell in a frame."""
        return in_words(column, self.recorded.frames[at].cell(column, row))

    def when(self, at: int) -> str:
        return time_of_day(self.recorded.frames[at].newer.wall_ns)

    def column(self, name: str) -> CounterColumn:
        return self.recorded.catalog.by_id[name]


@asynccontextmanager
async def graph(recorded: Recording, *before: str, size: tuple[int, int] = (120, 36), ticks: int = COUNT + 1,
                cell: tuple[str, int] = ("Busy%", 3), tagged: tuple[int, ...] = ()) -> AsyncIterator[GraphDashboard]:
    """Open the graph of a cell of a machine whose frames are all kept."""
    session = ReplayedSession(recorded)
    async with dashboard(session, size=size, ticks=ticks) as (app, pilot):
        timeline = FramesTimeline(recorded.frames[:ticks])
        app.watched.cursor = TimeCursor(timeline)
        shown = GraphDashboard(app, pilot, recorded, timeline)
        for cpu in tagged:
            table(app).select(cpu_row(cpu))
            await pilot.press("v")
        table(app).select(cpu_row(cell[1]))
        table(app).select_column(shown.column(cell[0]))
        await shown.press(*before, "g")
        await shown.settle()
        assert isinstance(app.screen, Graph)
        yield shown


async def test_the_past_of_a_cell_is_read_from_the_frames_that_are_kept(recorded: Recording) -> None:
    async with graph(recorded) as shown:
        assert f"over {COUNT} intervals" in shown.lines[0], "although the cell was not kept before"
        assert shown.lines[-1].strip() == f"{shown.when(COUNT)} now"
        assert shown.value(shown.column("Busy%"), cpu_row(3), COUNT) in shown.lines[0]


async def explained(shown: GraphDashboard) -> str:
    """The explanation of the graph's cell."""
    await shown.press("e")
    return explanation(shown)


def explanation(shown: GraphDashboard) -> str:
    """The text of the explanation that is open."""
    return "\n".join(str(part.content) for part in shown.app.screen.query(Static).results(Static))


async def test_extremes_of_a_cell_that_nobody_saw_are_read_from_the_frames_that_are_kept(recorded: Recording) -> None:
    async with graph(recorded, cell=("IPC", 3), size=(120, 36)) as shown:
        column, row = shown.column("IPC"), cpu_row(3)
        history = shown.app.watched.live_history
        history.keep_only(())  # as if it had not been drawn until now
        numbers = [frame.cell(column, row) for frame in recorded.frames[1:]]
        low, high = (in_words(column, pick(number for number in numbers if isinstance(number, float)))
                     for pick in (min, max))
        text = await explained(shown)
        end = time.monotonic() + PATIENCE
        while f"over {COUNT} intervals: min {low}" not in text:  # frames are read behind the keys
            assert time.monotonic() < end, text
            await shown.pilot.pause(0.05)
            text = explanation(shown)
        assert f"max {high}" in text
        ring = history.ring("IPC", row)
        assert ring is not None
        assert list(ring.values(COUNT)) == pytest.approx(numbers, rel=1e-6)


async def test_a_window_that_closes_while_the_past_is_read_is_no_failure(recorded: Recording) -> None:
    async with graph(recorded) as shown:
        window = shown.app.screen
        assert isinstance(window, Graph)
        await window.query("#curve").remove()
        await window._read_missing()
        window.show_frame()
        await shown.pilot.pause()
        assert shown.app.screen is window


async def test_extremes_of_before_a_reset_are_not_read_again(recorded: Recording) -> None:
    async with graph(recorded, "z", cell=("IPC", 3)) as shown:
        assert "min, mean and max are kept from now on" in await explained(shown)


async def test_the_cursor_says_value_time_and_age_of_each_interval(recorded: Recording) -> None:
    async with graph(recorded) as shown:
        busy, row = shown.column("Busy%"), cpu_row(3)
        assert len({shown.value(busy, row, at) for at in range(1, COUNT)}) > 5
        for back, key in enumerate(("left", "comma", "h"), start=1):
            await shown.press(key)
            assert shown.lines[0].split()[4] == shown.value(busy, row, COUNT - back).split()[0]
            assert shown.lines[-1].strip() == f"{shown.when(COUNT - back)} · {back} s ago"
        await shown.press("home")
        assert shown.lines[-1].strip().startswith(f"{shown.when(1)} · {COUNT - 1} s ago")
        await shown.press("right", "full_stop", "l")
        assert shown.lines[-1].strip().startswith(shown.when(4))
        await shown.press("end")
        assert shown.lines[-1].strip().endswith("now")


async def test_enter_shows_that_moment_on_all_screens(recorded: Recording) -> None:
    async with graph(recorded) as shown:
        await shown.press(*["left"] * 7, "enter")
        assert not isinstance(shown.app.screen, Graph)
        assert shown.app.watched.frame is recorded.frames[-8]
        assert text_of(shown.app, "time").startswith(" PAST 7 s ago")
        await shown.press("g")
        assert shown.lines[-1].strip().startswith(f"{shown.when(COUNT - 7)} · 7 s ago"), "it begins where screens are"
        await shown.press("end", "enter")
        assert not shown.app.watched.in_past


async def test_events_are_ticks_and_told_where_they_happened(recorded: Recording) -> None:
    async with graph(recorded) as shown:
        shown.timeline.events = [PastEvent(shown.timeline.times[-5], "governor is powersave")]
        await shown.press("left")
        assert shown.lines[-3].count("┴") == 1
        await shown.press("left", "left", "left")
        assert shown.lines[-1].strip() == f"{shown.when(COUNT - 4)} · 4 s ago · governor is powersave"


async def test_tagged_rows_are_further_curves(recorded: Recording) -> None:
    async with graph(recorded, tagged=(1, 5)) as shown:
        await shown.press("left", "left")
        busy = shown.column("Busy%")
        for cpu in (3, 1, 5):
            assert f"━━ cpu {cpu} {shown.value(busy, cpu_row(cpu), COUNT - 2)}" in shown.lines[0]
        title = shown.app.screen.query_one(".window").border_title
        assert title == "Busy% · cpu 3 and 2 tagged"


async def test_a_value_that_rows_share_is_one_curve(recorded: Recording) -> None:
    async with graph(recorded, cell=("PkgWatt", 3), tagged=(1,)) as shown:
        assert "".join(shown.lines).count("━━ ") == 1
        assert "package 0" in shown.lines[0]


async def test_columns_come_and_go_by_the_picker(recorded: Recording) -> None:
    async with graph(recorded, size=(100, 40)) as shown:
        await shown.press("C")
        assert isinstance(shown.app.screen, Picker)
        for key in "PkgWatt":
            await shown.pilot.press(key)
        await shown.press("space", "escape")
        await shown.press("left")
        power = shown.column("PkgWatt")
        head = next(line for line in shown.lines if line.startswith(" PkgWatt"))
        assert shown.value(power, RowId(power.scope, (0,)), COUNT - 1) in head
        assert f"over {COUNT} intervals" in head
        await shown.press("C", *"PkgWatt", "space", "escape")
        assert not any(line.startswith(" PkgWatt") for line in shown.lines)
        await shown.press("C", *"Busy%".replace("%", ""), "space", "escape")
        assert any(line.startswith(" Busy%") for line in shown.lines), "one column stays"


async def test_zoom_is_around_the_cursor_and_0_is_everything(recorded: Recording) -> None:
    async with graph(recorded, size=(80, 24)) as shown:
        await shown.press("home", "right_square_bracket", "plus")
        assert "over 15 intervals" in "".join(shown.lines[:2])
        assert shown.lines[-1].strip().startswith(shown.when(1))
        await shown.press("minus", "left_square_bracket", "left_square_bracket", "left_square_bracket")
        assert f"over {COUNT} intervals" in "".join(shown.lines[:2])
        await shown.press("right_square_bracket", "right_square_bracket", "right_square_bracket", "0")
        assert f"over {COUNT} intervals" in "".join(shown.lines[:2])
        across = shown.lines[-3].index("▲") - shown.lines[-3].index("└") - 1
        assert across < 3, "the first interval stands at the left end of the whole"
        await shown.press("pagedown")
        assert shown.lines[-1].strip().endswith("now")


async def test_intervals_that_come_meanwhile_are_drawn_and_the_cursor_stays(recorded: Recording) -> None:
    async with graph(recorded, ticks=20) as shown:
        assert "over 19 intervals" in shown.lines[0]
        session = shown.app.session
        assert isinstance(session, ReplayedSession)
        shown.timeline.frames = recorded.frames[:21]
        session.tick()
        await shown.settle()
        assert "over 20 intervals" in shown.lines[0]
        assert shown.lines[-1].strip() == f"{shown.when(20)} now"
        await shown.press("left")
        shown.timeline.frames = recorded.frames[:22]
        session.tick()
        await shown.settle()
        assert shown.lines[-1].strip() == f"{shown.when(19)} · 2 s ago"


async def test_what_cannot_be_read_any_more_is_a_gap(recorded: Recording) -> None:
    class Damaged(FramesTimeline):
        def frame(self, time_ns: int) -> Frame | None:
            return None if time_ns == self.times[9] else super().frame(time_ns)

    session = ReplayedSession(recorded)
    async with dashboard(session, ticks=COUNT + 1) as (app, pilot):
        timeline = Damaged(recorded.frames)
        app.watched.cursor = TimeCursor(timeline)
        app.watched.history = app.watched.live_history = History()
        shown = GraphDashboard(app, pilot, recorded, timeline)
        table(app).select(cpu_row(3))
        table(app).select_column(shown.column("IRQ"))
        await shown.press("g")
        await shown.settle()
        await shown.press("home", *["right"] * 9)
        assert "—" in shown.lines[0]
        assert shown.lines[-1].strip().startswith(shown.when(10))
        await shown.press("right")
        assert "—" not in shown.lines[0]


async def test_a_click_puts_the_cursor_there(recorded: Recording) -> None:
    async with graph(recorded) as shown:
        await shown.press("0")
        left = shown.lines[-3].index("└") + 1
        await shown.pilot.click(GraphLines, offset=(left, 5))
        await shown.settle()
        assert shown.lines[-1].strip().startswith(shown.when(1))


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
@pytest.mark.parametrize("theme", ["calm", "ansi"])
async def test_the_keys_and_every_line_fit(recorded: Recording, size: tuple[int, int], theme: str) -> None:
    session = ReplayedSession(recorded)
    async with dashboard(session, size=size, ticks=12, theme=theme) as (app, pilot):
        await pilot.press("g")
        await pilot.pause()
        await pilot.pause()
        picture, window = app.screen.query_one(GraphLines), app.screen.query_one(".window")
        assert all(len(line) <= picture.size.width for line in picture.text.split("\n"))
        assert len(picture.text.split("\n")) == picture.size.height
        keys = (window.border_subtitle or "").replace("\\", "")
        assert len(keys) + 6 <= window.outer_size.width
        for word in ("← →", "]", "C columns", "Enter", "e explain", "Esc close"):
            assert word in keys


async def test_a_row_that_has_gone_keeps_its_name_and_its_past() -> None:
    session = FakeSession(build_topology(1, 4, 1))
    async with dashboard(session, ticks=8) as (app, pilot):
        table(app).select(cpu_row(2))
        await pilot.press("g")
        await pilot.pause()
        session.topology = session.script.topology = topology_of(
            [place for cpu, place in session.topology.places.items() if cpu != 2])
        session.script.totals.clear()
        session.tick(2)
        await pilot.pause()
        await app.workers.wait_for_complete()
        await pilot.press("left", "left", "left")
        await pilot.pause()
        lines = app.screen.query_one(GraphLines).text.split("\n")
        assert "cpu 2" in lines[0]
        assert "over 7 intervals" in lines[0]
