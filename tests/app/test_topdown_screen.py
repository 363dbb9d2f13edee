"""The top-down screen over simulated machines: bars, what is opened of a row, and what is closed again."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from simsession import SimulatedSession
from textual.pilot import Pilot

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.explain import Explain
from turbotui.features.topdown.screen import TopdownScreen
from turbotui.widgets.listing import Listing
from turbotui.widgets.segment_lines import SegmentLines


@asynccontextmanager
async def topdown(machine: str = "laptop-old", *,
                  size: tuple[int, int] = (120, 36),
                  ) -> AsyncIterator[tuple[SimulatedSession, TopdownScreen, Pilot[int]]]:
    """The dashboard on its top-down screen, after an interval in which slots were counted."""
    session = SimulatedSession(machine)
    async with TurbotuiApp(session).run_test(size=size) as pilot:
        while not session.started:
            await pilot.pause()
        await pilot.press("d")
        screen = pilot.app.screen
        assert isinstance(screen, TopdownScreen)
        await counted(session, screen, pilot)
        yield session, screen, pilot


async def counted(session: SimulatedSession, screen: TopdownScreen, pilot: Pilot[int]) -> None:
    """Two ticks: what was opened is counted over the second."""
    for _ in range(2):
        session.tick()
        await pilot.pause()
    screen.show_frame()


def below(screen: TopdownScreen) -> str:
    return screen.query_one("#tree", SegmentLines).text


def opened(screen: TopdownScreen) -> tuple[int, frozenset[int] | None]:
    """How many nodes are opened, and on which CPUs."""
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
        await pilot.press("enter")
        assert opened(screen) == (0, None)


async def test_a_cell_is_explained_with_formula_numbers_and_advice() -> None:
    async with topdown() as (_session, _screen, pilot):
        await pilot.press("L", "e")
        await pilot.pause()
        assert isinstance(pilot.app.screen, Explain)


async def test_a_machine_that_cannot_says_why_and_what_to_do() -> None:
    session = SimulatedSession("guest")
    async with TurbotuiApp(session).run_test(size=(80, 24)) as pilot:
        while not session.started:
            await pilot.pause()
        await pilot.press("d")
        await pilot.pause()
        said = "\n".join("".join(text for text, _role in item.segments)
                         for item in pilot.app.screen.query_one("#absent", Listing).items)
        assert "there is no PMU of the cores" in said
        assert "to do: " in said
