"""Event sets: named columns of events, with alternatives for different processors, from TOML files.

    [SET]                       the name that --add set:SET takes
    title = "what it shows"
    [[SET.column]]              one column; a name alone means the program's own column of that name
    name = "MemRdGBs"           unit, decimals, help and document may follow
    formula = "..."             or several [[SET.column.alternative]] with `formula`, `models` and `document`: the first
                                that this machine can count is used

`models` are patterns for "VENDOR-FAMILY-MODEL" as in GenuineIntel-6-8F, or "0xIMPLEMENTER-0xPART" of an Arm core as in
0x41-0xd4f. An alternative without them suits every processor that knows its events.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from turbotui.errors import UsageError
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.quantities.documents import DocumentError, parse_toml
from turbotui.quantities.expressions import parse_expression
from turbotui.quantities.grammar import ExpressionError

_FOLDER = "sets"
_USERS = "events.toml"
"""The person's own sets, below $XDG_CONFIG_HOME (XDG Base Directory Specification)."""
_SET_KEYS = frozenset({"title", "column"})
_SHOWN_KEYS = ("unit", "help", "document")
_COLUMN_KEYS = frozenset({"name", "formula", "decimals", "alternative", *_SHOWN_KEYS})
_ALTERNATIVE_KEYS = frozenset({"formula", "models", "document"})
_NAME = re.compile(r"[A-Za-z][\w.-]*\Z", re.ASCII)


class SetError(UsageError):
    """A file of event sets that cannot be used as written."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to count a column.

    Attributes:
        formula: over event strings, ids of signals and dt.
        models: patterns of processors; empty for every one.
    """

    formula: str
    models: tuple[str, ...] = ()
    document: str = ""

    def suits(self, model: CpuModel) -> bool:
        """Whether it is meant for this processor."""
        found = model_id(model)
        return not self.models or any(re.fullmatch(pattern, found) for pattern in self.models)


@dataclass(frozen=True, slots=True)
class SetColumn:
    """One column of a set. Without alternatives it is the program's own column of that name."""

    name: str
    alternatives: tuple[Alternative, ...] = ()
    unit: str = ""
    decimals: int | None = None
    help: str = ""


@dataclass(frozen=True, slots=True)
class EventSet:
    """A named set of columns.

    Attributes:
        origin: the file that it is from, for people.
    """

    name: str
    title: str
    columns: tuple[SetColumn, ...]
    origin: str


def model_id(model: CpuModel) -> str:
    """A processor as `models` names it; "" where it does not say what it is."""
    if model.implementer is not None and model.part is not None:
        return f"0x{model.implementer:02x}-0x{model.part:03x}"
    if model.family is None or model.model is None:
        return ""
    return f"{model.vendor}-{model.family}-{model.model:X}"


def parse_sets(text: str, origin: str) -> dict[str, EventSet]:
    """The sets of one TOML file, by name.

    Args:
        text: of the file.
        origin: the file's name, for messages.

    Raises:
        SetError: it is no TOML, or not in the form that sets have; with the line.
    """
    try:
        tables = parse_toml(text)
    except DocumentError as error:
        last = max(1, len(text.splitlines()))
        where = str(error).replace("at end of document", f"at the end, line {last}")
        raise SetError(f"{origin} cannot be used: {where}") from error
    lines = text.splitlines()
    return {name: _Reader(lines, origin, name).whole(table) for name, table in tables.items()}


def shipped_sets() -> dict[str, EventSet]:
    """The sets that come with the program."""
    found: dict[str, EventSet] = {}
    folder = resources.files("turbotui.machine.events").joinpath(_FOLDER)
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        if file.name.endswith(".toml"):
            found |= parse_sets(file.read_text("utf-8"), file.name)
    return found


def read_sets(path: str) -> dict[str, EventSet]:
    """The sets of a file of the person who runs the program, which is read here, whatever machine is watched.

    Raises:
        SetError: it cannot be read or used.
    """
    try:
        text = read_given(path).text()
    except GivenFileError as error:
        raise SetError(f"{path} cannot be read: {error.why}") from error
    return parse_sets(text, path)


