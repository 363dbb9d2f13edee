"""A plugin of mypy: texts from outside are parsed as numbers, and padded, in one module each.

What reads a machine's files parses numbers by turbotui/quantities/plain_numbers.py alone.

`int` and `float` accept texts that no kernel writes ("1_0", "nan", digits of other scripts, numbers of 400 digits), and
a number that nothing bounds ends the program where a float meets it. The plugin knows types: `int(3.5)` is allowed.

Texts are padded by turbotui/cell_widths.py: `ljust`, `rjust`, `center` and the widths of format strings count
characters, and a name of wide or combining characters shifts whatever follows. Literals and numbers may be padded
anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from mypy.nodes import StrExpr
from mypy.plugin import FunctionContext, MethodContext, Plugin
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
PADS = {
    "cell_widths.py": "counts cells",
    "widgets/cells.py": "numbers, and the dash for unknown ones",
    "widgets/spark.py": "blocks of one cell",
    "widgets/bars.py": "blocks of one cell",
    "app/help.py": "own words",
    "commands/parser.py": "own words",
    "app/plain_help.py": "own words",
    "features/stat/help_text.py": "own words",
    "features/roofline/curve_tables.py": "numbers",
    "features/roofline/screen_text.py": "own words and numbers",
    "features/uncore/map_picture.py": "numbers",
    "simulated/proc_files.py": "files of the kernel",
    "simulated/strain_files.py": "files of the kernel",
    "widgets/summary.py": "numbers",
}
"""Modules that pad texts by characters, and why they may."""
_WIDTH = re.compile(r"(?:.?[<>^])?0?[1-9{]")
_PACKAGE = Path(__file__).resolve().parents[1] / "turbotui"


def _is_text(kind: Type) -> bool:
    proper = get_proper_type(kind)
    if isinstance(proper, LiteralType):
        proper = proper.fallback
    if isinstance(proper, UnionType):
        return any(_is_text(item) for item in proper.items)
    return isinstance(proper, AnyType) or (isinstance(proper, Instance) and proper.type.fullname in _TEXTS)


def _module(context: FunctionContext | MethodContext) -> str:
    path = Path(context.api.path).resolve()
    return str(path.relative_to(_PACKAGE)) if path.is_relative_to(_PACKAGE) else ""


def _hook(context: FunctionContext) -> Type:
    argument = context.args[0][:1] if context.args else []
    if not argument or isinstance(argument[0], StrExpr) or not _is_text(context.arg_types[0][0]):
        return context.default_return_type
    name = _module(context)
    if name.partition("/")[0] in READ and name not in MAY:
        context.api.fail("number of a text: parse it by turbotui.quantities.plain_numbers", context.context)
    return context.default_return_type


def _pad_hook(context: MethodContext) -> Type:
    name = _module(context)
    if name and name not in PADS and not _is_literal(context.type):
        context.api.fail("text padded by characters: use turbotui.cell_widths", context.context)
    return context.default_return_type


def _format_hook(context: MethodContext) -> Type:
    """Refuse a width for text: mypy takes f"{text:<8}" for "{:{}}".format(text, "<8")."""
    name, given = _module(context), context.args[0] if context.args else []
    if name and name not in PADS and len(given) == 2:
        kind, width = context.arg_types[0][0], given[1]
        # written, or computed: of numbers, which may be texts in a union, decimals are
        is_width = (_WIDTH.match(width.value) if isinstance(width, StrExpr)
                    else isinstance(get_proper_type(kind), Instance))
        if is_width and _is_string(kind) and not _is_literal(kind):
            context.api.fail("text padded by characters: use turbotui.cell_widths", context.context)
    return context.default_return_type


def _is_string(kind: Type) -> bool:
    proper = get_proper_type(kind)
    if isinstance(proper, LiteralType):
        proper = proper.fallback
    if isinstance(proper, UnionType):
        return any(_is_string(item) for item in proper.items)
    return isinstance(proper, Instance) and proper.type.fullname == "builtins.str"


def _is_literal(kind: Type) -> bool:
    """Whether a text is written in the program, so that its width is known."""
    proper = get_proper_type(kind)
    if isinstance(proper, UnionType):
        return all(_is_literal(item) for item in proper.items)
    return isinstance(proper, LiteralType) or (isinstance(proper, Instance) and proper.last_known_value is not None)


class _TextNumbers(Plugin):
    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        if fullname == "builtins.str.format":
            return _format_hook
        return _pad_hook if fullname in {f"builtins.str.{pad}" for pad in ("ljust", "rjust", "center")} else None

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        return _hook if fullname in {"builtins.int", "builtins.float"} else None


def plugin(_version: str) -> type[Plugin]:
    """Return the plugin, as mypy asks for it."""
    return _TextNumbers
