"""Expressions of derived columns: values against Python's own arithmetic, errors with their place, units."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.quantities.expressions import UnitError, parse_expression, unit_text
from turbotui.quantities.grammar import ExpressionError

VALUES = {"a": 7.0, "b": 2.0, "mem.rd": 0.5}


@given(
    st.recursive(
        st.sampled_from(["a", "b", "3", "0.25", "1e2"]),
        lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner)
        | st.builds("-{}".format, inner)
        | st.builds("min({}, {})".format, inner, inner)
        | st.builds("max({}, {})".format, inner, inner),
        max_leaves=12,
    )
)
def test_values_are_those_of_arithmetic(text: str) -> None:
    try:
        expected = eval(text, {"__builtins__": {}, "min": min, "max": max}, dict(VALUES))  # noqa: S307 - the oracle
    except ZeroDivisionError:
        expected = None
    assert parse_expression(text).evaluate(VALUES) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a - b - 1", 4), ("a / b / 2", 1.75), ("a + b * 3", 13), ("--a", 7), ("mem.rd*4", 2), ("max(a)", 7),
     ("a / (b - 2)", None), ("a + unknown", None), ("1e308 * 10", None), ("min + 1", None),
     ("d_ratio(a, b)", 3.5), ("d_ratio(a, b - 2)", 0)],
)  # fmt: skip
def test_precedence_and_what_is_unknown(text: str, expected: float | None) -> None:
    assert parse_expression(text).evaluate(VALUES) == expected


def test_names_are_listed_once_and_quotes_hold_anything() -> None:
    expression = parse_expression("'cpu/event=0x3c/' / ('cache-misses' + 'cache-misses')")
    assert expression.names == ("cpu/event=0x3c/", "cache-misses")
    assert expression.evaluate({"cpu/event=0x3c/": 12.0, "cache-misses": 3.0}) == 2.0


@pytest.mark.parametrize(
    ("text", "position"),
    [("", 0), ("a +", 3), ("a b", 2), ("(a", 0), ("a)", 1), ("a $ b", 2), ("min(a,", 3), ("* a", 0), ("2 'x", 2),
     ("a + d_ratio(a)", 12), ("d_ratio(a, b, 1)", 8)],
)
def test_errors_name_the_position(text: str, position: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_expression(text)
    assert caught.value.position == position


@given(st.text(alphabet="ab01.e+-*/(), 'min$", max_size=40) | st.text(max_size=20))
def test_any_text_is_an_expression_or_one_error(text: str) -> None:
    position = 0
    try:
        parse_expression(text).evaluate(VALUES)
    except ExpressionError as error:
        position = error.position
    assert 0 <= position <= len(text)


def test_long_chains_and_deep_nests() -> None:
    assert parse_expression("+".join(["1"] * 500)).evaluate({}) == 500
    assert parse_expression("+".join(["1"] * 2_500)).evaluate({}) == 2_500
    with pytest.raises(ExpressionError, match="too long"):
        parse_expression("+".join(["1"] * 2_501))
    with pytest.raises(ExpressionError, match="nested"):
        parse_expression("(" * 5_000 + "1" + ")" * 5_000)


def test_units() -> None:
    units = {"bytes": {"B": 1}, "time": {"s": 1}, "n": {}}
    assert unit_text(parse_expression("2 * bytes / time").dimension(units)) == "B/s"
    assert unit_text(parse_expression("bytes / bytes").dimension(units)) == "1"
    assert unit_text(parse_expression("max(n, 1) / time / time").dimension(units)) == "1/s^2"
    with pytest.raises(UnitError, match="B and s"):
        parse_expression("bytes + time").dimension(units)
