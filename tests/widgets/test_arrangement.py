"""A user's order and widths of columns, and that a narrow cell never shows another number."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.cell_widths import cut
from turbotui.quantities.columns import Column
from turbotui.widgets.arrangement import NARROWEST, USUAL, WIDEST, ColumnArrangement, joined
from turbotui.widgets.cells import Slot, cell_text
from turbotui.widgets.comparison import difference_text
from turbotui.widgets.headings import Heading, border_at, heading_at

_NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
_FACTORS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}


def column(decimals: int, width: int = 12, *, hexadecimal: bool = False) -> Column[None]:
    return Column("Load", "%", decimals, (), lambda _: None, width=width, hexadecimal=hexadecimal)


def order(arrangement: ColumnArrangement, names: list[str]) -> list[str]:
    return arrangement.ordered({name: name for name in names})


class TestOrder:
    @given(_NAMES, _NAMES)
    def test_every_column_stands_once_and_those_that_were_moved_in_their_order(self, wanted: list[str],
                                                                               there: list[str]) -> None:
        result = order(ColumnArrangement(tuple(wanted)), there)
        assert sorted(result) == sorted(there)
        assert [name for name in result if name in wanted] == [name for name in wanted if name in there]

    @given(_NAMES, _NAMES, st.data())
    def test_a_column_takes_the_place_of_another_one(self, wanted: list[str], there: list[str],
                                                     data: st.DataObject) -> None:
        shown = order(ColumnArrangement(tuple(wanted)), there)
        if not shown:
            return
        name, to = data.draw(st.sampled_from(shown)), data.draw(st.sampled_from(shown))
        result = order(ColumnArrangement(tuple(wanted)).moved(shown, name, to), there)
        assert result.index(name) == shown.index(to)
        assert [item for item in result if item != name] == [item for item in shown if item != name]

    def test_what_a_machine_lacks_keeps_its_place(self) -> None:
        moved = ColumnArrangement(("a", "Absent", "b", "c")).moved(["a", "b", "c"], "c", "a")
        assert moved.order == ("c", "a", "Absent", "b")

    def test_a_column_that_nobody_moved_stands_behind_its_neighbour(self) -> None:
        assert order(ColumnArrangement(("c", "a")), ["a", "b", "c", "d"]) == ["c", "d", "a", "b"]
        assert joined([], "ab") == ["a", "b"]

    def test_what_is_shown_and_hidden_follows_a_user_before_the_usual(self) -> None:
        chosen = USUAL.shown("a", shown=True).shown("b", shown=False)
        assert [chosen.is_shown(name, usually=usual) for name, usual in (("a", False), ("b", True), ("c", True))] == [
            True, False, True]
        assert chosen.shown("a", shown=False).show == ()

    def test_widths_stay_between_what_can_be_read_and_what_a_screen_has(self) -> None:
        assert USUAL.sized("a", -5).widths == {"a": NARROWEST}
        assert USUAL.sized("a", 10_000).widths == {"a": WIDEST}
        assert USUAL.sized("a", 9).sized("a", None) == USUAL


class TestNarrowCells:
    @given(st.floats(-1e12, 1e12), st.integers(0, 3), st.integers(NARROWEST, 11))
    def test_a_number_is_rounded_or_said_by_a_letter_or_hatched(self, value: float, decimals: int, width: int) -> None:
        text = cell_text(column(decimals), value, width)
        assert len(text) == width
        if set(text) == {"#"}:
            return
        shown = re.fullmatch(r" *(-?[0-9.]+)([kMGTP]?)", text)
        assert shown is not None
        factor = _FACTORS[shown[2]]
        assert abs(float(shown[1]) * factor - value) <= 0.5001 * factor
        assert float(shown[1]) != 0 or round(value, decimals) == 0

    @given(st.integers(0, 2**64), st.integers(NARROWEST, 11))
    def test_hexadecimal_digits_are_all_there_or_none(self, value: int, width: int) -> None:
        text = cell_text(column(0, 16, hexadecimal=True), value, width)
        assert text == "#" * width if len(f"{value:x}") > width else int(text, 16) == value

    @given(st.floats(-1e9, 1e9), st.integers(0, 2), st.integers(NARROWEST, 11))
    def test_a_difference_is_never_said_to_be_none(self, value: float, decimals: int, width: int) -> None:
        text = difference_text(column(decimals), value, width)
        assert len(text) == width
        assert "±0" not in text or round(value, decimals) == 0

    def test_a_text_that_is_cut_says_so(self) -> None:
        assert cell_text(column(-1), "performance", 6) == "perfo…"
        assert cell_text(column(-1), "power", 6) == "power "
        assert cut("abc", 0) == ""


class TestMouse:
    HEADINGS = (Heading(Slot(column(0), 3, "CPU"), 0), Heading(Slot(column(0), 5, "Busy%"), 6),
                Heading(Slot(column(0), 4, "IRQ"), 12))

    @pytest.mark.parametrize(("x", "title"), [(0, "CPU"), (3, "CPU"), (4, None), (7, "Busy%"), (12, "IRQ"), (17, None)])
    def test_a_title_is_under_its_characters(self, x: int, title: str | None) -> None:
        heading = heading_at(self.HEADINGS, x)
        assert (heading and heading.slot.title) == title

    @pytest.mark.parametrize(("x", "title"), [(3, None), (4, "CPU"), (5, "CPU"), (6, "CPU"), (7, None), (12, "Busy%"),
                                              (17, "IRQ"), (18, None)])
    def test_a_border_reaches_to_the_next_title(self, x: int, title: str | None) -> None:
        heading = border_at(self.HEADINGS, x)
        assert (heading and heading.slot.title) == title
