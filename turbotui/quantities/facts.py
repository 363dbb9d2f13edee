"""Read the tables of facts that ship with the program, TOML files beside the code, one table at a time.

With tomllib, whose import takes 4 ms and every key 5 us, `stat -n1` takes 9 % more CPU time (November 2026), and a
machine that a collector is sent to may have a Python without it (3.9). These files keep to a subset that is read line
by line: `key = value` with values that end on their line, strings without escapes, and lists over several lines with
one item a line. A test compares every file with tomllib's reading.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar, cast

from turbotui.errors import InternalError
from turbotui.quantities.rows import Reader, RowError, make_row

if TYPE_CHECKING:
    from importlib.abc import FileLoader

    from _typeshed import DataclassInstance

    _RowT = TypeVar("_RowT", bound=DataclassInstance)

_MadeT = TypeVar("_MadeT")
_TOKENS: Final = r'"[^"]*"|[\[\]{},=]|[^\s\[\]{},="]+'
_WORDS: Final = {"true": True, "false": False}


class FactFile:
    """A file of tables, below the package: `[NAME]` for tables found by name, `[[NAME]]` for tables walked in order."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"FactFile({self.path!r})"

    def names(self) -> tuple[str, ...]:
        """The headers in the order of the file; the header of `[[NAME]]` once for each of its tables."""
        return tuple(name for name, _ in self._sections())

    def find(self, name: str) -> dict[str, object] | None:
        """The table `[NAME]`, parsing no other table; None if there is none."""
        header = name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else f'"{name}"'
        _, mark, rest = f"\n{self._text()}".partition(f"\n[{header}]\n")
        return self._parsed(name, rest.partition("\n[")[0].splitlines()) if mark else None

    def inherited(self, name: str) -> dict[str, object]:
        """The table `[NAME]` with the keys of the table that it is `like`, and so on, but for those of its own.

        Raises:
            InternalError: one of them is not there.
        """
        if (values := self.find(name)) is None:
            raise self.wrong(name, "it is named, and it is not there")
        like = values.pop("like", None)
        return values if like is None else self.inherited(str(like)) | values

    def tables(self) -> Iterator[tuple[str, dict[str, object]]]:
        """Every table with its name, in the order of the file."""
        yield from ((name, self._parsed(name, lines)) for name, lines in self._sections())

    def row(self, kind: type[_RowT], name: str, values: dict[str, object], /, **readers: Reader) -> _RowT:
        """Convert a table to a dataclass (`make_row`).

        Raises:
            InternalError: the table does not fit; the message names file, table and key.
        """
        try:
            return make_row(kind, values, **readers)
        except RowError as error:
            raise self.wrong(name, str(error)) from error

    def wrong(self, name: str, why: str) -> InternalError:
        """The error for a table of this file."""
        return InternalError(f"turbotui/{self.path}, [{name}]: {why}")

    def _text(self) -> str:
        package = os.path.dirname(os.path.dirname(__file__))  # which moves: machine/held_modules.py
        loader = cast("FileLoader", __spec__.loader)  # of a folder, or of an archive (remote/collecting_part.py)
        return loader.get_data(os.path.join(package, self.path)).decode()

    def _sections(self) -> Iterator[tuple[str, list[str]]]:
        name, lines = "", list[str]()
        for line in self._text().splitlines():
            if line.startswith("["):
                if name:
                    yield name, lines
                name, lines = line.strip('[]"'), []
            else:
                lines.append(line)
        if name:
            yield name, lines

    def _parsed(self, name: str, lines: Sequence[str]) -> dict[str, object]:
        table: dict[str, object] = {}
        listed: list[object] | None = None
        for line in lines:
            if not line or line[0] == "#":
                continue
            if listed is not None:
                if line == "]":
                    listed = None
                elif not line.lstrip().startswith("#"):
                    listed.append(self._value(name, line.strip().removesuffix(",")))
            else:
                key, equals, value = line.partition(" = ")
                if not equals or key in table:
                    raise self.wrong(name, f"{line!r} is no line of the form key = value with a new key")
                if value == "[":
                    table[key] = listed = []
                else:
                    table[key] = self._value(name, value)
        return table

    def _value(self, name: str, written: str) -> object:
        """Parse a value; most are one word or one string and need no tokens."""
        first = written[:1]
        if first == '"' and written.find('"', 1) == len(written) - 1 and "\\" not in written:
            return written[1:-1]
        if first in ("[", "{"):
            return self._collected(name, written)
        if written in _WORDS:
            return _WORDS[written]
        try:
            return int(written, 0)
        except ValueError:
            pass
        try:
            return float(written)
        except ValueError:
            raise self.wrong(name, f"{written!r} is no value") from None

    def _collected(self, name: str, written: str) -> object:
        """Parse a list or an inline table of any depth."""
        stack: list[list[object]] = [[]]
        for word in re.findall(_TOKENS, written):
            if word in ("[", "{"):
                stack.append([])
            elif word in ("]", "}"):
                done = stack.pop()
                stack[-1].append(done if word == "]" else dict(zip(done[::2], done[1::2], strict=True)))
            elif word not in (",", "="):
                key = word.isidentifier() and word not in _WORDS
                stack[-1].append(word if key else self._value(name, word))
        if len(stack) != 1 or len(stack[0]) != 1:
            raise self.wrong(name, f"{written!r} is no value")
        return stack[0][0]


class FactRows(Mapping[str, _MadeT]):
    """The rows of a file by name, each made when it is first asked for."""

    def __init__(self, file: FactFile, make: Callable[[str], _MadeT]) -> None:
        self._file, self._make = file, make
        self._made: dict[str, _MadeT] = {}

    def __getitem__(self, name: str) -> _MadeT:
        if name not in self._made:
            if name not in self._file.names():
                raise KeyError(name)
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._file.names())

    def __len__(self) -> int:
        return len(self._file.names())
