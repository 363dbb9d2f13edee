"""Which words of a line name a key."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import turbotui
from turbotui.app.actions import ACTIONS
from turbotui.widgets.key_phrases import key_at

_SHOWN = ("app/*.py", "widgets/*.py", "features/*/screen*.py", "features/*/*window.py", "features/*/*panel.py")
"""Modules whose sentences stand on screens."""
_NO_VERBS = {"as", "averages", "columns", "counters", "counts", "does", "is", "names", "rates", "sleeps", "this",
             "types", "was"}
"""Words that end in s behind what could be a key, in sentences that name none or tell no key's deed."""


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


def test_every_sentence_of_a_screen_that_names_a_key_and_its_deed_can_be_clicked() -> None:
    keys = {"Esc", "Enter", *(key for action in ACTIONS for key in action.shown.split())}
    phrase = re.compile(r"(?:^|(?<=[\s(·,]))(\S+) ([a-z]+s)\b")
    seen = set()
    for path in (path for pattern in _SHOWN for path in Path(turbotui.__path__[0]).glob(pattern)):
        tree = ast.parse(path.read_text())
        docs = {id(node.body[0].value) for node in ast.walk(tree)
                if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
                and isinstance(node.body[0], ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                for named in phrase.finditer(node.value):
                    key, verb = named.groups()
                    if key in keys and verb not in _NO_VERBS:
                        assert key_at(node.value, named.start()) == key, (path.name, named[0])
                        seen.add(verb)
    assert {"lists", "shows", "explains", "changes"} <= seen
