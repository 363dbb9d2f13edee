from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.quantities.rows import RowError, each, make_row, named, tables, valued, whole


class Level(Enum):
    CPU = "cpu"
    CORE = "core"


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    level: Level
    bits: tuple[int, ...] = ()
    rate: float | None = None
    on: bool = False
    inner: tuple[Row, ...] = field(default=(), compare=False)


def row(values: dict[str, object]) -> Row:
    return make_row(Row, values, level=valued(Level), inner=tables("[[inner]]", lambda item: row(dict(item))))


def test_a_row_is_the_dataclass_with_its_defaults() -> None:
    assert row({"name": "a", "level": "core"}) == Row("a", Level.CORE)
    result = row({"name": "a", "level": "cpu", "bits": [3, 1], "rate": 2, "inner": [{"name": "b", "level": "cpu"}]})
    assert (result.bits, result.rate, result.inner) == ((3, 1), 2.0, (Row("b", Level.CPU),))


@pytest.mark.parametrize(("values", "key", "said"), [
    ({"level": "cpu"}, "name", "name is missing"),
    ({"name": "a", "level": "cpu", "rates": 1}, "rates", "'rates' means nothing here; did you mean rate?"),
    ({"name": "a", "level": "cpu", "xyz": 1}, "xyz", "'xyz' means nothing here; known are name, level, bits"),
    ({"name": 1, "level": "cpu"}, "name", "name is 1, and has to be a text"),
    ({"name": "a", "level": "die"}, "level", "level is 'die', and has to be one of cpu, core"),
    ({"name": "a", "level": ["cpu"]}, "level", "level is ['cpu'], and has to be one of cpu, core"),
    ({"name": "a", "level": "cpu", "bits": [1, True]}, "bits", "bits is [1, True], and has to be a list of whole"),
    ({"name": "a", "level": "cpu", "rate": True}, "rate", "rate is True, and has to be a number"),
    ({"name": "a", "level": "cpu", "rate": float("inf")}, "rate", "rate is inf, and has to be a number"),
    ({"name": "a", "level": "cpu", "on": 1}, "on", "on is 1, and has to be true or false"),
    ({"name": "a", "level": "cpu", "inner": [3]}, "inner", "inner is [3], and has to be tables, written [[inner]]"),
    ({"name": "a", "level": "cpu", "inner": [{"name": "b"}]}, "level", "level is missing"),
])
def test_what_is_wrong_is_reported_with_key_value_and_what_was_expected(
    values: dict[str, object], key: str, said: str
) -> None:
    with pytest.raises(RowError, match=re.escape(said)) as caught:
        row(values)
    assert caught.value.key == key


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["name", "level", "bits", "rate", "on", "inner", "other"]), _VALUES))
def test_any_values_are_a_row_or_a_row_error(values: dict[str, object]) -> None:
    with contextlib.suppress(RowError):
        result = row(values)
        assert isinstance(result.name, str)
        assert isinstance(result.level, Level)


def test_members_are_read_by_name_too_and_lists_by_item() -> None:
    assert each(named(Level))(["CPU", "CORE"]) == (Level.CPU, Level.CORE)
    with pytest.raises(ValueError, match="a list, each item a whole number"):
        each(whole)([1, "a"])
