"""The past of rows of any kind is what the kept frames and intervals say, whatever was on the screen meanwhile."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE
from simulated_session import SimulatedSession
from textual.pilot import Pilot

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.graph import Graph
from turbotui.app.journal_past import JournalPast
from turbotui.app.past import TimeCursor
from turbotui.app.player import Player
from turbotui.app.recorded_session import RecordedSession
from turbotui.app.row_table import RowTableScreen
from turbotui.features.groups.screen import GroupsScreen
from turbotui.quantities.columns import Column
from turbotui.quantities.moments import NS
from turbotui.recording.journal import Journal
from turbotui.recording.recorder import Recorder

SIZE = (160, 50)
BEFORE, MEANWHILE, AFTER = 3, 4, 2
NAMES = ("groups", "interrupts", "uncore", "topdown")


class Rows:
    """A dashboard on a screen of rows, whose machine goes on when a test says so."""

    def __init__(self, session: SimulatedSession, screen: RowTableScreen[Any], pilot: Pilot[int]) -> None:
        self.session, self.screen, self.pilot = session, screen, pilot

    async def tick(self, count: int = 1) -> None:
        for _ in range(count):
            self.session.tick()
            await self.pilot.pause()
            latest = self.session.latest
            while isinstance(self.screen, GroupsScreen) and self.screen.newest_ns != (latest and latest.newer.wall_ns):
                await self.pilot.pause(0.01)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    def recent(self, cell: tuple[Column[Any], Hashable]) -> Sequence[float]:
        return self.screen.recent(*cell, 60)

    def reads(self) -> bool:
        return any(past.reads for past in self.screen._pasts.values())

    async def until_read(self) -> None:
        for _ in range(int(PATIENCE / 0.02)):
            await self.pilot.pause(0.02)
            if not self.reads():
                return


@asynccontextmanager
async def rows(name: str, size: tuple[int, int] = SIZE) -> AsyncIterator[Rows]:
    """The dashboard on a screen of rows, after some intervals."""
    shape = {"uncore": "vera-2s"}.get(name, "laptop")
    session = SimulatedSession(shape, few=name == "uncore", small=True)
    async with TurbotuiApp(session, screen=name).run_test(size=size) as pilot:
        while not session.started:
            await pilot.pause()
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, RowTableScreen)
        shown = Rows(session, screen, pilot)
        if isinstance(screen, GroupsScreen):  # the first reading has no interval
            while screen._newest is None:
                await pilot.pause(0.01)
            session.tick()
            while screen.newest_ns is None:
                await pilot.pause(0.01)
            yield shown
        else:
            await shown.tick(2)
            yield shown


def last_cell(screen: RowTableScreen[Any]) -> tuple[Column[Any], Hashable]:
    """The first number of the last row, which a small window does not show."""
    content = screen.table.content
    assert content is not None
    column = next(item for item in content.whole.columns if item.decimals >= 0 and not item.identity and item.default)
    return column, screen.table.lines[-1].row


async def look_back(shown: Rows) -> None:
    await shown.press("comma", "comma")
    await shown.tick(MEANWHILE)
    await shown.press("backspace")


async def a_pause(shown: Rows) -> None:
    await shown.press("p")
    await shown.tick(MEANWHILE)
    await shown.press("p")


async def a_small_window(shown: Rows) -> None:
    await shown.pilot.resize_terminal(60, 12)
    await shown.tick(MEANWHILE)
    await shown.pilot.resize_terminal(*SIZE)
    await shown.pilot.pause()


async def another_screen(shown: Rows) -> None:
    await shown.press("1")
    await shown.tick(MEANWHILE)
    shown.pilot.app.action_show_screen(shown.screen.where)  # type: ignore[attr-defined]
    await shown.pilot.pause()


async def test_rows_of_an_interval_that_was_not_drawn_are_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async with rows("interrupts") as shown:
        await shown.tick(BEFORE)
        earlier = shown.session.latest
        assert earlier is not None
        await shown.tick()
        shown.screen.watch_state.times.clear()  # as if the screen had been busy then
        monkeypatch.setattr(type(shown.screen), "shown_ns", earlier.newer.wall_ns)
        began = earlier.newer.wall_ns - round((earlier.seconds or 0.0) * NS)
        assert shown.screen._interval == (began, earlier.newer.wall_ns)
        monkeypatch.setattr(type(shown.screen), "shown_ns", earlier.newer.wall_ns + 1)
        assert shown.screen._interval is None, "no kept interval ends there"


MEANWHILE_ON_SCREEN: Sequence[Callable[[Rows], Awaitable[None]]] = (look_back, a_pause, a_small_window)


@pytest.mark.parametrize("name", NAMES)
async def test_no_hole_is_left(name: str) -> None:
    async with rows(name, (60, 12)) as shown:
        await shown.tick(BEFORE)
        await shown.pilot.resize_terminal(*SIZE)
        await shown.pilot.pause()
        cell = last_cell(shown.screen)
        # the files of groups are closed while another screen is shown
        for disturbance in (*MEANWHILE_ON_SCREEN, *((another_screen,) if name != "groups" else ())):
            await disturbance(shown)
            await shown.tick(AFTER)
            shown.recent(cell)
            await shown.until_read()
            recent = shown.recent(cell)
            assert len(recent) >= BEFORE + MEANWHILE + AFTER, disturbance.__name__
            assert not any(map(math.isnan, recent[-(BEFORE + MEANWHILE + AFTER):])), (disturbance.__name__, recent)
            content = shown.screen.table.content
            assert content is not None
            assert recent[-1] == pytest.approx(content.value(*cell), rel=1e-6), disturbance.__name__


@pytest.mark.parametrize("name", NAMES)
async def test_values_are_of_their_own_intervals(name: str) -> None:
    async with rows(name) as shown:
        cell, truth = last_cell(shown.screen), []
        for _ in range(4):
            await shown.tick()
            assert shown.screen.table.content is not None
            truth.append(shown.screen.table.content.value(*cell))
        shown.screen._pasts.clear()
        await shown.press("comma")
        shown.recent(cell)
        await shown.until_read()
        assert list(shown.recent(cell)[-3:]) == pytest.approx(truth[:3], rel=1e-6)
        await shown.press("backspace")
        shown.recent(cell)
        await shown.until_read()
        assert list(shown.recent(cell)[-4:]) == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
async def test_a_screen_that_stays_reads_no_frame_again(name: str) -> None:
    async with rows(name) as shown:
        await shown.tick(2)
        await shown.until_read()
        for _ in range(4):
            await shown.tick()
            assert not shown.reads()


async def test_a_graph_has_the_intervals_before_its_cell_was_looked_at() -> None:
    async with rows("groups") as shown:
        await shown.tick(BEFORE)
        await shown.press("g")
        window = shown.pilot.app.screen
        assert isinstance(window, Graph)
        for _ in range(int(PATIENCE / 0.02)):
            await shown.pilot.pause(0.02)
            if all(worker.is_finished for worker in shown.pilot.app.workers):
                break
        cells = window._cells
        assert cells is not None
        cells.moments()
        assert sum(item.known for item in cells.curves[0].timed) >= BEFORE + 1
        await shown.tick()
        for _ in range(int(PATIENCE / 0.02)):
            await shown.pilot.pause(0.02)
            if all(worker.is_finished for worker in shown.pilot.app.workers):
                break
        assert cells.moments()
        assert cells.curves[0].timed[-1].known, "rows that come after their frame are waited for"


async def test_an_interval_that_lacks_the_rows_is_a_gap_and_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with rows("interrupts") as shown:
        await shown.tick(4)
        cell, screen, lacking = last_cell(shown.screen), shown.screen, shown.screen.watch_state.times[-3].end
        screen._pasts.clear()
        moment = screen.moment
        monkeypatch.setattr(screen, "moment", lambda frame, name: (
            None if frame.newer.wall_ns == lacking else moment(frame, name)))
        shown.recent(cell)
        await shown.until_read()
        assert [math.isnan(value) for value in shown.recent(cell)[-4:]] == [False, True, False, False]
        assert not shown.reads()


@pytest.mark.parametrize("name", NAMES)
async def test_a_value_that_must_not_be_read_without_its_mark_is_a_gap(name: str,
                                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum of which a part is missing is a gap, as in charts of CPUs: drawn, it would look like a fall."""
    async with rows(name) as shown:
        await shown.tick(3)
        cell, content = last_cell(shown.screen), shown.screen.table.content
        assert content is not None
        assert not math.isnan(shown.recent(cell)[-1])
        table = type(content.whole)
        whole = table.cell
        monkeypatch.setattr(table, "cell", lambda self, column, row: replace(whole(self, column, row), partial=True))
        content._cells.clear()
        shown.screen._pasts.clear()
        assert math.isnan(shown.recent(cell)[-1])
        await shown.until_read()
        assert len(shown.recent(cell)) >= 3
        assert all(map(math.isnan, shown.recent(cell)))
        assert content.value(*cell) is not None


