"""The help: every mark and word of the screen is explained, lines are wrapped, and `/` searches them."""

from __future__ import annotations

import pytest
from dashboard_driver import dashboard
from scripted_machine import FakeSession
from textual.widgets import Input

from turbotui.app.help import SIGNS, STATES, Help, help_items, matching
from turbotui.quantities.marks import MARKS
from turbotui.widgets import cells
from turbotui.widgets.listing import Item, Listing

_ITEMS = [Item((("Keys", cells.StyleRole.SORTED),)),
          Item((("e", cells.StyleRole.KEY), ("Explain the cell.", cells.StyleRole.PLAIN))),
          Item((("g", cells.StyleRole.KEY), ("Graph of the cell.", cells.StyleRole.PLAIN))),
          Item(()),
          Item((("Marks", cells.StyleRole.SORTED),)),
          Item((("~", cells.StyleRole.KEY), ("Estimated.", cells.StyleRole.PLAIN)))]


def texts(items: list[Item]) -> list[str]:
    return ["".join(text for text, _ in item.segments) for item in items]


@pytest.mark.parametrize(("typed", "expected"), [
    ("", ["Keys", "eExplain the cell.", "gGraph of the cell.", "", "Marks", "~Estimated."]),
    ("CELL graph", ["Keys", "gGraph of the cell."]),
    ("e", ["Keys", "eExplain the cell.", "gGraph of the cell.", "", "Marks", "~Estimated."]),
    ("estimated", ["Marks", "~Estimated."]),
    ("nowhere", ["Nothing matches nowhere: Esc shows everything"]),
])
def test_lines_are_found_by_all_words_and_stand_below_their_heading(typed: str, expected: list[str]) -> None:
    assert texts(matching(_ITEMS, typed)) == expected


def test_every_mark_of_a_cell_is_explained() -> None:
    marks = {value for name, value in vars(cells).items() if name.startswith("MARK_")}
    assert marks | {mark.sign for mark in MARKS} | {cells.UNKNOWN} <= {sign for sign, _ in SIGNS}


@pytest.mark.parametrize("word", ["SIMULATED", "RECORDED", "PAST", "PAUSED", "REC", "LATE", "TCC", "DIFFERENCES"])
def test_words_at_the_edges_of_the_screen_are_explained(word: str) -> None:
    assert any(word in name and text.endswith(".") for name, text in STATES)


async def test_lines_are_as_wide_as_the_window_whenever_it_is_laid_out() -> None:
    """A window that was filled before its first layout would break every line at the narrowest width."""
    async with dashboard(FakeSession(), size=(80, 24)) as (app, pilot):
        await pilot.press("question_mark")
        await pilot.pause()
        listing = app.screen.query_one(Listing)
        narrow = max(map(len, listing.text.splitlines()))
        listing.styles.width = 90
        await pilot.resize_terminal(120, 24)
        await pilot.pause()
        assert narrow < max(map(len, listing.text.splitlines())) <= 90


async def test_slash_searches_and_escape_shows_everything_before_it_closes() -> None:
    async with dashboard(FakeSession(), size=(80, 24)) as (app, pilot):
        await pilot.press("question_mark")
        await pilot.pause()
        window = app.screen
        assert isinstance(window, Help)
        listing = window.query_one(Listing)
        whole = listing.text
        await pilot.press("slash", *"estimated counter", "enter")
        await pilot.pause()
        assert window.query_one(Input).value == "estimated counter"
        assert "~" in listing.text
        assert len(listing.text) < len(whole) / 5
        await pilot.press("escape")
        await pilot.pause()
        assert listing.text == whole
        assert app.screen is window
        await pilot.press("q")
        await pilot.pause()
        assert app.screen is not window


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_no_sentence_is_cut(size: tuple[int, int]) -> None:
    async with dashboard(FakeSession(), size=size) as (app, pilot):
        await pilot.press("question_mark")
        await pilot.pause()
        listing = app.screen.query_one(Listing)
        width = listing.size.width
        assert width > 20
        assert all(len(line) <= width for line in listing.text.splitlines())
        said = " ".join(listing.text.split())
        for item in help_items(app.watched, app.screen_table):
            assert " ".join("".join(text for text, _ in item.segments).split()) in said
