"""Reasons, remedies and errors say what failed, on what, why, and what to do."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from every_row import of_every

from turbotui.quantities.sentences import as_sentence
from turbotui.quantities.unavailable import Reason

ROOT: Final = Path(__file__).parents[2] / "turbotui"
MODULES: Final = tuple(sorted(ROOT.rglob("*.py")))
VERBS: Final = frozenset((
    "add", "allow", "ask", "boot", "bring", "check", "end", "enable", "gather", "give", "leave", "let", "make", "name",
    "open", "raise", "run", "see", "use", "wait", "watch", "write",
))
"""With what a remedy begins that says what to do."""
COMMANDS: Final = frozenset({"dmesg", "echo", "modprobe", "mount", "pip", "sysctl", "turbotui", "ulimit"})
"""With what one begins that is a command line."""
BY_A_PERSON: Final = frozenset({"NOT_PERMITTED", "IN_USE", "NO_DESCRIPTORS"})
"""Reasons that a person can always do something about."""
HOLE: Final = "{}"
READ: Final = frozenset({"UsageError", "MachineError", "TurbotuiError", "StatError", "RecordingError", "AddError",
                         "SpyError", "ProfileError", "ServerError", "RequestError"})
"""Errors whose texts people read as they are."""


class JsonValue(NamedTuple):
    """The texts of an `Unavailable` as the code has them, `{}` for what is filled in."""

    line: int
    reason: str
    detail: str
    remedy: str


def text_of(node: ast.expr | None) -> str:
    """The constant parts of a text."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else HOLE for part in node.values)
    if isinstance(node, ast.BinOp):
        return text_of(node.left) + text_of(node.right)
    return "" if node is None else HOLE


def name_of(call: ast.expr) -> str:
    return call.id if isinstance(call, ast.Name) else call.attr if isinstance(call, ast.Attribute) else ""


@functools.cache
def nodes(path: Path) -> tuple[ast.Call | ast.Raise, ...]:
    """Calls and raised errors of a module; none are looked for where no such name is written."""
    text = path.read_text()
    if not any(word in text for word in ("Unavailable", *READ)):
        return ()
    return tuple(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call | ast.Raise))


def reasons(path: Path) -> Iterator[JsonValue]:
    """Every `Unavailable` that a module makes."""
    for node in nodes(path):
        if not isinstance(node, ast.Call) or name_of(node.func) != "Unavailable":
            continue
        given = dict(zip(("reason", "detail", "remedy"), node.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        yield JsonValue(node.lineno, name_of(given["reason"]), text_of(given["detail"]), text_of(given.get("remedy")))


def errors(path: Path) -> Iterator[tuple[int, str]]:
    """Every error with a text of its own that a module raises."""
    for node in nodes(path):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and name_of(node.exc.func) in READ:
            yield node.lineno, text_of(node.exc.args[0] if node.exc.args else None)


def first_word(text: str) -> str:
    return text.replace(HOLE, " ").strip().partition(" ")[0].rstrip(",:;") if not text.startswith(HOLE) else HOLE


def test_the_walk_finds_them() -> None:
    assert sum(len(list(reasons(path))) for path in MODULES) > 300
    assert sum(len(list(errors(path))) for path in MODULES) > 200


@of_every(MODULES)
def test_a_reason_names_what_it_is_about(path: Path) -> None:
    result = [reason for reason in reasons(path) if reason.detail != HOLE]
    assert [item for item in result if first_word(item.detail) in {"it", "they", "its"}] == []
    assert [item for item in result if HOLE not in item.detail and len(item.detail.split()) < 3] == []
    assert [item for item in result if item.detail.endswith((".", " ")) or "  " in item.detail] == []


@of_every(MODULES)
def test_a_remedy_says_what_to_do(path: Path) -> None:
    given = [reason for reason in reasons(path) if reason.remedy and first_word(reason.remedy) != HOLE]
    assert [item for item in given if first_word(item.remedy) not in VERBS | COMMANDS] == []
    assert [item for item in given if item.remedy.endswith((".", " "))] == []
    assert [reason for reason in reasons(path) if reason.reason in BY_A_PERSON and not reason.remedy] == []


@of_every(MODULES)
def test_an_error_says_what_failed(path: Path) -> None:
    result = [(line, text) for line, text in errors(path) if text.replace(HOLE, "").strip(" :,;()")]
    assert [(line, text) for line, text in result if first_word(text) in {"it", "they", "its", "error", "failed"}] == []
    assert [(line, text) for line, text in result if HOLE not in text and len(text.split()) < 3] == []


def test_every_kind_of_reason_is_words_that_a_sentence_can_begin_with() -> None:
    assert [reason for reason in Reason if as_sentence(reason.value) == reason.value] == []
    assert all(re.fullmatch(r"[a-z ]+", reason.value) for reason in Reason)


@pytest.mark.parametrize(("text", "alone"), [
    ("no column is called X", "No column is called X"), ("perf cpu/x/: not there", "perf cpu/x/: not there"),
    ("/proc/stat: gone", "/proc/stat: gone"), ("cpu17 is offline", "cpu17 is offline"), ("", ""),
    ("settings, line 3", "Settings, line 3"), ("%s", "%s"), ("3 rows", "3 rows"),
    ("t works on tasks", "t works on tasks"),
])
def test_a_text_alone_begins_with_a_capital_letter_unless_that_is_a_name(text: str, alone: str) -> None:
    assert as_sentence(text) == alone
