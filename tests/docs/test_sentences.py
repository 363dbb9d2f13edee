"""Messages begin with a capital letter, and use no unexplained abbreviations."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from every_row import of_every

from turbotui.app.actions import ACTIONS
from turbotui.app.help import SIGNS, STATES
from turbotui.app.tour import STEPS
from turbotui.features.tasks.columns import TASK_COLUMNS
from turbotui.quantities.catalog import STATIC_COLUMNS
from turbotui.quantities.formula_text import formula_of
from turbotui.quantities.signal_words import SIGNAL_WORDS, legend
from turbotui.sampling.row_tables import known_kinds

ROOT = Path(__file__).parents[2] / "turbotui"
SAYING = frozenset({"notice", "_say", "say"})
"""Methods that put a sentence on a screen."""
MODULES = sorted(path for folder in ("app", "features") for path in (ROOT / folder).rglob("*.py")
                 if path.name != "verb.py")


@functools.cache
def parsed(path: Path) -> ast.Module:
    """A module's tree."""
    return ast.parse(path.read_text())


def beginnings(node: ast.expr) -> Iterator[str]:
    """The constant beginnings of the texts that an expression can give."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
        yield str(node.values[0].value)
    elif isinstance(node, ast.IfExp):
        yield from beginnings(node.body)
        yield from beginnings(node.orelse)
    elif isinstance(node, ast.BinOp):
        yield from beginnings(node.left)


def said(path: Path) -> Iterator[tuple[int, str]]:
    """Line and beginning of the sentences that a module says."""
    if not any(word in path.read_text() for word in SAYING):
        return
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SAYING:
            for argument in node.args[:1]:
                yield from ((node.lineno, text) for text in beginnings(argument))


def strings(path: Path) -> Iterator[str]:
    """The strings of a module that are no docstrings."""
    tree = parsed(path)
    text = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    yield from (node.value for node in ast.walk(tree)
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in text)


def test_sentences_are_found() -> None:
    assert sum(len(list(said(path))) for path in MODULES) > 50


@of_every(MODULES)
def test_what_a_screen_says_begins_with_a_capital_letter(path: Path) -> None:
    assert [(line, text) for line, text in said(path) if text[:1].islower()] == []


def test_texts_of_tables_begin_with_a_capital_letter_and_end() -> None:
    texts = [*(action.help for action in ACTIONS), *(text for _, text in (*SIGNS, *STATES)),
             *(step.text for step in STEPS),
             *(column.help for column in STATIC_COLUMNS)]
    assert [text for text in texts if text[:1].islower()] == []
    assert [text for text in texts if text[-1] != "."] == []


def test_a_column_is_explained_without_the_column_before_it_and_without_modules_of_python() -> None:
    """`e` shows one column's text, and its document is for readers who do not look at the code."""
    leaning = re.compile(r"(the same|it|they|its|that \w+'s|share that|\w+ of them|what it)\b", re.IGNORECASE)
    words = {f"{kind}: {column.id}": column.help for kind, definition in known_kinds().items()
             for column in definition.columns}
    words |= {column.id: column.help for column in STATIC_COLUMNS}
    words |= {column.id: column.help for column in TASK_COLUMNS}
    assert [name for name, text in words.items() if leaning.match(text)] == []
    assert [column.id for column in STATIC_COLUMNS if re.search(r"turbotui\.\w+\.", column.document)] == []


def test_words_of_the_house_are_nowhere() -> None:
    word = re.compile(r"\bmode [A-C]\b")
    suspects = [path for path in ROOT.rglob("*.py") if word.search(path.read_text())]
    assert [(path.name, text) for path in suspects for text in strings(path) if word.search(text)] == []


@of_every([path for path in MODULES if "app" in path.parts and "TCC" in path.read_text()])
def test_the_target_of_the_thermal_readouts_is_reported_with_what_it_is(path: Path) -> None:
    words = [text for text in strings(path) if re.search(r"\bTCC\b", text) and not text.startswith(("--", "TCC …"))]
    assert [text for text in words if not re.search("slow|target", text.lower())
            and not text.startswith(" (TCC)")] == []


def test_each_signal_of_a_formula_that_a_user_cannot_know_has_words() -> None:
    formulas = " ".join(formula_of(column) for column in STATIC_COLUMNS)
    assert "tsc_tweak" in formulas
    assert [signal for signal in SIGNAL_WORDS if signal not in formulas] == []
    assert [line.partition(":")[0] for line in legend("100 x Δmperf / (Δtsc x tsc_tweak)")] == [
        "Δ", "tsc", "mperf", "tsc_tweak"]
