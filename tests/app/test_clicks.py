"""Words on a screen that name a key, or are the answer of one, do what the key does when they are clicked."""

from __future__ import annotations

import re

import pytest
from dashboard_driver import dashboard, terminal_text, text_of, until
from simulated_session import SimulatedSession
from textual.keys import _character_to_key
from textual.pilot import Pilot

from turbotui.app.picker import Picker
from turbotui.app.screen_table import SCREENS
from turbotui.app.text_window import TextWindow
from turbotui.app.tour import STEPS, TourLines
from turbotui.app.why_window import WhyWindow
from turbotui.features.overview.screen import OverviewScreen
from turbotui.features.tasks.screen import TasksScreen
from turbotui.widgets.key_phrases import NAMED_KEYS, key_of_hint
from turbotui.widgets.segment_lines import SegmentLines


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
        screen = app.screen
        assert isinstance(screen, OverviewScreen)
        for width in range(50, 121):
            (sentence, _), (words, _) = screen.second_line(width)
            assert len(sentence) + len(words) == width
            whole = screen.watch_state.judge.verdict().fitted(width - len("  4 power ") - 3)
            assert sentence.rstrip().endswith(whole)
            assert words == "  4 power ", "a digit alone says nothing"
        key = re.search(r" (4) power *$", line)
        assert key is not None
        await pilot.click("#summary", offset=(key.start(1), 1))
        await pilot.pause()
        assert app.current_mode == "power"


async def _click_on_the_overview(pilot: Pilot[int], words: str) -> None:
    screen = pilot.app.screen
    assert isinstance(screen, OverviewScreen)
    y, line = next((y, line) for y, line in enumerate(screen.drawn.text.splitlines()) if words in line)
    await pilot.click("#overview", offset=(line.index(words), y))


async def test_a_click_on_the_number_of_missing_sources_goes_to_the_doctor() -> None:
    async with dashboard(SimulatedSession("guest"), screen="overview") as (app, pilot):  # type: ignore[arg-type]
        await _click_on_the_overview(pilot, "sources")
        await until(pilot, lambda: app.current_mode == "doctor")


async def test_a_click_on_a_task_of_the_overview_goes_to_it_among_the_tasks() -> None:
    session = SimulatedSession("laptop")
    async with dashboard(session, screen="overview") as (app, pilot):  # type: ignore[arg-type]
        overview = app.screen
        assert isinstance(overview, OverviewScreen)

        def has_tasks() -> bool:
            session.tick()
            return " 30000 " in overview.drawn.text

        await until(pilot, has_tasks)
        await _click_on_the_overview(pilot, " 30000 ")
        await until(pilot, lambda: app.current_mode == "tasks")
        tasks = app.screen
        assert isinstance(tasks, TasksScreen)

        def is_there() -> bool:
            session.tick()
            content, current = tasks._table.content, tasks._table.current
            return content is not None and current is not None and "30000" in content.words(current).split()

        await until(pilot, is_there)
        await pilot.press("0")
        await overview.run_action("open_task(4)")
        await until(pilot, lambda: text_of(app, "status").startswith(" Process 4 has not run since tasks are watched"))
        assert app.current_mode == "tasks"


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


@pytest.mark.parametrize(("hint", "words", "key"), [
    ("Enter choose · Esc close", "choose", "Enter"), ("Enter choose · Esc close", "close", "Esc"),
    ("type to search · Space show · < > [ ] =", "search", ""), ("type to search · Space show · < > [ ] =", ">", ">"),
    ("type to search · Space show · < > [ ] =", "show", "Space"), ("y Enter copy · Esc close", "y", "y"),
    ("y Enter copy · Esc close", "copy", "Enter"), ("/ search · ↓ PgDn scroll", "search", "/"),
    ("Enter choose · Esc close", "·", "Enter"),
])
def test_a_key_of_a_frame_is_meant_by_the_words_behind_it(hint: str, words: str, key: str) -> None:
    assert key_of_hint(hint, hint.index(words)) == key


async def test_clicks_on_the_frame_of_a_window_do_what_its_keys_do() -> None:
    async with dashboard(SimulatedSession("laptop-old"), screen="cpus") as (app, pilot):  # type: ignore[arg-type]
        async def click(words: str) -> None:
            y, line = next((y, line) for y, line in enumerate(terminal_text(app).splitlines()) if words in line)
            await pilot.click(offset=(line.index(words) + len(words) - 1, y))
            await pilot.pause()

        await pilot.press("C", *"irq")
        await pilot.pause()
        shown = app.watched.chosen
        await click("Tab only")
        assert app.watched.chosen != shown
        await pilot.press("C")
        await pilot.pause()
        assert isinstance(app.screen, Picker)
        await pilot.press("escape", "e")
        await pilot.pause()
        assert isinstance(app.screen, TextWindow)
        await click("Esc close")
        assert not isinstance(app.screen, TextWindow)


async def test_every_key_and_every_screen_of_the_bottom_line_can_be_clicked_on_every_screen() -> None:
    session = SimulatedSession("laptop-old")
    async with dashboard(session, size=(200, 40)) as (app, pilot):  # type: ignore[arg-type]
        for spec in SCREENS:
            keys = text_of(app, "keys")
            tab = re.compile(rf" {re.escape(spec.number)}(?= |$)").search(keys, keys.rindex(" 0"))
            assert tab is not None
            await pilot.click("#keys", offset=(tab.start() + 1, 0))
            await pilot.pause()
            assert app.current_mode == spec.id
            keys = text_of(app, "keys")
            places = app.screen.query_one("#keys", SegmentLines)._hot
            words = {keys[place.start:place.end].split()[0]: place.action for place in places
                     if place.start < keys.rindex(" 0")}
            assert {"?", "q"} <= words.keys()
            for key, action in words.items():
                name = NAMED_KEYS.get(key.capitalize()) or _character_to_key(key)
                binding = app.screen.active_bindings[name].binding
                assert action.removeprefix("app.") == binding.action.removeprefix("app."), (spec.id, key)
