"""Traced formulas: the written line, evaluated as Python, gives the value of the term."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.quantities.traced import Number, Term, TracedOperation, TracedReading, evaluated, number_text, written


def _label(reading: TracedReading) -> str:
    raise AssertionError(reading)


def _value(reading: TracedReading) -> float:
    raise AssertionError(reading)


numbers = st.integers(1, 99).map(Number)
terms: st.SearchStrategy[Term] = st.recursive(
    numbers,
    lambda parts: st.builds(lambda sign, a, b: TracedOperation(sign, (a, b)), st.sampled_from("+-*/"), parts, parts),
    max_leaves=6,
)


@given(terms)
def test_a_line_read_as_arithmetic_comes_to_its_term(term: Term) -> None:
    line = written(term, _label).replace("x", "*")
    try:
        expected = evaluated(term, _value)
    except ZeroDivisionError:
        return
    assert eval(line, {}, {}) == pytest.approx(expected, rel=1e-9, abs=1e-9)  # noqa: S307 - numbers and four signs


@pytest.mark.parametrize(("sign", "inner", "line"), [
    ("-", "-", "8 - (4 - 2)"), ("-", "+", "8 - (4 + 2)"), ("/", "*", "8 / (4 x 2)"), ("/", "/", "8 / (4 / 2)"),
    ("+", "-", "8 + 4 - 2"), ("*", "/", "8 x 4 / 2"), ("*", "+", "8 x (4 + 2)"), ("+", "*", "8 + 4 x 2"),
])  # fmt: skip
def test_what_stands_on_the_right_keeps_parentheses_where_it_needs_them(sign: str, inner: str, line: str) -> None:
    term = TracedOperation(sign, (Number(8), TracedOperation(inner, (Number(4), Number(2)))))
    assert written(term, _label) == line


@given(st.floats(1e-9, 1e15) | st.integers(0, 2**70))
def test_a_number_has_the_digits_that_a_calculation_needs(value: float) -> None:
    shown = Fraction(number_text(value).replace(",", ""))
    assert shown == pytest.approx(Fraction(value), rel=1e-10)


def test_powers_of_ten_are_units_from_a_thousand_on() -> None:
    assert [number_text(value) for value in (100, 1000, 1e6, 3_497_120_004)] == ["100", "1e3", "1e6", "3,497,120,004"]
