"""What is sent to machines without turbotui is written for their Python, which may be 3.9."""

from __future__ import annotations

import ast
import io
import zipfile
import zlib
from collections.abc import Iterator

import pytest

from turbotui.remote.collecting_part import COLLECTING, RECORDING, ProgramPart, packed_part

OLDEST = (3, 9)


def unions_of_types(tree: ast.Module) -> Iterator[ast.expr]:
    """Unions of types by | that are made when the program runs, and that Python 3.9 does not have."""
    for node in ast.walk(tree):
        kinds = node.args[1] if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass") \
            else node.value if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias" else None
        yield from (part for part in ast.walk(kinds) if isinstance(part, ast.BinOp)) if kinds is not None else ()
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.BitOr) \
                and any(isinstance(part, ast.Name) and not part.id.isupper() and part.id.strip("_")[0].isupper()
                        for part in ast.walk(node.value)):
            yield node.value


@pytest.mark.parametrize("part", [COLLECTING, RECORDING], ids=lambda part: str(part.title))
def test_python_3_9_can_read_it(part: ProgramPart) -> None:
    with zipfile.ZipFile(io.BytesIO(zlib.decompress(packed_part(part)[4:]))) as archive:
        modules = {name: archive.read(name) for name in archive.namelist() if name.endswith(".py")}
    unions = [f"{name}:{node.lineno}" for name, text in modules.items()
              for node in unions_of_types(ast.parse(text, name, feature_version=OLDEST))]
    assert unions == [], "isinstance takes a tuple there, and an alias its union in quotes"
