"""The footer: which keys and names of screens are shown at each width."""

from __future__ import annotations

import pytest
from dashboard_driver import dashboard, text_of
from scripted_machine import FakeSession

from turbotui.app.actions import ACTIONS
from turbotui.app.footer import footer
from turbotui.feature import EVERYWHERE

SCREENS = tuple((word, key, word) for key, word in zip("0123d", ("overview", "CPUs", "topology", "map", "top-down"),
                                                       strict=True))
USABLE = [action for action in ACTIONS if action.label and {EVERYWHERE, "cpus"} & set(action.where)]


def _line(width: int, *, chooses: bool = False) -> str:
    lines, hot = footer(USABLE, SCREENS, "1", width, chooses=chooses)
    text = "".join(text for text, _role in lines[0])
    assert len(text) <= width
    assert all(text[segment.start:segment.end].strip() for segment in hot)
    return text


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160, 200, 300])
def test_the_ways_to_help_and_out_and_every_screens_key_are_there(width: int) -> None:
    line = _line(width)
    assert "? help" in line
    assert "q quit" in line
    assert all(f" {key}" in line for _, key, _ in SCREENS)


def test_worthy_keys_come_before_the_names_of_other_screens() -> None:
    worthy = [action for action in USABLE if action.rank <= 2]
    narrow, wide = _line(120), _line(300)
    assert all(f"{action.shown.split()[0]} {action.label}" in narrow for action in worthy)
    assert "0 1 CPUs 2 3 d" in narrow
    assert "0 overview 1 CPUs 2 topology 3 map d top-down" in wide
    assert all(f"{action.shown.split()[0]} {action.label}" in wide for action in USABLE)


def test_the_screen_that_is_shown_is_named_at_every_usual_width() -> None:
    for width in range(60, 300):
        assert " 1 CPUs" in _line(width), width


def test_a_screen_may_name_the_others_first() -> None:
    assert "0 overview 1 CPUs 2 topology 3 map d top-down" in _line(110, chooses=True)


def test_where_screens_are_chosen_names_go_one_by_one_before_keys_of_rank_1() -> None:
    """At every width where they can be: only the name of the screen that is shown stays before them."""
    worthy = [f"{action.shown.split()[0]} {action.label}" for action in USABLE if action.rank <= 1]
    others = [(key, word) for _, key, word in SCREENS if key != "1"]
    counts = []
    for width in range(150, 60, -1):
        line = _line(width, chooses=True)
        names = [f"{key} {word}" in line for key, word in others]
        assert names == sorted(names, reverse=True), (width, line)
        assert all(key in line for key in worthy) or not any(names), (width, line)
        counts.append(sum(names))
    assert counts == sorted(counts, reverse=True)
    assert set(counts) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(("number", "joined"), [("1", " 9 NZdu%&"), ("Z", " 9 N Z CPUs du%&")])
def test_letters_of_screens_close_up_before_a_key_of_rank_1_goes(number: str, joined: str) -> None:
    screens = tuple((key, key, "CPUs") for key in "0123456789NZdu%&")
    at_80, at_120 = ("".join(text for text, _role in footer(USABLE, screens, number, width, chooses=False)[0][0])
                     for width in (80, 120))
    assert joined in at_80
    assert "W why" in at_80
    assert at_120.endswith(" d u % &")


@pytest.mark.parametrize(("key", "works"), [("5", ""), ("6", "f functions"), ("d", "")])
async def test_a_page_that_says_why_there_is_no_table_names_only_keys_that_work(key: str, works: str) -> None:
    async with dashboard(FakeSession(), (200, 40)) as (app, pilot):
        assert "C columns" in text_of(app, "keys")
        await pilot.press(key)
        await pilot.pause()
        line = text_of(app, "keys")
        assert all(word in line for word in ("? help", "W why", ", past", "q quit", works))
        gone = ("columns", "find", "sort", "explain", "filter", "graph", "rows", "open")
        assert not [word for word in gone if f" {word} " in line]
