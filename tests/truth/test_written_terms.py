"""Written terms mean the same as the terms: parentheses where needed, and every significant digit."""

from __future__ import annotations

import math

import pytest
from explained import value_of
from hypothesis import given
from hypothesis import strategies as st

from turbotui.quantities.signals import SignalId
from turbotui.quantities.traced import (
    Number,
    ReadingKind,
    Term,
    Traced,
    TracedOperation,
    TracedReading,
    at_least,
    evaluated,
    number_text,
    readings_of,
    term_of,
    written,
)

numbers = st.one_of(st.integers(1, 10**12), st.floats(0.001, 1e9, allow_nan=False)).map(Number)
terms: st.SearchStrategy[Term] = st.recursive(
    numbers,
    lambda inner: st.builds(lambda sign, one,
                            two: TracedOperation(sign, (one, two)),
                            st.sampled_from("+-*/"), inner,
                            inner), max_leaves=7)


def _never(_reading: TracedReading) -> float:
    raise AssertionError("there is no reading in this term")


def worth(term: Term) -> float:
    """Return the value of a term; infinite if a divisor is nearly zero, where rounding decides."""
    if isinstance(term, TracedOperation):
        parts = [worth(part) for part in term.parts]
        if not all(map(math.isfinite, parts)) or (term.sign == "/" and abs(parts[1]) < 1e-3):
            return math.inf
        value = evaluated(term, _never)
        if term.sign in "+-" and abs(value) < 1e-3 * max(map(abs, parts)):
            return math.inf
    return evaluated(term, _never)


@given(terms)
def test_the_text_of_a_term_is_worth_what_the_term_is(term: Term) -> None:
    value = worth(term)
    if math.isfinite(value):
        assert value_of(written(term, lambda _: "")) == pytest.approx(value, rel=1e-6)


@given(st.floats(1e-12, 1e18))
def test_a_number_keeps_eleven_digits(value: float) -> None:
    assert value_of(number_text(value)) == pytest.approx(value, rel=1e-11)


@given(st.integers(0, 1 << 64))
def test_an_integer_keeps_every_digit(value: int) -> None:
    text = number_text(value)
    assert int(text.replace(",", "")) == value if "e" not in text else 10 ** int(text[2:]) == value


def reading(name: SignalId, value: float) -> Traced:
    return Traced(value, TracedReading(name, ReadingKind.DELTA, name))


@given(st.floats(-1e6, 1e6), st.floats(0.5, 1e6), st.floats(-100, 100))
def test_arithmetic_on_traced_numbers_is_arithmetic_and_is_remembered(one: float, two: float, plain: float) -> None:
    a, b = reading("a", one), reading("b", two)
    values = {"a": one, "b": two}
    for made, expected in (
        ((a + plain) / b, (one + plain) / two), (plain - a * b, plain - one * two), (plain / b - -a, plain / two + one),
        (sum([a, b, plain]), one + two + plain), (at_least(plain, a), max(plain, one)),
        (100.0 * a / b, 100.0 * one / two),
    ):
        assert float(made) == expected
        again = evaluated(term_of(made), lambda name: values[name.signal])
        assert again == pytest.approx(expected, rel=1e-12, abs=1e-9)
        assert {known.signal for known in readings_of(term_of(made))} >= {"a"}


def test_what_no_arithmetic_was_done_on_is_not_written() -> None:
    a = reading("a", 3.0)
    assert written(term_of(a / 1.0), lambda name: name.label) == "a"
    assert written(term_of(sum([a])), lambda name: name.label) == "a"
    assert written(term_of(100.0 * a / 1.0), lambda name: name.label) == "100 x a"
