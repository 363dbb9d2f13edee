"""No files of the package import each other in a circle, neither at run time nor for a type."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


def _imported(text: str, modules: Mapping[str, str]) -> Iterator[str]:
    """The modules that a text imports anywhere: at the top, in a function, for a type."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (item.name for item in node.names if item.name in modules)
        elif isinstance(node, ast.ImportFrom) and (package := node.module) is not None and package in modules:
            parts = [f"{package}.{item.name}" for item in node.names]
            yield from (part if part in modules else package for part in parts)


def _circle(modules: Mapping[str, str]) -> list[str]:
    """Modules of which each is imported by the next one, from one to itself; [] if there is no such circle."""
    graph = {name: {other for other in _imported(text, modules) if other != name} for name, text in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]]
    return []


def _package() -> dict[str, str]:
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text("utf-8")
             for path in (ROOT / "turbotui").rglob("*.py")}
    return {name.removesuffix(".__init__"): text for name, text in files.items()}


def test_no_files_import_each_other() -> None:
    assert _circle(_package()) == []


def test_a_circle_is_found_wherever_its_imports_stand() -> None:
    of_a_type = "if TYPE_CHECKING:\n    from pack.b import B\n"
    assert sorted(set(_circle({"pack.a": of_a_type, "pack.b": "def f():\n    from pack import a\n", "pack": ""}))) == [
        "pack.a", "pack.b"]
    assert _circle({"pack.a": of_a_type, "pack.b": "import pack.c", "pack.c": "", "pack": ""}) == []
