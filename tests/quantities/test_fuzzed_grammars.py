"""Random texts are parsed, or refused with the grammar's own error; bench/fuzz_grammars.py tests a million."""

from __future__ import annotations

import time

import pytest

from bench.fuzz_grammars import grammars, run
from turbotui.errors import UsageError
from turbotui.events.event_tables.cpuid import matches
from turbotui.quantities.moments import parse_duration


def test_no_grammar_fails_by_another_error() -> None:
    faults, taken = run(4500, 7)
    assert not faults
    assert len(taken) >= len(grammars()) - 2  # the texts are not mere noise


@pytest.mark.parametrize("pattern", ["[[a]", "(a{" + "9" * 30 + "})", "("])
def test_an_expression_of_a_file_from_outside_only_fits_nothing(pattern: str) -> None:
    assert not matches(pattern, "GenuineIntel-6-8F-8")


@pytest.mark.parametrize("text", ["9" * 40 + "%", "1m" + "9" * 40 + "%", "9" * 400])
def test_digits_are_not_cut_into_parts_in_every_way(text: str) -> None:
    began = time.thread_time()
    with pytest.raises(UsageError, match="no length of time"):
        parse_duration(text)
    assert time.thread_time() - began < 0.5  # it was 2^40 steps
