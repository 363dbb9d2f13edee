"""A file of the package has at most 400 lines, or 700 where it is one class or one table."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
MOST: Final = 400
MOST_OF_ONE: Final = 700
LEAST_SHARE: Final = 0.9
"""Share of the lines of all classes, functions and tables that a class or table has to have for a file to be that."""


def _lines(node: ast.stmt) -> int:
    first = min((item.lineno for item in getattr(node, "decorator_list", ())), default=node.lineno)
    return (node.end_lineno or node.lineno) - first + 1


def _most(text: str) -> int:
    """The lines that a file with this text may have."""
    things: Sequence[ast.stmt] = [
        node for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign | ast.AnnAssign)]
    largest = max((_lines(node) for node in things if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)),
                  default=0)
    return MOST_OF_ONE if 0 < LEAST_SHARE * sum(map(_lines, things)) <= largest else MOST


def test_files_are_short_or_one_thing() -> None:
    texts = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in (ROOT / "turbotui").rglob("*.py")}
    long = {name: text for name, text in texts.items() if text.count("\n") > MOST}
    assert {name: text.count("\n") for name, text in long.items() if text.count("\n") > _most(text)} == {}


def test_one_class_or_one_table_may_be_longer_than_functions() -> None:
    lines = "    a = 1\n" * 99
    whole, function = f"class A:\n{lines}", f"def f():\n{lines}"
    assert _most(f"import os\n{whole}") == _most("TABLE = (\n" + "1,\n" * 99 + ")\n") == MOST_OF_ONE
    assert _most(f"{whole}\n{function}") == _most(whole + whole) == _most(function) == _most("") == MOST
