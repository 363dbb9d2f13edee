"""W: the findings of now and of the past, the tasks behind them, and the way to their screens."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from dashboard_driver import dashboard, until
from simulated_session import SimulatedSession
from textual.pilot import Pilot

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.why_window import WhyWindow


@asynccontextmanager
async def asked(machine: str, ticks: int = 3) -> AsyncIterator[tuple[TurbotuiApp, Pilot[int], SimulatedSession]]:
    """Run a dashboard with the window of causes open for three intervals."""
    session = SimulatedSession(machine)
    async with dashboard(session, ticks=ticks) as (app, pilot):  # type: ignore[arg-type]  # has what is asked for
        await pilot.press("W")
        for _ in range(3):
            await settled(app, pilot)
            session.tick()
            await pilot.pause()
        await settled(app, pilot)
        yield app, pilot, session


async def settled(app: TurbotuiApp, pilot: Pilot[int]) -> None:
    """Wait until the window has judged the past, and looked at what is beside frames."""
    while not isinstance(app.screen, WhyWindow) or app.screen.is_at_work:
        await pilot.pause()


def text(app: TurbotuiApp) -> str:
    assert isinstance(app.screen, WhyWindow)
    return app.screen.text


@pytest.mark.parametrize("screen", ["1", "3", "4", "7", "9"])
async def test_findings_are_reported_on_every_screen_the_worst_first(screen: str) -> None:
    session = SimulatedSession("laptop-old+storage+steal")
    async with dashboard(session) as (app, pilot):  # type: ignore[arg-type]  # has what is asked for
        await pilot.press(screen)
        await pilot.press("W")
        await settled(app, pilot)
        for _ in range(2):
            session.tick()
            await pilot.pause()
        await settled(app, pilot)
        result = text(app)
        assert result.index("Tasks wait for storage") < result.index("The hypervisor gives")
        assert re.search(r"about (2[5-9]|3\d) % of the work is lost; certain", result)


async def test_enter_on_a_finding_goes_to_its_screen() -> None:
    async with asked("laptop-old+heat") as (app, pilot, _session):
        assert "by heat" in text(app)
        await pilot.press("enter")
        await pilot.pause()
        assert app.current_mode == "power"
        assert not isinstance(app.screen, WhyWindow)


async def test_the_key_of_a_screen_goes_there() -> None:
    async with asked("laptop-old+heat") as (app, pilot, _session):
        assert "look: screen 4" in text(app)
        await pilot.press("4")
        await pilot.pause()
        assert app.current_mode == "power"
        assert not isinstance(app.screen, WhyWindow)


async def test_a_machine_without_findings_says_so() -> None:
    async with asked("laptop-old+calm") as (app, pilot, _session):
        assert "No bottleneck found" in text(app)
        await pilot.press("enter")
        await pilot.pause()
        assert app.current_mode == "cpus"


async def test_a_window_that_still_judges_the_past_does_not_wait_for_an_interval() -> None:
    async with dashboard(SimulatedSession("laptop-old+calm")) as (app, pilot):  # type: ignore[arg-type]  # as above
        release = asyncio.Event()

        async def judged() -> None:
            await release.wait()

        work = asyncio.get_running_loop().create_task(judged())
        app.watched.judge.judge_before = lambda after=0.0: work  # type: ignore[method-assign]
        await pilot.press("W")
        await until(pilot, lambda: isinstance(app.screen, WhyWindow) and text(app))
        assert text(app).startswith(" Judging the last minute")
        release.set()
        await settled(app, pilot)


async def test_what_rules_read_is_read_while_the_window_is_open() -> None:
    async with asked("laptop-old+memory") as (app, _pilot, session):
        assert "Tasks wait for memory 40 %" in text(app)
        assert session.latest is not None
        assert session.latest.newer.stamps.get("psi.memory.some") is not None


async def test_a_moment_of_the_past_is_judged_by_what_led_to_it() -> None:
    session = SimulatedSession("laptop-old+steal")
    async with dashboard(session, ticks=6) as (app, pilot):  # type: ignore[arg-type]  # has what is asked for
        await pilot.press("comma", "comma")
        await pilot.press("W")
        await settled(app, pilot)
        assert app.watched.in_past
        assert "The hypervisor gives" in text(app)
        before = text(app)
        session.tick()
        await pilot.pause()
        assert text(app) == before


async def test_memory_controllers_are_counted_while_somebody_asks_why() -> None:
    async with asked("forest-1s+bandwidth") as (app, _pilot, session):
        assert session.also, "no controller is read"
        assert re.search(r"The memory of package 0 moves \d+ of .*GB/s", " ".join(text(app).split()))


async def test_where_no_controller_can_be_read_bandwidth_is_among_what_could_not_be_judged() -> None:
    async with asked("guest+calm") as (app, _pilot, session):
        assert not session.also
        assert "memory bandwidth cannot be read here (bandwidth not judged)" in " ".join(text(app).split())


async def test_rows_are_read_for_a_cause_that_they_tell_more_of_and_for_no_other() -> None:
    for machine, read in (("guest+interrupts", {"interrupts"}), ("laptop-old+storage", set[str]())):
        async with asked(machine, ticks=5) as (app, pilot, session):
            session.tick()
            await pilot.pause()
            assert isinstance(app.screen, WhyWindow)
            assert session.latest is not None
            assert {*session.latest.newer.rows, *session.latest.newer.no_rows} == read


async def test_the_first_sentence_is_laid_out_for_the_terminal_before_the_window_has_a_size() -> None:
    class Followed(WhyWindow):
        def _show(self) -> None:
            super()._show()
            texts.append(self.text)

    texts: list[str] = []
    async with dashboard(SimulatedSession("laptop-old")) as (app, pilot):  # type: ignore[arg-type]
        await app.push_screen(Followed(app.watched))
        await settled(app, pilot)
    assert texts[0].splitlines()[0].strip() == "Judging the last minute: a moment, please"
