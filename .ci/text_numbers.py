"""A plugin of mypy: what reads a machine's files parses numbers by turbotui/quantities/plain_numbers.py alone.

`int` and `float` accept texts that no kernel writes ("1_0", "nan", digits of other scripts, numbers of 400 digits), and
a number that nothing bounds ends the program where a float meets it. The plugin knows types: `int(3.5)` is allowed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mypy.nodes import StrExpr
from mypy.plugin import FunctionContext, Plugin
from mypy.types import AnyType, Instance, LiteralType, Type, UnionType, get_proper_type

_TEXTS = frozenset({"builtins.str", "builtins.bytes", "builtins.bytearray", "builtins.object"})
READ = ("machine", "sources", "sampling", "diagnosis", "features", "remote")
"""Packages that read a machine's files; words of event strings and of expressions have grammars of their own."""
MAY = {
    "machine/gathered/archive.py": "octal digits of tar(1), at most 12",
    "machine/cgroups.py": "three octal digits of an escape",
    "machine/tasks/group_names.py": "two hexadecimal digits of an escape",
    "machine/regions.py": "digits that a pattern bounds",
    "machine/perf_abi.py": "a number by ctypes",
    "machine/ip_sampling.py": "a number by struct",
    "machine/tasks/load_records.py": "numbers",
    "features/fleet/server.py": "Prometheus writes +Inf and NaN, which are dropped",
    "features/fleet/settings.py": "numbers of a document, which documents.py bounds",
    "features/overview/standouts.py": "numbers",
    "features/stat/options.py": "strtoul with base 0",
    "features/tasks/process_tree.py": "numbers",
}
"""Modules whose digits something else bounds, and what."""
_PACKAGE = Path(__file__).resolve().parents[1] / "turbotui"


def _is_text(kind: Type) -> bool:
    proper = get_proper_type(kind)
    if isinstance(proper, LiteralType):
        proper = proper.fallback
    if isinstance(proper, UnionType):
        return any(_is_text(item) for item in proper.items)
    return isinstance(proper, AnyType) or (isinstance(proper, Instance) and proper.type.fullname in _TEXTS)


def _hook(context: FunctionContext) -> Type:
    argument = context.args[0][:1] if context.args else []
    if not argument or isinstance(argument[0], StrExpr) or not _is_text(context.arg_types[0][0]):
        return context.default_return_type
    path = Path(context.api.path).resolve()
    name = str(path.relative_to(_PACKAGE)) if path.is_relative_to(_PACKAGE) else ""
    if name.partition("/")[0] in READ and name not in MAY:
        context.api.fail("number of a text: parse it by turbotui.quantities.plain_numbers", context.context)
    return context.default_return_type


class _TextNumbers(Plugin):
    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        return _hook if fullname in {"builtins.int", "builtins.float"} else None


def plugin(_version: str) -> type[Plugin]:
    """Return the plugin, as mypy asks for it."""
    return _TextNumbers
