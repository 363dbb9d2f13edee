"""The interrupts screen of a simulated machine: folded sources, the CPUs inside, graphs from kept frames."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

import pytest
from dashboard_driver import terminal_text, text_of
from simulated_session import SimulatedSession
from textual.pilot import Pilot

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.kind_screen import KindScreen
from turbotui.machine.cpulist import format_cpulist
from turbotui.quantities.columns import Value
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.row_differences import RowDifferences
from turbotui.widgets.segment_lines import SegmentLines


@asynccontextmanager
async def interrupts(ticks: int = 2) -> AsyncIterator[tuple[SimulatedSession, KindScreen, Pilot[int]]]:
    """The dashboard on its interrupts screen, after some intervals."""
    session = SimulatedSession("laptop", small=True)
    app = TurbotuiApp(session, screen="interrupts")
    async with app.run_test(size=(120, 36)) as pilot:
        while not session.started:
            await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, KindScreen)
        for _ in range(ticks):
            session.tick()
            await pilot.pause()
        yield session, screen, pilot


def keys(screen: KindScreen) -> list[str]:
    return [str(line.row[0]) for line in screen.table.lines if isinstance(line.row, tuple)]


def value(screen: KindScreen, key: str, name: str) -> float:
    content = screen.table.content
    assert content is not None
    result = content.value_of(name, (key, 0))
    assert isinstance(result, int | float), (key, name, result)
    return result


def reads(screen: KindScreen) -> bool:
    """Whether kept frames are being read."""
    content = screen.table.content
    return content is not None and screen.past(content).reads


async def at_rest(screen: KindScreen, pilot: Pilot[int]) -> None:
    while reads(screen):
        await pilot.pause(0.01)


async def test_the_busiest_source_is_first_and_its_cpus_are_folded() -> None:
    async with interrupts() as (session, screen, pilot):
        sources = keys(screen)
        assert not any(":" in key for key in sources)
        rates = [value(screen, key, "Int/s") for key in sources]
        assert rates == sorted(rates, reverse=True)
        assert rates[0] > 0
        await pilot.press("right")
        inside = [key for key in keys(screen) if ":" in key]
        assert {key.partition(":")[0] for key in inside} == {sources[0]}
        assert sum(value(screen, key, "Int/s") for key in inside) == value(screen, sources[0], "Int/s")
        session.tick()
        await pilot.pause()
        assert [key for key in keys(screen) if ":" in key], "it stays unfolded"
        await pilot.press("asterisk", "asterisk")
        assert not any(":" in key for key in keys(screen))


async def test_a_cell_is_explained_by_its_readings_and_charted_from_the_intervals() -> None:
    async with interrupts(4) as (_session, screen, pilot):
        await pilot.press("home", "e")
        app = screen.app
        assert isinstance(app, TurbotuiApp)
        said = terminal_text(app)
        assert "= Δcount / interval" in said
        assert "/proc/interrupts, row" in said
        await pilot.press("escape")
        column = screen.find_column("Int/s")
        assert column is not None
        recent = screen.recent(column, (keys(screen)[0], 0), 60)
        assert sum(not math.isnan(item) for item in recent) >= 4
        assert recent[-1] == value(screen, keys(screen)[0], "Int/s")


async def test_a_moment_that_was_never_shown_is_read_once() -> None:
    async with interrupts(12) as (session, screen, pilot):
        column, row = screen.find_column("Int/s"), (keys(screen)[-1], 0)
        assert column is not None
        await pilot.press("comma", "comma", "comma")
        screen._pasts.clear()
        screen.recent(column, row, 60)
        assert reads(screen)
        await at_rest(screen, pilot)
        recent = screen.recent(column, row, 60)
        assert len(recent) == 9
        assert not any(map(math.isnan, recent))
        assert not reads(screen), "all are there"
        await pilot.press("backspace")
        session.tick()


async def test_a_screen_that_was_not_there_before_waits_and_says_so() -> None:
    session = SimulatedSession("laptop", small=True)
    app = TurbotuiApp(session)
    async with app.run_test(size=(120, 36)) as pilot:
        while not session.started:
            await pilot.pause()
        session.tick()
        await pilot.pause()
        await pilot.press("Z")
        await pilot.pause()
        assert "first reading of sources of interrupts" in text_of(app, "status")
        session.rowless["interrupts"] = Unavailable(Reason.NOT_READ, "the collector sends no interrupts")
        assert isinstance(app.screen, KindScreen)
        app.screen.show_status()
        await pilot.pause()
        assert "the collector sends no interrupts" in text_of(app, "status")
        session.rowless.clear()
        session.tick()
        await pilot.pause()
        screen = pilot.app.screen
        assert isinstance(screen, KindScreen)
        assert keys(screen)


@pytest.mark.usefixtures("objects_of_the_test_alone")
async def test_a_comparison_keeps_its_moment_and_not_the_frame() -> None:
    async with interrupts() as (session, screen, pilot):
        frame = screen.watch_state.frame
        assert frame is not None
        compared = weakref.ref(frame)
        await pilot.press("b")
        assert screen.marked is not None
        words = screen.marked.words
        del frame
        for _ in range(3):
            session.tick()
            await pilot.pause()
        assert f"DIFFERENCES FROM {words} · " in screen.query_one("#compared", SegmentLines).text
        gc.collect()
        assert compared() is None


async def test_rows_are_compared_with_the_means_of_the_last_minute() -> None:
    async with interrupts(ticks=1) as (session, screen, pilot):
        totals: dict[int, dict[Hashable, Value]] = {}
        for _ in range(65):  # the first of them are longer ago
            session.tick()
            await pilot.pause()
            frame, content = screen.watch_state.frame, screen.table.content
            assert frame is not None
            assert content is not None
            total, rate = (next(column for column in screen.known_columns if column.id == name)
                           for name in ("Total", "Int/s"))
            at = frame.newer.rows["interrupts"].started_ns
            totals[at] = {row: content.value(total, row) for row in content.rows}
        await pilot.press("b")
        await pilot.pause()
        content, mark, moment = screen.table.content, screen.table.view.mark, screen.marked
        assert content is not None
        assert mark is not None
        assert moment is not None
        assert f"DIFFERENCES FROM the {moment.seconds:.0f} s before" in screen.query_one("#compared", SegmentLines).text
        first = min(totals, key=lambda time_ns: abs((at - time_ns) / 1e9 - moment.seconds))
        assert 59 <= moment.seconds <= 61
        rates = [(mark.value(rate, row), content.value(rate, row)) for row in content.rows]
        for row, (mean, _now) in zip(content.rows, rates, strict=True):
            before, after = totals[first][row], totals[at][row]
            assert isinstance(before, int | float)
            assert isinstance(after, int | float)
            assert mean == pytest.approx((after - before) / moment.seconds, rel=1e-3, abs=0.1)
        assert any(mean != now for mean, now in rates)
        assert any(str(row[0]).startswith(f"{keys(screen)[0]}:") for row in mark.rows if isinstance(row, tuple)), (
            "what is folded now may be unfolded later")


async def test_the_affinity_is_read_while_it_is_shown_or_looked_for() -> None:
    async with interrupts() as (session, screen, pilot):
        async def read() -> bool:
            session.tick()
            await pilot.pause()
            frame = screen.watch_state.frame
            differences = None if frame is None else frame.kind("interrupts")
            assert isinstance(differences, RowDifferences)
            return "affinity" in differences.quantities

        assert await read()
        for name in ("Affinity", "Effective"):
            column = screen.find_column(name)
            assert column is not None
            screen.toggle(column)
        assert not await read()
        await pilot.press("backslash", *"nvme", "enter")
        assert await read(), "a filter looks into every text"
        await pilot.press("escape")
        assert not await read()


async def test_below_the_rows_stands_of_which_cpus_they_are() -> None:
    session = SimulatedSession("laptop", few=True)
    app = TurbotuiApp(session, screen="interrupts")
    async with app.run_test(size=(120, 36)) as pilot:
        while not session.started:
            await pilot.pause()
        session.tick()
        await pilot.pause()
        assert f"of CPUs {format_cpulist(session.machine.topology.cpus)} only" in text_of(app, "notes")


async def test_rows_of_a_late_reader_are_unknown_and_are_not_called_absent() -> None:
    async with interrupts() as (_session, screen, pilot):
        nothing = screen.query_one("#nothing", SegmentLines)
        for reason, words in ((Reason.LATE, "Sources of interrupts: unknown in this interval"),
                              (Reason.NO_DRIVER, "No sources of interrupts here")):
            screen._show_nothing(Unavailable(reason, "the reader of these rows did not answer in time"))
            await pilot.pause()
            assert words in nothing.text
