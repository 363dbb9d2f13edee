"""Settings: how a user wants the dashboard, in a TOML file. Nothing here knows Textual.

File: $XDG_CONFIG_HOME/turbotui/settings.toml, ~/.config by default (XDG Base Directory Specification 0.8). The command
    line overrides a profile, and a profile overrides the settings. A mistake is reported with its line; the rest of the
    file is used.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard

from turbotui.app.settings_text import line_of, with_table, with_values
from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError, nearest_or_all
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.machine.host import HostKind
from turbotui.machine.own_files import config_folder, replace_file
from turbotui.quantities.documents import DocumentError, parse_toml
from turbotui.quantities.rows import RowError, WrongKindError, make_row, number, switch, text, texts
from turbotui.sampling.limits import INTERVAL_BOUNDS, LONGEST_INTERVAL, SHORTEST_INTERVAL
from turbotui.widgets.arrangement import USUAL, ColumnArrangement, widths

if TYPE_CHECKING:
    from turbotui.machine.machine import Machine
    from turbotui.quantities.alerts import AlertRequest
    from turbotui.quantities.presentation import Limits

_HEAD: Final = "# turbotui settings: written by the key Ctrl+S, and by hand (docs/settings.md)\n"
_TOUR_SWITCH: Final = "TURBOTUI_TOUR"
"""Environment variable: 0 if nobody is to be offered the tour."""
_KEYS: Final = "keys"
_PRESET: Final = "preset"
_TABLES: Final = "tables"
_MACHINES: Final = "machines"
_COLUMNS: Final = "columns"
_ALERT: Final = "alert"
_UNITS: Final = "units"
_THRESHOLDS: Final = "thresholds"
_WHY: Final = "why"
_FLEET: Final = "fleet"
MOST_ALERTS: Final = 64


@dataclass(frozen=True, slots=True)
class PersonalSettings:
    """A user's choices for every start; empty fields leave the defaults."""

    theme: str = ""
    interval: float | None = None  # seconds; None for the dashboard's default
    screen: str = ""  # id of the first screen
    profile: str = ""  # name of the saved view to begin with
    columns: tuple[str, ...] = ()  # names of the visible columns of CPUs, on kinds of machine without their own
    # the same by the kind of machine (`kind_of_machine`): empty for the usual ones
    machines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # order, widths and choice of columns by the table's name on kinds of machine that have their own
    machine_tables: Mapping[str, Mapping[str, ColumnArrangement]] = field(default_factory=dict)
    tour: bool = True  # whether the tour is offered at the start
    keep_runs: bool = True  # whether runs of the dashboard are recorded, for `turbotui replay` without a file
    event_tables: str = ""  # folder of the vendor's names of events; used by `events.event_tables.opening`
    # keys of actions, by the action's id, in Textual's names of keys
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    preset: str = ""  # name of a set of keys, under those of `keys`
    # order, widths and choice of columns, by the table's name
    tables: Mapping[str, ColumnArrangement] = field(default_factory=dict)
    alerts: tuple[tuple[int, AlertRequest], ...] = ()  # conditions, each with the index of its table in the file
    units: Mapping[str, str] = field(default_factory=dict)  # by the quantity: "temperature", "energy"
    # values from which columns of CPUs are marked, by name
    thresholds: Mapping[str, Limits] = field(default_factory=dict)
    # the same for other tables, by the table's name
    row_thresholds: Mapping[str, Mapping[str, Limits]] = field(default_factory=dict)
    # percent of the wanted work from which causes of slowness are shown, by the rule's id; infinite for never
    why: Mapping[str, float] = field(default_factory=dict)
    # the table of the fleet as written; `features.fleet.settings` reads it
    fleet: Mapping[str, object] = field(default_factory=dict)
    # sentences about mistakes, each with its line; the part with the mistake is not used
    problems: tuple[str, ...] = ()
    where: str = ""  # the path of the file
    written: str = field(default="", repr=False)  # its text

    def columns_on(self, kind: str) -> tuple[str, ...]:
        """Names of the visible columns of CPUs on a kind of machine; empty for the usual ones."""
        return self.machines.get(kind, self.columns)

    def tables_on(self, kind: str) -> Mapping[str, ColumnArrangement]:
        """Order, widths and choice of columns by the table's name on a kind of machine."""
        return self.machine_tables.get(kind, self.tables)

    def problem(self, name: str, why: str, within: Sequence[str] = (), which: int = 0) -> str:
        """A sentence about the mistake in a name, with its line in the file.

        It has the name of the file without its folders, so that a narrow screen shows line and reason.
        """
        return f"{os.path.basename(self.where)}, line {line_of(self.written, name, within, which)}: {why}"


