"""A sentence that is too long is cut after a part or a word, never within a number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.widgets.cells import StyleRole, cut_words
from turbotui.widgets.painter import shortened

READ_OUT = "cpu 0 · core 0 · Load% 100.0 % · TSC_MHz 2,601 MHz"


@pytest.mark.parametrize(("width", "said"), [
    (50, READ_OUT),
    (49, "cpu 0 · core 0 · Load% 100.0 % …"),
    (30, "cpu 0 · core 0 …"),
    (12, "cpu 0 …"),
])
def test_parts_stay_whole(width: int, said: str) -> None:
    assert cut_words(READ_OUT, width) == said


def test_a_part_without_numbers_is_cut_behind_a_word() -> None:
    assert cut_words("Busy% · cpu 0 · 88.00 % · Share of the time in which it ran", 48) == (
        "Busy% · cpu 0 · 88.00 % · Share of the time in …")


def test_a_word_that_takes_the_room_is_cut_itself() -> None:
    assert cut_words("in /home/somebody/pictures", 12) == "in /home/so…"


@pytest.mark.parametrize(("text", "width", "said"), [
    ("0 00000 00000 0", 14, "0 00000 …"),
    ("in /home/12345/pictures", 12, "in /home/…"),
    ("1,234,567.89", 6, "…"),
    ("2,50,98,146,194", 12, "2,50,…"),
    ("29,77,125,173,221", 12, "29,…"),
    ("100,148,196,244", 12, "…"),
    ("0-55,112-167", 10, "0-55,112-…"),
])
def test_a_number_within_a_long_word_goes_whole(text: str, width: int, said: str) -> None:
    assert cut_words(text, width) == said


@given(st.lists(st.from_regex(r"[0-9,]{1,5}|[a-z]{1,5}", fullmatch=True), min_size=1, max_size=12), st.integers(14, 60))
def test_a_number_is_never_cut(words: list[str], width: int) -> None:
    kept = cut_words(" ".join(words), width).removesuffix(" …").split(" ")
    assert kept == words[: len(kept)]


@given(st.text(" ·1a", max_size=40), st.integers(1, 30))
def test_never_wider_than_the_room(text: str, width: int) -> None:
    assert len(cut_words(text, width)) <= width


@pytest.mark.parametrize(("width", "said"), [
    (40, " -  CoreTmp no driver: this kernel"),
    (34, " -  CoreTmp no driver: this kernel"),
    (30, " -  CoreTmp no driver: this …"),
    (12, " -  CoreTmp…"),
    (0, ""),
])
def test_a_line_of_a_list_ends_behind_a_word(width: int, said: str) -> None:
    line = shortened([(" -  CoreTmp ", StyleRole.PLAIN), ("no driver: this kernel", StyleRole.DIM)], width)
    assert "".join(text for text, _ in line) == said


@pytest.mark.parametrize("width", [9, 10, 12])
def test_blanks_at_the_end_of_a_line_need_no_room(width: int) -> None:
    line = shortened([(" c ", StyleRole.KEY), ("picker ", StyleRole.PLAIN), ("  ", StyleRole.PLAIN)], width)
    assert "".join(text for text, _ in line) == " c picker   "[:width]
