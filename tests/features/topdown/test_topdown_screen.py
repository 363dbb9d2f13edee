"""The top-down screen over simulated machines: bars, opened levels of a row, and closing them."""

from __future__ import annotations

import errno
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from dashboard_driver import text_of
from patience import PATIENCE
from simulated_session import SimulatedSession
from textual.pilot import Pilot

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.graph import Explain
from turbotui.features.topdown.followed_rows import FollowedRowsReady
from turbotui.features.topdown.screen import TopdownScreen
from turbotui.features.topdown.thread_counters import ThreadInterval
from turbotui.simulated.host import SimulatedHost
from turbotui.widgets.listing import Listing
from turbotui.widgets.segment_lines import SegmentLines


@asynccontextmanager
async def topdown(machine: str = "laptop-old", *,
                  size: tuple[int, int] = (120, 36),
                  ) -> AsyncIterator[tuple[SimulatedSession, TopdownScreen, Pilot[int]]]:
    """The dashboard on its top-down screen, after an interval in which slots were counted."""
    session = SimulatedSession(machine)
    async with TurbotuiApp(session, screen="topdown").run_test(size=size) as pilot:
        while not session.started:
            await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, TopdownScreen)
        await counted(session, screen, pilot)
        yield session, screen, pilot


async def counted(session: SimulatedSession, screen: TopdownScreen, pilot: Pilot[int]) -> None:
    """Tick twice, so that opened nodes are counted over the second interval."""
    for _ in range(2):
        session.tick()
        await pilot.pause()
    screen.show_frame()


def below(screen: TopdownScreen) -> str:
    return screen.query_one("#tree", SegmentLines).text


def opened(screen: TopdownScreen) -> tuple[int, frozenset[int] | None]:
    """Return the number of opened nodes, and their CPUs."""
    return len(screen.counters.drill.parents), screen.counters.drill.cpus


def row_text(screen: TopdownScreen, name: str) -> str:
    content = screen.table.content
    assert content is not None
    return next(str(content.value_of("Bar", row)) for row in content.rows if content.value_of("Place", row) == name)


async def test_each_core_has_a_bar_and_the_machine_one_above() -> None:
    async with topdown() as (_session, screen, _pilot):
        content = screen.table.content
        assert content is not None
        names = [content.value_of("Place", row) for row in content.rows]
        assert names[0] == "machine"
        assert sorted(map(str, names[1:])) == ["core 0", "core 1", "core 2", "core 3"]
        assert set(row_text(screen, "machine")) <= set("RSFB")
        assert "machine · " in below(screen)
        assert "Enter opens level 2" in below(screen)


@pytest.mark.parametrize(("width", "legend"), [
    (80, "Retire Spec Front Back"), (120, "R retire S specul. F front B back")])
async def test_the_letters_of_the_bars_are_words_above_them(width: int, legend: str) -> None:
    async with topdown(size=(width, 24)) as (_session, screen, _pilot):
        assert legend in screen.table.render_line(0).text


async def test_a_filter_that_nothing_passes_is_reported_to_be_the_reason() -> None:
    async with topdown() as (_session, screen, pilot):
        await pilot.press("backslash", *"nonsense", "enter")
        assert not screen.table.lines
        assert screen.readout() == "No row passes the filter nonsense: \\ changes it"


async def test_the_cores_that_work_stand_above_those_that_sleep() -> None:
    async with topdown("sapphire-2s") as (_session, screen, _pilot):
        content = screen.table.content
        assert content is not None
        slots = [float(str(content.value_of("GSlots", row))) for row in content.rows]
        assert slots[0] >= max(slots[1:])  # the machine
        assert slots[1] == max(slots[1:])
        assert all(below <= 1.25 * above for above, below in itertools.pairwise(slots[1:]))


async def test_enter_opens_the_hottest_part_of_a_row_for_its_cpus_only() -> None:
    async with topdown() as (session, screen, pilot):
        await pilot.press("down", "enter")
        await counted(session, screen, pilot)
        assert opened(screen) == (1, frozenset({0, 4}))
        assert below(screen).startswith(" core 0 › ")
        assert " % of slots" in below(screen)
        await pilot.press("enter")
        assert opened(screen) == (2, frozenset({0, 4}))
        await pilot.press("left", "left")
        assert opened(screen) == (0, None)
        await pilot.press("enter", "down")
        await pilot.pause()
        assert opened(screen) == (0, None)  # another row closes what was opened


async def test_kinds_of_core_are_rows_and_a_row_of_several_is_not_opened() -> None:
    async with topdown("laptop") as (session, screen, pilot):
        await pilot.press("t", "t", "t")
        await counted(session, screen, pilot)
        content = screen.table.content
        assert content is not None
        assert [content.value_of("Place", row) for row in content.rows][:3] == ["machine", "P cores", "E cores"]
        assert "Enter opens" not in below(screen)
        await pilot.press("enter")
        assert opened(screen) == (0, None)
        await pilot.press("down")
        await pilot.pause()
        assert "Enter opens level 2" in below(screen)


async def test_a_cell_is_explained_with_formula_numbers_and_advice() -> None:
    async with topdown() as (_session, _screen, pilot):
        await pilot.press("L", "e")
        await pilot.pause()
        assert isinstance(pilot.app.screen, Explain)


