"""Walking sideways: the columns of the first view stay until the cursor leaves them, and every column is reached."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from turbotui.quantities.columns import Column
from turbotui.widgets.cells import Slot, slot_for
from turbotui.widgets.geometry import arrange, offset_showing, sideways_order

EDGE, WIDTH = 10, 50


def slot(name: str, priority: int = 5, width: int = 6) -> Slot:
    return slot_for(Column[object](name, "", 0, (), lambda _row: None, width=width, priority=priority))


SLOTS = (slot("a", 0), slot("b", 9), slot("c", 1), slot("d", 2), slot("e", 9), slot("f", 3), slot("g", 4))


def names(slots: tuple[Slot, ...]) -> str:
    return "".join(item.column.id for item in slots)


def test_a_column_beyond_the_edge_follows_those_of_the_first_view() -> None:
    first = arrange(SLOTS, EDGE, WIDTH)
    assert names(first.slots) == "acdfg"
    assert first.more_right
    offset = offset_showing(SLOTS, EDGE, WIDTH, 0, 1)  # b, which has no room at first
    shown = arrange(SLOTS, EDGE, WIDTH, offset)
    assert names(shown.slots) == "cdfgb"
    assert shown.more_left
    assert shown.more_right
    assert offset_showing(SLOTS, EDGE, WIDTH, offset, 0) == 0, "back to the first view"


def test_the_column_by_which_rows_are_sorted_is_the_last_to_be_left_out() -> None:
    of_order = replace(SLOTS[1], is_sort=True)
    slots = (SLOTS[0], of_order, *SLOTS[2:])
    assert names(arrange(slots, EDGE, WIDTH).slots) == "abcdf"
    assert names(arrange(slots, EDGE, EDGE + 8).slots) == "b"


widths = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 30)), min_size=1, max_size=20)


@given(columns=widths, width=st.integers(12, 120))
def test_every_column_is_drawn_when_the_cursor_comes_to_it(columns: list[tuple[int, int]], width: int) -> None:
    slots = tuple(slot(f"c{at}", priority, size) for at, (priority, size) in enumerate(columns))
    order = sideways_order(slots, max(0, width - EDGE - 1))
    assert sorted(order) == list(range(len(slots)))
    offset = 0
    for wanted in (*order, *reversed(order)):
        offset = offset_showing(slots, EDGE, width, offset, wanted)
        assert wanted in arrange(slots, EDGE, width, offset).indices
    assert offset == 0
