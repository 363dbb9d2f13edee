"""Words on a screen that name a key, or are the answer of one, do what the key does when they are clicked."""

from __future__ import annotations

import pytest
from dashboard_driver import dashboard, text_of
from simulated_session import SimulatedSession

from turbotui.app.text_window import TextWindow
from turbotui.app.tour import STEPS, TourLines
from turbotui.app.why_window import WhyWindow


@pytest.mark.parametrize(("screen", "line"), [("0", "#summary"), ("4", "#headline")])
async def test_a_click_on_the_verdict_opens_the_window_of_causes(screen: str, line: str) -> None:
    async with dashboard(SimulatedSession("laptop-old+heat"), ticks=3) as (app, pilot):  # type: ignore[arg-type]
        await pilot.press(screen)
        await pilot.pause()
        await pilot.click(line, offset=(5, 1 if line == "#summary" else 0))
        await pilot.pause()
        assert isinstance(app.screen, WhyWindow)


async def test_a_click_on_the_key_of_the_verdict_goes_to_its_screen() -> None:
    session = SimulatedSession("laptop-old+heat")
    async with dashboard(session, size=(80, 24), ticks=3) as (app, pilot):  # type: ignore[arg-type]
        await pilot.press("0")
        session.tick(2)
        await pilot.pause()
        line = text_of(app, "summary").splitlines()[1]
        assert line.rstrip().endswith("4 power")
        await pilot.click("#summary", offset=(line.rindex("4 power"), 1))
        await pilot.pause()
        assert app.current_mode == "power"


async def test_clicks_on_the_tour_do_what_its_keys_do() -> None:
    async with dashboard(SimulatedSession("laptop-old"), size=(120, 36)) as (app, pilot):  # type: ignore[arg-type]
        await pilot.press("B")
        await pilot.pause()
        line = app.screen.query_one(TourLines)
        await pilot.click(TourLines, offset=(line.text.index("B next"), 0))
        await pilot.pause()
        assert line.text.startswith(f" Tour 2/{len(STEPS)}")
        await pilot.click(TourLines, offset=(line.text.index("Esc not now"), 0))
        await pilot.pause()
        assert not app.screen.query(TourLines)


async def test_a_click_on_the_line_of_a_comparison_ends_it() -> None:
    async with dashboard(SimulatedSession("laptop-old"), ticks=3) as (app, pilot):  # type: ignore[arg-type]
        await pilot.press("b")
        await pilot.pause()
        line = app.screen.query_one("#compared")
        assert line.display
        await pilot.click("#compared", offset=(40, 0))
        await pilot.pause()
        assert not line.display


async def test_clicks_on_words_that_name_a_key_do_what_the_key_does() -> None:
    async with dashboard(SimulatedSession("laptop-old"), ticks=5) as (app, pilot):  # type: ignore[arg-type]
        async def click(line: str, words: str) -> None:
            await pilot.click(f"#{line}", offset=(text_of(app, line).index(words) + 1, 0))
            await pilot.pause()

        await pilot.press("backslash", "1", "enter")
        await pilot.pause()
        assert app.look_at_states()
        await click("status", "Esc: all")
        assert not app.look_at_states()
        await pilot.press("comma")
        await pilot.pause()
        at = app.watched.frame
        await click("time", "now: Esc")
        assert not app.watched.in_past
        assert app.watched.frame is not at


async def test_a_click_on_the_test_of_a_comparison_opens_it_and_one_beside_it_ends_the_comparison() -> None:
    session = SimulatedSession("laptop-old")
    async with dashboard(session, ticks=6) as (app, pilot):  # type: ignore[arg-type]
        await pilot.press("b")
        await pilot.pause()
        session.tick(6)
        await pilot.pause()
        await pilot.click("#compared", offset=(text_of(app, "compared").index("| tests") + 3, 0))
        await pilot.pause()
        assert isinstance(app.screen, TextWindow)
        await pilot.press("escape")
        await pilot.click("#compared", offset=(text_of(app, "compared").index("Esc ends it"), 0))
        await pilot.pause()
        assert app.watched.mark is None