def known_sets(environment: Mapping[str, str], file: str = "") -> dict[str, EventSet]:
    """The shipped sets, those of the person's own file, and those of a file that was named; a later one wins.

    Raises:
        SetError: a file cannot be used.
    """
    from turbotui.machine.own_files import config_folder  # noqa: PLC0415 - most runs have no sets of their own

    users = os.path.join(config_folder(environment), _USERS) if environment.keys() & {"HOME", "XDG_CONFIG_HOME"} else ""
    found = shipped_sets()
    if os.path.exists(users):
        found |= read_sets(users)
    return found | (read_sets(file) if file else {})


class _Reader:
    """Turns one table into a set, or says on which line it cannot."""

    def __init__(self, lines: Sequence[str], origin: str, name: str) -> None:
        self._lines = lines
        self._origin = origin
        self._name = name

    def whole(self, table: object) -> EventSet:
        if not isinstance(table, dict) or not _NAME.match(self._name):
            raise self._wrong(self._name, f"{self._name!r} is no set: write [NAME] and [[NAME.column]]")
        self._only(table, _SET_KEYS, f"the set {self._name}")
        columns = table.get("column")
        if not isinstance(columns, list) or not columns:
            raise self._wrong(f"[{self._name}", f"the set {self._name} has no [[{self._name}.column]]")
        found = tuple(self._column(one) for one in columns)
        names = [column.name for column in found]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise self._wrong(f'"{twice}"', f"the set {self._name} has two columns {twice}")
        return EventSet(self._name, self._text(table, "title", self._name), found, self._origin)

    def _column(self, table: object) -> SetColumn:
        if not isinstance(table, dict):
            raise self._wrong(f"{self._name}.column", f"a column of the set {self._name} is no table")
        name = self._text(table, "name", f"a column of the set {self._name}")
        if not name:
            raise self._wrong(f"[[{self._name}.column", f"a column of the set {self._name} has no name")
        self._only(table, _COLUMN_KEYS, f"the column {name}")
        decimals = table.get("decimals")
        if decimals is not None and not (type(decimals) is int and 0 <= decimals <= 9):
            raise self._wrong(f'"{name}"', f"decimals of the column {name} are no number from 0 to 9")
        return SetColumn(
            name, tuple(self._alternatives(table, name)), self._text(table, "unit", name), decimals,
            self._text(table, "help", name),
        )  # fmt: skip

    def _alternatives(self, table: Mapping[str, object], name: str) -> Iterator[Alternative]:
        rows = table.get("alternative", [])
        if "formula" in table:
            if rows:
                raise self._wrong(f'"{name}"', f"the column {name} has a formula and alternatives: write one of them")
            rows = [{key: table[key] for key in ("formula", "document") if key in table}]
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            form = f"[[{self._name}.column.alternative]]"
            raise self._wrong(f'"{name}"', f"alternatives of the column {name} are written {form}")
        for row in rows:
            self._only(row, _ALTERNATIVE_KEYS, f"an alternative of the column {name}")
            formula = self._text(row, "formula", name)
            models = row.get("models", [])
            if not formula:
                raise self._wrong(f'"{name}"', f"an alternative of the column {name} has no formula")
            try:
                parse_expression(formula)
            except ExpressionError as error:
                raise self._wrong(formula, str(error)) from error
            if not isinstance(models, list) or not all(isinstance(one, str) for one in models):
                raise self._wrong(f'"{name}"', f"models of the column {name} are a list of patterns")
            for pattern in models:
                try:
                    re.compile(pattern)
                except re.error as error:
                    raise self._wrong(pattern, f"{pattern!r} is no pattern of processors: {error}") from error
            yield Alternative(formula, tuple(models), self._text(row, "document", name))

    def _text(self, table: Mapping[str, object], key: str, owner: str) -> str:
        found = table.get(key, "")
        if not isinstance(found, str):
            raise self._wrong(key, f"{key} of {owner} is no text in quotes")
        return found

    def _only(self, table: Mapping[str, object], known: frozenset[str], what: str) -> None:
        for key in table:
            if key not in known:
                raise self._wrong(key, f"{what} has no {key}; it may have {', '.join(sorted(known))}")

    def _wrong(self, mark: str, what: str) -> SetError:
        """The error, with the first line that holds the mark."""
        line = next((number for number, text in enumerate(self._lines, 1) if mark in text), 1)
        return SetError(f"{self._origin}, line {line}: {what}")