async def test_groups_keep_as_many_intervals_as_their_bytes_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turbotui.features.groups.screen._MOST_BYTES", 1)
    async with rows("groups") as shown:
        await shown.tick(3)
        assert isinstance(shown.screen, GroupsScreen)
        assert shown.screen._past_groups.first_ns == shown.screen.newest_ns


async def test_without_a_filter_no_rows_are_counted_at_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be thousands."""
    async with rows("interrupts") as shown:
        counted: list[object] = []

        def lines(table: Any) -> Sequence[object]:
            counted.append(table)
            rows_of: Sequence[object] = table._rows.lines
            return rows_of

        monkeypatch.setattr(type(shown.screen.table), "lines", property(lines))
        assert shown.screen.flags() == []
        assert not counted
        await shown.press("backslash", *"a", "enter")
        counted.clear()
        assert "filter a: " in shown.screen.flags()[-1]
        assert counted


async def test_cells_that_are_not_drawn_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turbotui.app.row_past._MOST_CELLS", 20)
    async with rows("interrupts") as shown:
        await shown.tick(BEFORE)
        content = shown.screen.table.content
        assert content is not None
        column = last_cell(shown.screen)[0]
        for row in content.rows:
            shown.recent((column, row))
        await shown.until_read()
        await shown.tick()
        _columns, drawn = shown.screen.table.drawn
        assert {row for _name, row in shown.screen.past(content)._cells} <= set(drawn)
        recent = shown.recent((column, drawn[0]))
        assert not any(map(math.isnan, recent[-BEFORE:]))
        assert not shown.reads(), "the drawn cells are still there"


async def test_a_replay_that_was_not_played_has_what_led_to_its_moment(tmp_path: Path) -> None:
    path, truth = str(tmp_path / "run.ttj"), []
    async with rows("interrupts") as shown:
        recorder = Recorder(path, shown.session.machine, sync_seconds=0.0)
        cell = last_cell(shown.screen)
        for _ in range(6):
            assert shown.session.latest is not None
            recorder.take(shown.session.latest)
            assert shown.screen.table.content is not None
            truth.append(shown.screen.table.content.value(*cell))
            await shown.tick()
        recorder.close()
    with Journal((path,)) as journal:
        player = Player(TimeCursor(JournalPast(journal), live=False))
        player.cursor.go_to(4)
        app = TurbotuiApp(RecordedSession(journal, 1.0), player=player, screen="interrupts")
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            screen = app.screen
            assert isinstance(screen, RowTableScreen)
            for _ in range(int(PATIENCE / 0.02)):
                recent = screen.recent(*cell, 60)
                if not any(map(math.isnan, recent[-4:])) and len(recent) >= 4:
                    break
                await pilot.pause(0.02)
            assert list(recent[-4:]) == pytest.approx(truth[-5:-1], rel=1e-6)
