"""Profiles: saved views of a machine as TOML files. Nothing here knows Textual.

Folder: $XDG_CONFIG_HOME/turbotui/profiles, ~/.config by default (XDG Base Directory Specification 0.8); one file each.
"""

from __future__ import annotations

import os
import re
import reprlib
from collections.abc import Mapping
from dataclasses import field, fields
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError, UsageError
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.machine.own_files import config_folder, replace_file
from turbotui.quantities.documents import DocumentError, parse_toml, toml_of
from turbotui.quantities.rows import RowError, WrongKindError, make_row, number
from turbotui.widgets.arrangement import widths

FORMAT: Final = 1
_HEAD: Final = "# turbotui profile: saved with the key s, shown by `turbotui --profile NAME`"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Profile:
    """A view of a machine."""

    screen: str  # mode of the screen on which it was saved
    columns: tuple[str, ...]  # names of the visible columns
    added: tuple[str, ...]  # added counters, as --add takes them
    sort: str  # name of the column; "" for topology order
    reverse: bool  # whether the greatest comes first
    group: tuple[str, ...]  # words of the levels of the table, coarse to fine
    filter: str  # as typed
    interval: float  # seconds
    theme: str
    order: tuple[str, ...] = ()  # names of columns from left to right, if the user changed it
    widths: Mapping[str, int] = field(default_factory=dict)  # characters of columns by name, if the user changed them


class ProfileError(UsageError):
    """A profile that does not exist or cannot be parsed."""


def file_of(profile: Profile) -> str:
    """Write the file of a profile."""
    values = (f"{field.name} = {toml_of(getattr(profile, field.name))}" for field in fields(profile))
    return "\n".join([_HEAD, f"format = {FORMAT}", *values, ""])


def parse_profile(text: str, where: str) -> Profile:
    """Parse a profile in TOML; `where` names the file in messages.

    Raises:
        ProfileError: the text is not TOML, of another version, or has a value of the wrong kind.
    """
    try:
        data = parse_toml(text)
    except DocumentError as error:
        raise ProfileError(f"the profile {where} cannot be used: {error}") from error
    if data.get("format") != FORMAT:
        raise ProfileError(f"the profile {where} is of format {reprlib.repr(data.get('format'))}, and this turbotui "
                           f"reads {FORMAT}: save it again with the key s")
    values = {name: value for name, value in data.items() if name != "format"}
    try:
        return make_row(Profile, values, interval=_seconds, widths=widths)
    except RowError as error:
        raise ProfileError(f"the profile {where} is damaged: {error}; save it again with the key s") from error


def _seconds(value: object) -> float:
    if number(value) <= 0:
        raise WrongKindError("a number of seconds")
    return number(value)


class Profiles:
    """The saved profiles of one user, in the folder that XDG_CONFIG_HOME and HOME name."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.folder = os.path.join(config_folder(environment), "profiles")

    def names(self) -> tuple[str, ...]:
        """Names of the saved profiles, sorted."""
        try:
            names = os.listdir(self.folder)
        except OSError:  # without a folder, or with one that cannot be read, there are no profiles
            return ()
        stems = (name.removesuffix(".toml") for name in names if name.endswith(".toml"))
        return tuple(sorted(stem for stem in stems if _NAME.match(stem)))

    def path(self, name: str) -> str:
        """The file of a name. Raises ProfileError if the text cannot be a name."""
        if not _NAME.match(name):
            raise ProfileError(f'"{name}" is no name for a profile: letters, digits, "-", "_", "+" and "." make one')
        return os.path.join(self.folder, f"{name}.toml")

    def load(self, name: str) -> Profile:
        """Load a saved profile. Raises ProfileError if it does not exist, or cannot be read or parsed."""
        path = self.path(name)
        try:
            text = read_given(path).text()
        except GivenFileError as error:
            if not error.missing:
                raise ProfileError(f"the profile {path} cannot be read: {error.why}") from error
            known = self.names()
            there = f"there are: {', '.join(known)}" if known else "none is saved yet: the key s saves one"
            raise ProfileError(f'there is no profile "{name}" in {self.folder}; {there}') from error
        return parse_profile(text, path)

    def taken(self, name: str) -> str:
        """A sentence about the file that saving under a name would replace; "" if there is none.

        Raises:
            ProfileError: the text cannot be a name, or the file there was not written by turbotui.
        """
        path = self.path(name)
        try:
            head = read_given(path).data.partition(b"\n")[0]
        except GivenFileError as error:
            if error.missing:
                return ""
            raise ProfileError(f"{path} is there and cannot be read: {error.why}; choose another name") from error
        if head != _HEAD.encode():
            raise ProfileError(f"{path} was not written by turbotui and is left alone: choose another name")
        return f"Enter replaces the saved profile {name}"

    def save(self, name: str, profile: Profile) -> str:
        """Save a profile in one step, replacing turbotui's own profile of that name.

        Returns:
            The file.

        Raises:
            ProfileError: the text cannot be a name, or the file there was not written by turbotui.
            TurbotuiError: the folder cannot be written.
        """
        self.taken(name)
        path = self.path(name)
        try:
            replace_file(path, file_of(profile))
        except OSError as error:
            why = f"{error.strerror}; set XDG_CONFIG_HOME to a folder that can be written"
            raise TurbotuiError(f"the profile cannot be saved as {path}: {why}") from error
        return path
