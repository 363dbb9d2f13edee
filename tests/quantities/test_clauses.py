"""Texts of tables, parted into the sentences of an explanation."""

from __future__ import annotations

import pytest

from turbotui.quantities.sentences import as_sentence, clauses


@pytest.mark.parametrize(("text", "parts"), [
    ("Cycles; a second counts them. It stops.", ["Cycles", "a second counts them.", "It stops."]),
    ("What it is vs. what it was. An end.", ["What it is vs. what it was.", "An end."]),
    ("A share (e.g. 3 %; of all). An end.", ["A share (e.g. 3 %; of all).", "An end."]),
    ("Intel SDM vol. 3, ch. 15", ["Intel SDM vol. 3, ch. 15"]),
    ("", []),
])
def test_a_text_is_parted_at_its_sentences_and_not_at_shortened_words(text: str, parts: list[str]) -> None:
    assert clauses(text) == parts


def test_names_keys_and_numbers_keep_their_case() -> None:
    assert [as_sentence(text) for text in ("the clock", "perf counts it", "q leaves", "3 CPUs", "/proc is there", "")] \
        == ["The clock", "perf counts it", "q leaves", "3 CPUs", "/proc is there", ""]
