"""A method is documented once: in the class that it is of, or in the protocol or base class that it follows."""

from __future__ import annotations

import ast
import asyncio
import functools
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

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


class Documented(NamedTuple):
    """A class of the package."""

    home: str  # its file and its name
    attributes: tuple[str, ...]  # declared in its body
    methods: Mapping[str, str]  # public ones -> docstring; "" where there is none


@functools.cache
def classes() -> tuple[Documented, ...]:
    """Every class of the package; what is kept of a file is little, for all trees together would be 200 MB."""
    return tuple(_documented(f"{path.relative_to(PACKAGE)} {node.name}", node)
                 for path in sorted(PACKAGE.rglob("*.py")) for node in _classes_of(ast.parse(path.read_text("utf-8"))))


def _classes_of(node: ast.AST) -> Iterator[ast.ClassDef]:
    """Classes anywhere among the statements below a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield child
        if isinstance(child, ast.stmt):
            yield from _classes_of(child)


def _documented(home: str, node: ast.ClassDef) -> Documented:
    attributes = [line.target.id for line in node.body
                  if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)]
    methods: dict[str, str] = {}
    for line in node.body:
        if isinstance(line, ast.FunctionDef | ast.AsyncFunctionDef) and not line.name.startswith("_"):
            methods[line.name] = methods.get(line.name) or ast.get_docstring(line) or ""  # of a property the getter's
    return Documented(home, tuple(attributes), methods)


def test_a_method_without_a_docstring_follows_one_that_has_one() -> None:
    documented = set(LIBRARY)
    for each in classes():
        documented |= {*each.attributes, *(name for name, text in each.methods.items() if text)}
    assert sum(len(each.methods) for each in classes()) > 2000
    bare = [f"{each.home}.{name}" for each in classes() for name in each.methods
            if name not in documented and not each.home.rpartition(" ")[2].startswith("_")]
    assert bare == []


def test_no_docstring_only_points_elsewhere() -> None:
    assert [each.home for each in classes() for text in each.methods.values() if re.match(r"See\b", text)] == []
