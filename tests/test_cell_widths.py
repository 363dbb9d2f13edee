"""Texts in cells of a terminal: every pad and cut has the width that it was asked for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from turbotui.cell_widths import begin_of, cell_count, centred, cut, fitted, flush_left, flush_right
from turbotui.machine.host import HostKind
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import RowTable
from turbotui.tables.envelope import Envelope
from turbotui.tables.table import TableText
from turbotui.untrusted import one_line

NAMES = st.text(st.sampled_from("ab 1é漢字가ｱ\u0301\u0e33─…👍ﷺ·"), max_size=12) | st.text(max_size=12).map(one_line)
WIDTHS = st.integers(0, 20)


@given(NAMES)
def test_a_text_takes_the_cells_that_the_screen_gives_it(text: str) -> None:
    assert cell_count(text) == cell_len(text)


@given(NAMES, WIDTHS)
def test_pads_and_cuts_have_their_width(text: str, width: int) -> None:
    size = cell_len(text)
    for padded in (flush_left(text, width), flush_right(text, width), centred(text, width)):
        assert cell_len(padded) == max(size, width)
        assert padded.strip() == text.strip()
    assert cell_len(fitted(text, width)) == width
    begin = begin_of(text, width)
    assert text.startswith(begin)
    assert cell_len(begin) <= width
    assert begin == text or cell_len(text[:len(begin) + 1]) > width
    short = cut(text, width)
    assert cell_len(short) <= width
    assert short == text if size <= width else short.endswith("…") or not width


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=12), WIDTHS)
def test_plain_text_is_padded_as_ever(text: str, width: int) -> None:
    assert flush_left(text, width) == text.ljust(width)
    assert flush_right(text, width, "─") == text.rjust(width, "─")
    assert centred(text, width) == text.center(width)


@given(st.lists(NAMES, min_size=1, max_size=5))
def test_columns_behind_any_name_stand_below_each_other(names: list[str]) -> None:
    columns = (Column[str]("name", "", -1, (), lambda item: item, identity=True),
               Column[str]("n", "", 0, (), lambda item: 7))
    table = RowTable("names", "name", columns, tuple(names))
    envelope = Envelope("made", HostKind.SIMULATED, 0, None)
    lines = [line for line in TableText().lines(envelope, table) if not line.startswith("#")]
    assert len({cell_len(line) for line in lines}) == 1