NO_SETTINGS: Final = PersonalSettings()
"""The settings of a user who never wrote any."""


def _seconds(value: object) -> float:
    if not SHORTEST_INTERVAL <= number(value) <= LONGEST_INTERVAL:
        raise WrongKindError(f"a number of seconds, {INTERVAL_BOUNDS}")
    return number(value)


VALUES: Final[Mapping[str, tuple[Callable[[object], object], str]]] = {
    "theme": (text, "Colours: `calm`, `contrast`, `light` or `ansi`; `--theme` comes first."),
    "interval": (_seconds, "Seconds from reading to reading; `-i` comes first."),
    "screen": (text, "The screen that is shown first, by its word: `overview`, `CPUs`, `power`."),
    "profile": (text, "A saved view to begin with; `--profile` comes first."),
    "columns": (texts, "Names of the visible columns of CPUs, unless `[machines]` has some; `--show` changes them."),
    "tour": (switch, "`false`: the tour of five steps is not offered at the start; written when it ends."),
    "keep_runs": (switch, ("`false`: runs of the dashboard are not kept; `turbotui runs` lists those that are. One "
                           "that is killed lacks its last 5 s.")),
    "event_tables": (text, "A folder of the vendor's names of events, or `none`; `--event-tables` comes first."),
}
"""Values that the file may have before its tables: how to read each, and its line of docs/settings.md."""


_Reader: TypeAlias = Callable[[PersonalSettings, object, list[str]], dict[str, Any]]
"""Reads a table of the file from its values by name, adding mistakes to the problems."""

UNITS: Final[Mapping[str, tuple[str, ...]]] = {"temperature": ("C", "F"), "energy": ("W", "J")}
"""Values of the table of units, the default first."""


_VENDORS: Final = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}


def kind_of_machine(machine: Machine) -> str:
    """A word for machines that have much the same columns: "intel", "amd-guest", "simulated-aarch64"."""
    model, kind = machine.model, machine.host.kind
    words = ["" if kind is HostKind.REAL else kind.value.lower(),
             _VENDORS.get(model.vendor, model.architecture or "other"), "guest" if model.hypervisor else ""]
    return "-".join(filter(None, words))


def settings_path(environment: Mapping[str, str]) -> str:
    """The path of a user's settings file, whether it exists or not."""
    return os.path.join(config_folder(environment), "settings.toml")


def read_settings(environment: Mapping[str, str]) -> PersonalSettings:
    """Read a user's settings; never fails, because mistakes become problems to report."""
    path = settings_path(environment)
    try:
        written = read_given(path).text()
    except GivenFileError as error:
        problems = () if error.missing else (f"{os.path.basename(path)} cannot be read: {error.why}",)
        return PersonalSettings(problems=problems, where=path if problems else "")
    return parse_settings(written, path)


def may_offer_tour(settings: PersonalSettings, environment: Mapping[str, str]) -> bool:
    """Whether a user who starts the dashboard has a place for settings and has not ended the tour."""
    own, home = environment.get("XDG_CONFIG_HOME", ""), environment.get("HOME", "")
    # a folder that the user names is made when the settings are written; a missing home is that of no person
    has_place = _can_be_folder(own) if os.path.isabs(own) else os.path.isabs(home) and os.path.isdir(home)
    return settings.tour and environment.get(_TOUR_SWITCH) != "0" and has_place


