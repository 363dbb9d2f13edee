"""Event sets: named columns of events, with alternatives for different processors, from TOML files.

    [SET]                       the name that --add set:SET takes
    title = "what it shows"
    [[SET.column]]              one column; a name alone means the program's own column of that name
    name = "MemRdGBs"           unit, decimals, help and document may follow
    formula = "..."             or several [[SET.column.alternative]] with `formula`, `models` and `document`: the first
                                that this machine can count is used

`models` are patterns of "VENDOR-FAMILY-MODEL" as in GenuineIntel-6-8F, or "0xIMPLEMENTER-0xPART" of an Arm core as in
0x41-0xd4f. An alternative without them suits every processor that knows its events.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.quantities import rows
from turbotui.quantities.documents import DocumentError, parse_toml
from turbotui.quantities.expressions import parse_expression
from turbotui.quantities.grammar import ExpressionError
from turbotui.quantities.rows import RowError, WrongKindError, make_row, tables

_FOLDER = "sets"
_USERS = "events.toml"
"""The user's own sets, below $XDG_CONFIG_HOME (XDG Base Directory Specification)."""
_NAME = re.compile(r"[A-Za-z][\w.-]*\Z", re.ASCII)


class SetError(UsageError):
    """A file of event sets that cannot be used as written."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to count a column."""

    formula: str  # over event strings, ids of signals and dt
    models: tuple[str, ...] = ()  # patterns of processors; empty for every processor
    document: str = ""

    def suits(self, model: CpuModel) -> bool:
        """Tell whether the alternative is meant for this processor."""
        known_id = model_id(model)
        return not self.models or any(re.fullmatch(pattern, known_id) for pattern in self.models)


@dataclass(frozen=True, slots=True)
class SetColumn:
    """One column of a set; without alternatives, the program's own column of that name."""

    name: str
    alternatives: tuple[Alternative, ...] = ()
    unit: str = ""
    decimals: int | None = None
    help: str = ""


@dataclass(frozen=True, slots=True)
class EventSet:
    """A named set of columns."""

    name: str
    title: str
    columns: tuple[SetColumn, ...]
    origin: str  # the file of the set, for people to read


def model_id(model: CpuModel) -> str:
    """Return a processor's identifier as `models` matches it; "" if the processor has none."""
    if model.implementer is not None and model.part is not None:
        return f"0x{model.implementer:02x}-0x{model.part:03x}"
    if model.family is None or model.model is None:
        return ""
    return f"{model.vendor}-{model.family}-{model.model:X}"


def parse_sets(text: str, origin: str) -> dict[str, EventSet]:
    """Parse the sets of one TOML file, by name.

    Args:
        origin: the file's name, for messages.

    Raises:
        SetError: the text is no TOML, or has not the form of sets; the message names the line.
    """
    try:
        tables = parse_toml(text)
    except DocumentError as error:
        where = str(error).replace("at end of document", f"at the end, line {max(1, len(text.splitlines()))}")
        raise SetError(f"{origin} cannot be used: {where}") from error
    event_sets = {}
    for name, table in tables.items():
        try:
            title, columns = _read_set(name, table)
        except RowError as error:
            lines = enumerate(text.splitlines(), 1)
            line = next((number for number, written in lines if error.key in written), 1)
            raise SetError(f"{origin}, line {line}: {error}") from error
        event_sets[name] = EventSet(name, title, columns, origin)
    return event_sets


def shipped_sets() -> dict[str, EventSet]:
    """Return the sets that come with the program."""
    event_sets: dict[str, EventSet] = {}
    folder = os.path.join(os.path.dirname(__file__), _FOLDER)  # importlib.resources takes 4 ms to import
    for name in sorted(os.listdir(folder)):
        if name.endswith(".toml"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                event_sets |= parse_sets(file.read(), name)
    return event_sets


def read_sets(path: str) -> dict[str, EventSet]:
    """Read the sets of a file of the user, on the machine that runs turbotui, whatever machine is watched.

    Raises:
        SetError: the file cannot be read or used.
    """
    try:
        text = read_given(path).text()
    except GivenFileError as error:
        raise SetError(f"{path} cannot be read: {error.why}") from error
    return parse_sets(text, path)


def known_sets(environment: Mapping[str, str], file: str = "") -> dict[str, EventSet]:
    """Return the shipped sets, the user's own, and those of a named file; a later set replaces an earlier one.

    Raises:
        SetError: a file cannot be used.
    """
    from turbotui.machine.own_files import config_folder  # noqa: PLC0415 - most runs have no sets of their own

    users = os.path.join(config_folder(environment), _USERS) if environment.keys() & {"HOME", "XDG_CONFIG_HOME"} else ""
    event_sets = shipped_sets()
    if os.path.exists(users):
        event_sets |= read_sets(users)
    return event_sets | (read_sets(file) if file else {})


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    unit: str = ""
    help: str = ""
    decimals: int | None = None
    document: str = ""
    formula: str = ""
    alternative: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True)
class _Set:
    column: tuple[SetColumn, ...]
    title: str = ""


def _read_set(name: str, table: object) -> tuple[str, tuple[SetColumn, ...]]:
    """Make the event set of one TOML table. Raises RowError if the table is no valid set."""
    if not isinstance(table, dict) or not _NAME.match(name):
        raise RowError(name, f"{name!r} is no set: write [NAME] and [[NAME.column]]")
    if not table.get("column"):
        raise RowError(f"[{name}", f"the set {name} has no [[{name}.column]]")
    event_set = make_row(_Set, table, column=tables(f"[[{name}.column]]", lambda row: _read_column(name, row)))
    names = [column.name for column in event_set.column]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RowError(f'"{twice}"', f"the set {name} has two columns {twice}")
    return event_set.title or name, event_set.column


def _read_column(owner: str, table: Mapping[str, object]) -> SetColumn:
    made_column = make_row(_Column, table, name=_named, decimals=_decimals, formula=_formula,
                           alternative=tables(f"[[{owner}.column.alternative]]", _read_alternative))
    if made_column.formula and made_column.alternative:
        raise RowError(f'"{made_column.name}"',
                       f"the column {made_column.name} has a formula and alternatives: write one of them")
    alone = (Alternative(made_column.formula, (), made_column.document),
             ) if made_column.formula else made_column.alternative
    return SetColumn(made_column.name, alone, made_column.unit, made_column.decimals, made_column.help)


def _read_alternative(table: Mapping[str, object]) -> Alternative:
    return make_row(Alternative, table, formula=_formula, models=_models)


def _named(value: object) -> str:
    if not rows.text(value):
        raise WrongKindError("the name of a column")
    return rows.text(value)


def _decimals(value: object) -> int:
    if rows.whole(value) not in range(10):
        raise WrongKindError("a whole number from 0 to 9")
    return rows.whole(value)


def _formula(value: object) -> str:
    if not (formula := rows.text(value)):
        raise WrongKindError("a formula")
    try:
        parse_expression(formula)
    except ExpressionError as error:
        raise RowError(formula, str(error)) from error
    return formula


def _models(value: object) -> tuple[str, ...]:
    for pattern in rows.texts(value):
        try:
            re.compile(pattern)
        except re.error as error:
            raise RowError(pattern, f"{pattern!r} is no pattern of processors: {error}") from error
    return rows.texts(value)
