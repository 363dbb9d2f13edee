"""Bars: marks in the colours of their levels, and a track up to the possible maximum."""

from __future__ import annotations

import pytest

from turbotui.widgets.cells import StyleRole
from turbotui.widgets.levels import LEVELS, flat_bar, level_bar


def text(parts: tuple[tuple[str, StyleRole], ...]) -> str:
    return "".join(part for part, _ in parts)


@pytest.mark.parametrize(("share", "shown"), [
    (0.0, "·········"), (0.001, "■········"), (0.5, "■■■■·····"), (1.0, "■■■■■■■■■"), (2.0, "■■■■■■■■■"),
    (None, "·········"), (-1.0, "·········"), (float("nan"), "·········"),
])
def test_a_bar_has_its_width_whatever_it_shows(share: float | None, shown: str) -> None:
    assert text(level_bar(share, 9)) == shown


def test_each_mark_has_the_colour_of_the_level_where_it_stands() -> None:
    assert level_bar(1.0, 9) == tuple(("■", role) for role in LEVELS)
    assert level_bar(0.5, 4) == (("■", LEVELS[1]), ("■", LEVELS[3]), ("··", StyleRole.RULE))


@pytest.mark.parametrize("width", [0, -1])
def test_without_room_there_is_no_bar(width: int) -> None:
    assert text(level_bar(0.5, width)) == ""


def test_a_share_of_the_greatest_has_one_colour() -> None:
    assert flat_bar(0.5, 8, StyleRole.AMBER) == (("■■■■", StyleRole.AMBER), ("····", StyleRole.RULE))
