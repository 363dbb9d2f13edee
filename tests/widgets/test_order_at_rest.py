"""The order of rows at rest: what has changed by chance alone keeps its place, what has changed by more moves."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from turbotui.quantities.columns import Column
from turbotui.widgets.table_view import LastOrder, ordered_by


def order(last: LastOrder[str], values: Mapping[str, float | None], unit: str = "%", *, reverse: bool = True) -> str:
    column = Column[str]("X", unit, 1, (), lambda _row: None)
    held = last.held(column, list(values), list(values.values()), reverse=reverse)
    return "".join(ordered_by(list(values), held, reverse=reverse))


@pytest.mark.parametrize(("unit", "before", "after", "expected"), [
    ("%", {"a": 0.9, "b": 0.6, "c": 0.4}, {"a": 0.5, "b": 0.8, "c": 0.7}, "abc"),
    ("%", {"a": 0.9, "b": 0.6, "c": 0.4}, {"a": 0.5, "b": 0.8, "c": 5.0}, "cab"),
    ("%", {"a": 50.0, "b": 49.9}, {"a": 49.9, "b": 50.0}, "ba"),  # no chance of a load is that small
    ("/s", {"a": 19.7, "b": 16.8, "c": 1.0}, {"a": 15.0, "b": 17.9, "c": 4.0}, "abc"),
    ("/s", {"a": 19.7, "b": 16.8, "c": 1.0}, {"a": 15.0, "b": 17.9, "c": 40.0}, "cab"),
    ("MHz", {"a": 901.0, "b": 900.0}, {"a": 900.0, "b": 901.0}, "ba"),
])
def test_a_row_moves_when_its_value_has_changed_by_more_than_chance(
        unit: str, before: Mapping[str, float], after: Mapping[str, float], expected: str) -> None:
    last = LastOrder[str]()
    assert order(last, before, unit) == "".join(before)
    assert order(last, after, unit) == expected


def test_small_steps_add_up_until_the_row_moves() -> None:
    last = LastOrder[str]()
    assert order(last, {"a": 1.0, "b": 0.9}) == "ab"
    assert order(last, {"a": 1.0, "b": 1.3}) == "ab"
    assert order(last, {"a": 1.0, "b": 1.6}) == "ba"


def test_a_changed_order_is_that_of_the_moment_and_unknown_values_stay_last() -> None:
    last = LastOrder[str]()
    assert order(last, {"a": 0.9, "b": 0.6}) == "ab"
    assert order(last, {"a": 0.6, "b": 0.9}, reverse=False) == "ab"
    assert order(last, {"a": None, "b": 0.7}, reverse=False) == "ba"
    assert order(last, {"a": 0.5, "b": 0.7}, reverse=False) == "ab"
