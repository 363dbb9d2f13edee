"""Which words of a line name a key."""

from __future__ import annotations

import pytest

from turbotui.widgets.key_phrases import key_at


@pytest.mark.parametrize(("line", "words", "key"), [
    (" not here: IPC, ~Watt · e: why, what to do", "why", "e"),
    (" not here: IPC, ~Watt · e: why, what to do", "IPC", ""),
    (" not here: IPC, ~Watt · e: why, what to do", "here", ""),
    (" Arrows choose a number: e explains it, g shows its past, Enter opens its CPU", "explains", "e"),
    (" Arrows choose a number: e explains it, g shows its past, Enter opens its CPU", "its past", "g"),
    (" Arrows choose a number: e explains it, g shows its past, Enter opens its CPU", "its CPU", "Enter"),
    (" Arrows choose a number: e explains it, g shows its past, Enter opens its CPU", "Arrows", ""),
    (" w: choose what to watch · t: threads · v: timeline", "threads", "t"),
    ("  filter Busy%>80: 1 row (Esc: all)  2 tagged (Esc: none)", "none", "Esc"),
    ("  filter Busy%>80: 1 row (Esc: all)  2 tagged (Esc: none)", "row", ""),
    (" PAST 5 s ago · 10:00:00 ──●── 10:00:05 now: Esc ", "now", "Esc"),
    (" python3 · a process of 3 threads", "process", ""),
    ("PAUSED (Esc: go on)", "go on", "Esc"),
])
def test_the_key_of_the_words_under_the_mouse(line: str, words: str, key: str) -> None:
    assert key_at(line, line.index(words)) == key
