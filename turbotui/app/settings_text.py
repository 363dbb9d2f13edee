"""Edit the text of a settings file: find where something stands, and change values while leaving the rest alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from turbotui.quantities.documents import TomlValue, toml_key, toml_of

Written: TypeAlias = "TomlValue | None"
"""A value as text; None to remove it."""

_HEADER: Final = re.compile(r"\s*\[\[?(?P<path>(?:\"(?:\\.|[^\"\\])*\"|'[^']*'|[^\]\"'#])+)\]\]?\s*(?:#.*)?\Z")
_PART: Final = re.compile(r"\"(?P<basic>(?:\\.|[^\"\\])*)\"|'(?P<literal>[^']*)'|(?P<bare>[A-Za-z0-9_-]+)")


def table_of(line: str) -> tuple[str, ...] | None:
    """The path of the table that starts on a line, such as `[tables.cpus]`; None for any other line."""
    if (header := _HEADER.match(line)) is None:
        return None
    return tuple(next(part for part in match.groups() if part is not None) for match in _PART.finditer(header["path"]))


def line_of(written: str, name: str, within: Sequence[str] = (), which: int = 0) -> int:
    """The number of the line that assigns a name or starts its table; 1 if it cannot be found.

    Args:
        within: path of the table that contains it; empty for the first occurrence anywhere.
        which: index among several tables with this path.
    """
    begins = re.compile(rf"""\s*\[*\s*["']?{re.escape(name)}["']?\s*[.=\]]""")
    inside, seen, header = not within, -1, 1
    for at, line in enumerate(written.splitlines(), 1):
        path = table_of(line)
        if within and path is not None:
            seen += path == tuple(within)
            inside = path == tuple(within) and seen == which
            header = at if inside else header
        elif inside and begins.match(line):
            return at
    return header


def with_values(written: str, values: Mapping[str, Written]) -> str:
    """The text with its values replaced by these, and new values before its first table."""
    lines = written.splitlines()
    tables = next((at for at, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    head, rest = list(_without(lines[:tables], frozenset(values))), lines[tables:]
    while head and not head[-1].strip():
        head.pop()
    return "\n".join([*head, *_lines(values), *([""] if rest else []), *rest, ""])


def with_table(written: str, path: Sequence[str], values: Mapping[str, Written]) -> str:
    """The text with these values in a table, which is added at the end if it does not exist."""
    lines = written.splitlines()
    begins = next((at for at, line in enumerate(lines) if table_of(line) == tuple(path)), None)
    if begins is None:
        new = _lines(values)
        header = f"[{'.'.join(map(toml_key, path))}]"
        return "\n".join([*lines, *(["", header, *new] if new else []), ""])
    ends = next((at for at, line in enumerate(lines) if at > begins and table_of(line) is not None), len(lines))
    kept = list(_without(lines[begins + 1 : ends], frozenset(values)))
    blanks = 0
    while kept and not kept[-1].strip():
        kept.pop()
        blanks += 1
    return "\n".join([*lines[: begins + 1], *kept, *_lines(values), *[""] * blanks, *lines[ends:], ""])


def _lines(values: Mapping[str, Written]) -> list[str]:
    return [f"{name} = {toml_of(value)}" for name, value in values.items() if value is not None]


def _without(lines: Sequence[str], names: frozenset[str]) -> Iterator[str]:
    """The lines that do not belong to these values, which may be lists over several lines."""
    open_brackets = 0
    for line in lines:
        if open_brackets == 0:
            name = line.partition("=")[0].strip().strip("\"'")
            if name not in names:
                yield line
                continue
        outside = re.sub(r'"(?:\\.|[^"\\])*"|\'[^\']*\'|#.*', "", line)
        open_brackets = max(0, open_brackets + outside.count("[") - outside.count("]"))
