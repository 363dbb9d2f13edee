"""Settings: how a person wants the dashboard, in TOML that a person may write. Nothing here knows Textual.

File: $XDG_CONFIG_HOME/turbotui/settings.toml, ~/.config by default (XDG Base Directory Specification 0.8). What the
command line says comes first, a profile next, settings last. What is wrong in the file is told with its line; the rest
holds.
"""

from __future__ import annotations

import os
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Final

from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.machine.own_files import config_folder, replace_file
from turbotui.quantities.documents import DocumentError, parse_toml
from turbotui.quantities.rows import WrongKindError, number, text, texts
from turbotui.sampling.limits import SHORTEST_INTERVAL
from turbotui.untrusted import toml_text

_HEAD: Final = "# turbotui settings: written by the key Ctrl+S, and by hand (docs/settings.md)\n"
_KEYS: Final = "keys"
_PRESET: Final = "preset"


@dataclass(frozen=True, slots=True)
class PersonalSettings:
    """What a person chose once and wants at every start; what is empty is as without settings.

    Attributes:
        theme: its name.
        interval: seconds; None for the dashboard's own.
        screen: id of the first screen.
        columns: names of the columns of CPUs that are visible.
        keys: keys of actions, by the action's id, in Textual's names of keys.
        preset: name of a set of keys, under those of `keys`.
        problems: sentences about what is wrong in the file, each with its line; that part of the file is not used.
        where: the file.
        written: its text.
    """

    theme: str = ""
    interval: float | None = None
    screen: str = ""
    columns: tuple[str, ...] = ()
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    preset: str = ""
    problems: tuple[str, ...] = ()
    where: str = ""
    written: str = field(default="", repr=False)

    def problem(self, name: str, why: str) -> str:
        """A sentence about what is wrong with a name, with its line in the file."""
        begins = re.compile(rf"""\s*\[*\s*["']?{re.escape(name)}["']?\s*[.=\]]""")
        line = next((at for at, line in enumerate(self.written.splitlines(), 1) if begins.match(line)), 1)
        return f"{self.where}, line {line}: {why}"


NO_SETTINGS: Final = PersonalSettings()
"""Of a person who never wrote any."""


def _seconds(value: object) -> float:
    if number(value) < SHORTEST_INTERVAL:
        raise WrongKindError(f"a number of seconds, {SHORTEST_INTERVAL:g} or more")
    return number(value)


VALUES: Final[Mapping[str, tuple[Callable[[object], object], str]]] = {
    "theme": (text, "Colours: `calm`, `contrast` or `ansi`; `--theme` comes first."),
    "interval": (_seconds, "Seconds from reading to reading; `-i` comes first."),
    "screen": (text, "The screen that is shown first, by its word: `overview`, `CPUs`, `power`."),
    "columns": (texts, "Names of the columns of CPUs that are visible; `--show` and `--hide` change these."),
}
"""What may stand in the file before its tables: how each value is read, and the line of docs/settings.md."""


def settings_path(environment: Mapping[str, str]) -> str:
    """The file of a person's settings, whether it is there or not."""
    return os.path.join(config_folder(environment), "settings.toml")


def read_settings(environment: Mapping[str, str]) -> PersonalSettings:
    """A person's settings; never fails: what cannot be used is a problem that they tell of."""
    path = settings_path(environment)
    try:
        written = read_given(path).text()
    except GivenFileError as error:
        problems = () if error.missing else (f"the settings {path} cannot be read: {error.why}",)
        return PersonalSettings(problems=problems)
    return parse_settings(written, path)


def parse_settings(written: str, where: str) -> PersonalSettings:
    """PersonalSettings from their file's text.

    Args:
        written: TOML.
        where: the file, for messages.
    """
    try:
        data = parse_toml(written)
    except DocumentError as error:
        return PersonalSettings(problems=(f"the settings {where} are not used: {error}",))
    found: dict[str, Any] = {}
    problems: list[str] = []
    file = PersonalSettings(where=where, written=written)
    for name, value in data.items():
        if name not in VALUES and name != _KEYS:
            why = f"there is no setting {reprlib.repr(name)}; there are {', '.join(VALUES)} and [{_KEYS}]"
            problems.append(file.problem(name, why))
            continue
        try:
            found |= _read_keys(file, value, problems) if name == _KEYS else {name: VALUES[name][0](value)}
        except WrongKindError as kind:
            problems.append(file.problem(name, f"{name} has to be {kind}"))
    return replace(file, problems=tuple(problems), **found)


def _read_keys(file: PersonalSettings, table: object, problems: list[str]) -> dict[str, Any]:
    """`keys` and `preset` of the table of keys; what is wrong with one of them is added to the problems.

    Raises:
        WrongKindError: it is no table.
    """
    if not isinstance(table, Mapping):
        raise WrongKindError("a table, [keys]")
    keys: dict[str, tuple[str, ...]] = {}
    for action, value in table.items():
        try:
            keys[action] = (text(value),) if isinstance(value, str) else texts(value)
        except WrongKindError as kind:
            problems.append(file.problem(action, f"the keys of {reprlib.repr(action)} have to be a text or {kind}"))
    return {"preset": "".join(keys.pop(_PRESET, ())), "keys": keys}


def remember(environment: Mapping[str, str], **values: str | float | tuple[str, ...]) -> str:
    """Write values into a person's settings; comments, tables and other values stay as they are.

    Args:
        environment: of the process.
        values: by the names of `VALUES`.

    Returns:
        The file.

    Raises:
        TurbotuiError: the file there is not TOML, or it cannot be read or written.
    """
    path = settings_path(environment)
    try:
        before = read_given(path).text()
    except GivenFileError as error:
        if not error.missing:
            raise TurbotuiError(f"the settings {path} cannot be read: {error.why}") from error
        before = _HEAD
    try:
        was = parse_toml(before)
        after = _with_values(before, values)
        holds = {name: value for name, value in parse_toml(after).items() if name not in values}
    except DocumentError as error:
        raise TurbotuiError(f"the settings {path} are left alone: {error}") from error
    if holds != {name: value for name, value in was.items() if name not in values}:
        raise TurbotuiError(f"the settings {path} are left alone: {', '.join(values)} cannot be changed there by a key")
    try:
        replace_file(path, after)
    except OSError as error:
        why = f"{error.strerror}; set XDG_CONFIG_HOME to a folder that can be written"
        raise TurbotuiError(f"the settings cannot be written as {path}: {why}") from error
    return path


def _with_values(written: str, values: Mapping[str, str | float | tuple[str, ...]]) -> str:
    """The text of a file with these values in place of those it has, the new ones before its first table."""
    lines = written.splitlines()
    tables = next((at for at, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    head, rest = list(_without(lines[:tables], frozenset(values))), lines[tables:]
    while head and not head[-1].strip():
        head.pop()
    new = [f"{name} = {_toml(value)}" for name, value in values.items()]
    return "\n".join([*head, *new, *([""] if rest else []), *rest, ""])


def _without(lines: list[str], names: frozenset[str]) -> Iterator[str]:
    """The lines that are no part of these values, which may be lists over several lines."""
    open_brackets = 0
    for line in lines:
        if open_brackets == 0:
            name = line.partition("=")[0].strip().strip("\"'")
            if name not in names:
                yield line
                continue
        outside = re.sub(r'"(?:\\.|[^"\\])*"|\'[^\']*\'|#.*', "", line)
        open_brackets = max(0, open_brackets + outside.count("[") - outside.count("]"))


def _toml(value: str | float | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(toml_text(item) for item in value)}]"
    return toml_text(value) if isinstance(value, str) else repr(value)