def _can_be_folder(path: str) -> bool:
    """Whether a path is a folder, or its nearest existing parent is one."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.path.isdir(path)


def parse_settings(written: str, where: str) -> PersonalSettings:
    """Parse settings in TOML; `where` names the file in messages."""
    try:
        data = parse_toml(written)
    except DocumentError as error:
        return PersonalSettings(problems=(f"{os.path.basename(where)}, {error}; no setting is used",), where=where)
    tables: dict[str, Any] = {}
    problems: list[str] = []
    file = PersonalSettings(where=where, written=written)
    for name, value in data.items():
        if name not in VALUES and name not in _READERS:
            why = f"there is no setting {reprlib.repr(name)}{nearest_or_all(name, (*VALUES, *_READERS))}"
            problems.append(file.problem(name, why))
            continue
        try:
            tables |= _READERS[name](file, value, problems) if name in _READERS else {name: VALUES[name][0](value)}
        except WrongKindError as kind:
            problems.append(file.problem(name, f"{name} has to be {kind}"))
    return replace(file, problems=tuple(problems), **tables)


def _read_keys(file: PersonalSettings, table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    keys: dict[str, tuple[str, ...]] = {}
    for action, value in table.items():
        try:
            keys[action] = (text(value),) if isinstance(value, str) else texts(value)
        except WrongKindError as kind:
            problems.append(file.problem(action, f"the keys of {reprlib.repr(action)} have to be a text or {kind}"))
    return {"preset": "".join(keys.pop(_PRESET, ())), "keys": keys}


def _read_tables(file: PersonalSettings, table: object, problems: list[str],
                 within: tuple[str, ...] = ()) -> dict[str, Any]:
    if not isinstance(table, Mapping) or not all(isinstance(columns, Mapping) for columns in table.values()):
        raise WrongKindError(f"tables, as [{'.'.join((*within, _TABLES))}.cpus]")
    arrangements: dict[str, ColumnArrangement] = {}
    for name, columns in table.items():
        arrangement = USUAL
        for key, value in columns.items():
            try:
                row_arrangement = make_row(ColumnArrangement, {key: value}, order=texts, show=texts, hide=texts,
                                           widths=widths)
                arrangement = replace(arrangement, **{key: getattr(row_arrangement, key)})
            except RowError as error:
                problems.append(file.problem(key, str(error), (*within, _TABLES, name)))
        arrangements[name] = arrangement
    return {"tables": arrangements}


def _read_machines(file: PersonalSettings, table: object, problems: list[str]) -> dict[str, Any]:
    if not isinstance(table, Mapping) or not all(isinstance(values, Mapping) for values in table.values()):
        raise WrongKindError(f"tables, as [{_MACHINES}.amd-guest]")
    chosen: dict[str, tuple[str, ...]] = {}
    tables: dict[str, Mapping[str, ColumnArrangement]] = {}
    for kind, values in table.items():
        for name, value in values.items():
            try:
                if name == _COLUMNS:
                    chosen[kind] = texts(value)
                elif name == _TABLES:
                    tables[kind] = _read_tables(file, value, problems, (_MACHINES, kind))[_TABLES]
                else:
                    why = f"machines have {_COLUMNS} and {_TABLES}, and no {reprlib.repr(name)}"
                    problems.append(file.problem(name, why, (_MACHINES, kind)))
            except WrongKindError as wrong:
                problems.append(file.problem(name, f"{name} has to be {wrong}", (_MACHINES, kind)))
    return {"machines": chosen, "machine_tables": tables}


def _read_alerts(file: PersonalSettings, value: object, problems: list[str]) -> dict[str, Any]:
    if not isinstance(value, list) or not all(isinstance(entry, Mapping) for entry in value):
        raise WrongKindError("tables, each written [[alert]]")
    from turbotui.quantities.alerts import read_request  # noqa: PLC0415 - most people have no alerts

    alerts: list[tuple[int, AlertRequest]] = []
    for at, entry in enumerate(value[:MOST_ALERTS]):
        try:
            alerts.append((at, read_request(entry)))
        except RowError as error:
            problems.append(file.problem(error.key, str(error), (_ALERT,), at))
    if len(value) > MOST_ALERTS:
        problems.append(file.problem(_ALERT, f"only the first {MOST_ALERTS} alerts are used"))
    return {"alerts": tuple(alerts)}


def _read_units(file: PersonalSettings, table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    for quantity, unit in table.items():
        if (known := UNITS.get(quantity)) is None:
            why = f"there is no unit of {reprlib.repr(quantity)}{nearest_or_all(quantity, UNITS)}"
            problems.append(file.problem(quantity, why, (_UNITS,)))
        elif unit not in known:
            why = f"{quantity} is {reprlib.repr(unit)}, and has to be one of {', '.join(known)}"
            problems.append(file.problem(quantity, why, (_UNITS,)))
    return {"units": {quantity: unit for quantity, unit in table.items() if unit in UNITS.get(quantity, ())}}


def _read_thresholds(file: PersonalSettings, table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    from turbotui.quantities.presentation import read_limits  # noqa: PLC0415 - most people have none

    def limits_of(columns: Mapping[str, object], within: tuple[str, ...]) -> dict[str, Limits]:
        by_name: dict[str, Limits] = {}
        for name, limits in columns.items():
            try:
                by_name[name] = read_limits(limits)
            except WrongKindError as kind:
                problems.append(file.problem(name, f"{name} has to be {kind}", within))
            except RowError as error:
                problems.append(file.problem(name, f"{name}: {error}", within))
        return by_name

    others = {name: columns for name, columns in table.items() if _has_tables(columns)}
    return {"thresholds": limits_of({name: limits for name, limits in table.items() if name not in others},
                                    (_THRESHOLDS,)),
            "row_thresholds": {name: limits_of(columns, (_THRESHOLDS, name)) for name, columns in others.items()}}


def _has_tables(value: object) -> TypeGuard[Mapping[str, object]]:
    """Whether a value of the file is a table of tables, as [thresholds.tasks] is."""
    return isinstance(value, Mapping) and any(isinstance(entry, Mapping) for entry in value.values())


def _read_why(file: PersonalSettings, table: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    from turbotui.diagnosis.rule_table import RULES  # noqa: PLC0415 - most people have none

    known, numbers = [rule.id for rule in RULES], dict[str, float]()
    for name, percent in table.items():
        if name not in known:
            why = f"there is no cause {reprlib.repr(name)}{nearest_or_all(name, known)}"
            problems.append(file.problem(name, why, (_WHY,)))
            continue
        try:
            numbers[name] = math.inf if percent is False else number(percent)
        except WrongKindError:
            why = f"{name} has to be percent of lost work, or false for never"
            problems.append(file.problem(name, why, (_WHY,)))
    return {"why": numbers}


def _table(name: str, read: Callable[[PersonalSettings, Mapping[str, Any], list[str]], dict[str, Any]]) -> _Reader:
    """Make a reader of a table of this name, which refuses other values."""

    def checked(file: PersonalSettings, value: object, problems: list[str]) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise WrongKindError(f"a table, [{name}]")
        return read(file, value, problems)

    return checked


_READERS: Final[Mapping[str, _Reader]] = {
    _KEYS: _table(_KEYS, _read_keys),
    _TABLES: _read_tables,
    _MACHINES: _read_machines,
    _ALERT: _read_alerts,
    _UNITS: _table(_UNITS, _read_units),
    _THRESHOLDS: _table(_THRESHOLDS, _read_thresholds),
    _WHY: _table(_WHY, _read_why),
    _FLEET: _table(_FLEET, lambda _file, table, _problems: {"fleet": table}),
}
"""The readers of the file's tables."""


