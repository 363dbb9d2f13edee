"""Lines whose text changed are freed at once, however Textual has cut them."""

from __future__ import annotations

import gc

import pytest
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from turbotui.widgets.role_styles import StyledStrip


def _strips() -> int:
    """Strips made since the collector last looked at what is young: the rest of the heap is long to go through."""
    return sum(isinstance(item, Strip) for item in gc.get_objects(generation=0))


@pytest.mark.parametrize("cuts", [[10], [4, 10], [3, 7, 10, 20]])
def test_a_strip_goes_with_its_last_reference(cuts: list[int]) -> None:
    gc.disable()
    gc.collect(0)
    try:
        assert _strips() == 0
        strip = StyledStrip([("01234", Style(bold=True)), ("56789", Style())], 10)
        parts = [part.text for part in strip.divide(cuts)]
        assert "".join(parts) == "0123456789"
        assert parts == [part.text for part in Strip([Segment("0123456789")], 10).divide(cuts)]
        assert [strip.adjust_cell_length(width).text for width in (8, 10, 12)] == ["01234567", "0123456789",
                                                                                   "0123456789  "]
        assert strip.crop(2, 5).text == "234"
        del strip
        del parts
        left = _strips()
    finally:
        gc.enable()
    # the plain one that was compared with is in a cycle if it was asked for the whole of itself
    assert left == (1 if cuts == [10] else 0)


@pytest.mark.parametrize("cuts", [[11], [4, 11]])
def test_a_strip_that_is_narrower_than_its_place_is_drawn_all_the_same(cuts: list[int]) -> None:
    """Where a scroll bar is to come, and is not laid out yet, a table's lines end before the last cut."""
    strip = StyledStrip([("01234", Style(bold=True)), ("56789", Style())], 10)
    assert "".join(part.text for part in strip.divide(cuts)) == "0123456789"


def test_what_is_written_is_what_textual_would_write() -> None:
    words = [("ab", Style(bold=True, color="red")), ("cd", Style()), ("ef", Style(bgcolor="#102030", dim=True))]
    console = Console(color_system="truecolor", force_terminal=True)
    fast, plain = StyledStrip(words, 6), Strip([Segment(*word) for word in words], 6)
    assert fast.render(console) == plain.render(console)
    assert (fast.text, fast.cell_length, list(fast)) == (plain.text, plain.cell_length, list(plain))
    assert fast.render(console) == plain.render(console)  # also once it has been asked for more
    assert fast == plain
    with pytest.raises(AttributeError):
        fast.nothing_of_the_kind  # noqa: B018 - that it is not there is the point
