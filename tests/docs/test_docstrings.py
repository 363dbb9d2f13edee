"""A method is documented once: in the class that it is of, or in the protocol or base class that it follows."""

from __future__ import annotations

import ast
import asyncio
import io
import re
from collections.abc import Iterator
from pathlib import Path

from textual.app import App
from textual.driver import Driver
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

PACKAGE = Path(__file__).parents[2] / "turbotui"
_LIBRARIES = (App, Screen, ScrollView, Strip, Visual, Driver, io.RawIOBase, asyncio.Protocol)
LIBRARY = frozenset(name for each in _LIBRARIES for name in dir(each))
"""Methods that are documented by Textual or by Python."""


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    """Every class of the package, with its file."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield f"{path.relative_to(PACKAGE)} {node.name}", node


def methods() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Public methods, each with its file and class."""
    for home, each in classes():
        for node in each.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                yield home, node


def test_a_method_without_a_docstring_follows_one_that_has_one() -> None:
    every = list(methods())
    attributes = {str(node.target.id) for _, each in classes() for node in each.body
                  if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    documented = LIBRARY | attributes | {node.name for _, node in every if ast.get_docstring(node)}
    assert len(every) > 2000
    bare = [f"{home}.{node.name}" for home, node in every
            if node.name not in documented and not home.rpartition(" ")[2].startswith("_")]
    assert bare == []


def test_no_docstring_only_points_elsewhere() -> None:
    assert [home for home, node in methods() if re.match(r"See\b", ast.get_docstring(node) or "")] == []