def remember(environment: Mapping[str, str], tables: Mapping[str, ColumnArrangement] | None = None,
             machines: Mapping[str, tuple[str, ...] | None] | None = None,
             machine_tables: Mapping[str, Mapping[str, ColumnArrangement]] | None = None,
             **values: str | float | bool | tuple[str, ...] | None) -> str:
    """Write values into a user's settings, leaving comments, tables and other values as they are; returns the file.

    Args:
        tables: the user's arrangement of columns by the table's name; stored keys that it lacks are removed.
        machines: names of the visible columns by the kind of machine; None to remove them.
        machine_tables: what `tables` holds, for a kind of machine alone.
        values: by the names of `VALUES`; None to remove one.

    Raises:
        TurbotuiError: the existing file is not TOML, or it cannot be read or written.
    """
    path = settings_path(environment)
    try:
        before = read_given(path).text()
    except GivenFileError as error:
        if not error.missing:
            raise TurbotuiError(f"the settings cannot be read: {error.why} ({path})") from error
        before = _HEAD
    of_kinds = {(): tables or {}} | {(_MACHINES, kind): own for kind, own in (machine_tables or {}).items()}
    changed: dict[tuple[str, ...], dict[str, Any]] = {
        (*within, _TABLES, name): {field.name: getattr(row_arrangement, field.name) or None
                                   for field in fields(row_arrangement)}
        for within, own in of_kinds.items() for name, row_arrangement in own.items()}
    changed |= {(_MACHINES, kind): {_COLUMNS: names} for kind, names in (machines or {}).items()}
    try:
        was = parse_toml(before)
        after = with_values(before, values)
        for within, columns in changed.items():
            after = with_table(after, within, columns)
        settings = parse_toml(after)
    except DocumentError as error:
        raise TurbotuiError(f"the settings are left alone: {error} ({path})") from error
    if _others(settings, values, changed) != _others(was, values, changed):
        raise TurbotuiError(f"the settings {path} are left alone: {', '.join(values)} cannot be changed there by a key")
    try:
        replace_file(path, after)
    except OSError as error:
        why = f"{error.strerror}; set XDG_CONFIG_HOME to a folder that can be written"
        raise TurbotuiError(f"the settings cannot be written as {path}: {why}") from error
    return path


def _others(data: Mapping[str, object], values: Collection[str],
            changed: Mapping[tuple[str, ...], Collection[str]], path: tuple[str, ...] = ()) -> dict[str, object]:
    """What is in the file beside these values and these of tables; empty tables count as absent."""
    rest = {name: _others(value, changed.get((*path, name), ()), changed, (*path, name))
            if isinstance(value, Mapping) else value for name, value in data.items() if name not in values}
    return {name: value for name, value in rest.items() if value != {}}