async def test_a_machine_that_cannot_says_why_and_what_to_do() -> None:
    session = SimulatedSession("guest")
    async with TurbotuiApp(session, screen="topdown").run_test(size=(80, 24)) as pilot:
        while not session.started:
            await pilot.pause()
        await pilot.pause()
        said = "\n".join("".join(text for text, _role in item.segments)
                         for item in pilot.app.screen.query_one("#absent", Listing).items)
        assert "there is no PMU of the cores" in said
        assert "to do: " in said


async def threads_counted(session: SimulatedSession, screen: TopdownScreen, pilot: Pilot[int]) -> None:
    """Tick until an interval of threads is shown."""
    end = time.monotonic() + PATIENCE
    while not any(item.startswith("GSlots") for item in shown(screen)) or not screen.table.lines:
        assert time.monotonic() < end, screen.readout()
        session.tick()
        await pilot.pause(0.05)


def shown(screen: TopdownScreen) -> list[str]:
    content = screen.table.content
    return [] if content is None or not content.rows else [column.id for column in content.whole.columns]


async def test_threads_are_rows_of_their_own_and_one_is_opened() -> None:
    async with topdown("sapphire-2s") as (session, screen, pilot):
        await pilot.press("t", "t", "t", "t")
        await threads_counted(session, screen, pilot)
        content = screen.table.content
        assert content is not None
        names = {str(content.value_of("Place", row)) for row in content.rows}
        assert names <= {"dense algebra", "streaming", "compiling", "housekeeping"}
        assert "TID" in shown(screen)
        sums = [content.value_of("Sum%", row) for row in content.rows]
        assert all(isinstance(item, float) and abs(item - 100.0) < 2.0 for item in sums)
        assert "more ran and are not counted" in below(screen)
        assert opened(screen) == (0, None)
        end = time.monotonic() + PATIENCE
        while " % of slots" not in below(screen):
            assert time.monotonic() < end, below(screen)
            if " › " not in below(screen):
                await pilot.press("enter")
            session.tick()
            await pilot.pause(0.2)
        assert " › " in below(screen)
        await pilot.press("t")
        await counted(session, screen, pilot)
        assert content is not screen.table.content
        assert str(screen.table.content and screen.table.content.rows[0]) == "('machine', 0)"


async def test_what_is_opened_of_a_thread_stays_open_until_the_thread_has_ended() -> None:
    async with topdown("sapphire-2s") as (session, screen, pilot):
        await pilot.press("t", "t", "t", "t")
        await threads_counted(session, screen, pilot)
        await pilot.press("enter")
        content, watch = screen.table.content, screen.moving and screen.moving.source
        assert content is not None
        assert watch is not None
        chosen = screen.table.current
        assert chosen is not None
        tid = content.value_of("TID", chosen)
        assert isinstance(tid, int)
        screen.post_message(FollowedRowsReady(ThreadInterval((), 1.0), None, watch))  # it left the busiest just then
        await pilot.pause()
        assert screen.table.current == chosen
        assert f" {tid} › " in below(screen)
        now = screen.table.content
        assert now is not None
        assert now.value_of("GSlots", chosen) is None
        screen.post_message(FollowedRowsReady(ThreadInterval((), 1.0, gone=tid), None, watch))
        await pilot.pause()
        assert isinstance(pilot.app, TurbotuiApp)
        assert f"{tid} has ended: its opened levels are closed" in text_of(pilot.app, "status")
        assert " › " not in below(screen)


async def test_an_opened_thread_stays_open_when_another_one_becomes_the_first_row() -> None:
    async with topdown("sapphire-2s") as (session, screen, pilot):
        await pilot.press("t", "t", "t", "t")
        await threads_counted(session, screen, pilot)
        content, moving = screen.table.content, screen.moving
        assert content is not None
        assert moving is not None
        interval = moving.newest
        assert isinstance(interval, ThreadInterval)
        chosen = content.rows[0]
        await pilot.press("enter")
        assert screen.table.current == chosen
        others = tuple(counts for counts in interval.threads if ("thread", counts.thread.tid) != chosen)
        assert others
        screen.post_message(FollowedRowsReady(replace(interval, threads=others), None, moving.source))
        await pilot.pause()
        now = screen.table.content
        assert now is not None
        assert now.rows[0] != chosen
        assert screen.table.current == chosen
        assert " › " in below(screen)


async def test_without_a_program_that_marks_regions_their_rows_are_passed_over_with_the_reason() -> None:
    async with topdown("sapphire-2s") as (_session, screen, pilot):
        await pilot.press("t", "t", "t", "t", "t")
        await pilot.pause()
        assert isinstance(pilot.app, TurbotuiApp)
        assert "A row for each core; no rows of regions: no program marks regions here" in text_of(pilot.app, "status")
        assert screen.moving is None


async def test_a_machine_whose_threads_are_elsewhere_has_no_rows_of_threads() -> None:
    async with topdown("laptop-old") as (session, screen, pilot):
        host = session.machine.host
        assert isinstance(host, SimulatedHost)
        host.fail("/proc", errno.EACCES)
        await pilot.press("t", "t", "t", "t")
        end = time.monotonic() + PATIENCE
        while "No threads" not in screen.readout():
            assert time.monotonic() < end, screen.readout()
            session.tick()
            await pilot.pause(0.05)
