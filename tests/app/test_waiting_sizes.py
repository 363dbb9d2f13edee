"""Sizes that wait in a screen's queue while the terminal has another one already."""

from __future__ import annotations

import pytest
from dashboard_driver import dashboard
from scripted_machine import FakeSession
from textual import events
from textual.geometry import Size
from textual.screen import Screen

SIZE = Size(120, 36)
_MOST = 40


def _count_layouts(screen: Screen[object]) -> list[Size]:
    """The sizes for which the screen is laid out from now on; it takes no sizes any more after too many of them."""
    sizes: list[Size] = []

    def laid_out(_screen: Screen[object]) -> None:
        sizes.append(screen.outer_size)
        if len(sizes) > _MOST:
            screen.disable_messages(events.Resize)

    screen.screen_layout_refresh_signal.subscribe(screen, laid_out, immediate=True)
    return sizes


@pytest.mark.parametrize("keys", [(), ("g",), ("question_mark",), ("ctrl+p",)],
                         ids=["a table", "the graph", "the help", "the palette"])
async def test_two_waiting_sizes_do_not_change_places_for_ever(keys: tuple[str, ...]) -> None:
    async with dashboard(FakeSession(), size=SIZE) as (app, pilot):
        await pilot.press(*keys)
        await pilot.pause()
        screen = app.screen
        assert (screen is app.screen_stack[0]) is not bool(keys)
        sizes = _count_layouts(screen)
        old = Size(80, 24)
        screen.post_message(events.Resize(old, old))
        screen.call_later(screen.refresh)  # what is between them keeps Textual from joining them
        screen.post_message(events.Resize(SIZE, SIZE))
        await pilot.pause()
        await pilot.pause()
        assert len(sizes) < _MOST
        assert set(sizes) <= {SIZE}
        assert screen.outer_size == SIZE


async def test_a_size_that_the_terminal_has_is_laid_out_for() -> None:
    async with dashboard(FakeSession(), size=SIZE) as (app, pilot):
        await pilot.press("question_mark")
        await pilot.pause()
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert [screen.outer_size for screen in app.screen_stack] == [Size(80, 24)] * 2
