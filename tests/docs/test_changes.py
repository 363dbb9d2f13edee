"""CHANGELOG.md says nothing twice: two branches that both rewrote an entry leave both when they are merged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

CHANGES: Final = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
WORDS: Final = 10
"""So many in the same order are a sentence that stands twice."""


def _said_twice(text: str) -> Iterator[str]:
    said: set[str] = set()
    for entry in re.split(r"\n(?=- |#|\*\*|\n)", text):
        words = entry.split()
        runs = [" ".join(words[at:at + WORDS]) for at in range(len(words) - WORDS + 1)]
        yield from (run for run in runs if run in said)
        said.update(runs)


def test_no_entry_repeats_another() -> None:
    assert list(_said_twice(CHANGES.read_text("utf-8"))) == []


def test_an_entry_that_a_merge_brought_back_is_found() -> None:
    entry = "- The overview named an idle state as the longest though another\n  may have lasted longer.\n"
    assert list(_said_twice(f"{entry}- Watts are GB.\n\n{entry}"))
    assert not list(_said_twice(entry))
