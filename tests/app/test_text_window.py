"""Windows of text that numbers reach before they are laid out."""

from __future__ import annotations

from scripted_machine import FakeSession
from textual.widgets import Static

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.text_window import TextWindow


async def test_numbers_that_come_before_a_window_is_laid_out_are_shown_when_it_is() -> None:
    """Threads and values of the past arrive at any time, and show the window on top."""
    session = FakeSession()
    app = TurbotuiApp(session)
    async with app.run_test() as pilot:
        while not session.started:
            await pilot.pause()
        window = TextWindow(lambda _width: ("here", ["a line"]))
        shown = app.push_screen(window)
        window.show_frame()
        await shown
        await pilot.pause()
        assert str(window.query_one("#text", Static).render()) == "a line"
        assert not app.containment.failures.seen
