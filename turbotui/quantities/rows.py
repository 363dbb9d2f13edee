"""Convert TOML tables to frozen dataclasses, refusing unknown, missing and ill-typed keys in one sentence.

The dataclass is the schema: names, defaults and, by its annotations, kinds of values. Used for the tables that ship
    with the program and for users' files.
"""

from __future__ import annotations

import functools
import math
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    _RowT = TypeVar("_RowT", bound=DataclassInstance)

_EnumT = TypeVar("_EnumT", bound=Enum)

Reader: TypeAlias = Callable[[object], object]
"""Converts a TOML value to a field's value, or raises `WrongKindError` with the expected kind: "a text"."""


class WrongKindError(ValueError):
    """The type that a value needs, in words that end a sentence: "a list of texts"."""


class RowError(ValueError):
    """Why a table does not fit its dataclass.

    Attributes:
        key: the wrong key.
    """

    def __init__(self, key: str, why: str) -> None:
        super().__init__(why)
        self.key = key


def text(value: object) -> str:
    """A string."""
    if not isinstance(value, str):
        raise WrongKindError("a text")
    return value


def whole(value: object) -> int:
    """An integer; booleans are refused."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongKindError("a whole number")
    return value


def number(value: object) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise WrongKindError("a number")
    return float(value)


def switch(value: object) -> bool:
    """A boolean."""
    if not isinstance(value, bool):
        raise WrongKindError("true or false")
    return value


def texts(value: object) -> tuple[str, ...]:
    """A list of strings."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise WrongKindError("a list of texts")
    return tuple(value)


def wholes(value: object) -> tuple[int, ...]:
    """A list of integers."""
    if not isinstance(value, list) or not all(type(item) is int for item in value):
        raise WrongKindError("a list of whole numbers")
    return tuple(value)


def named(kind: type[_EnumT]) -> Callable[[object], _EnumT]:
    """Make a reader of an enumeration's members by name."""

    def read(value: object) -> _EnumT:
        if not isinstance(value, str) or value not in kind.__members__:
            raise WrongKindError(f"one of {', '.join(kind.__members__)}")
        return kind[value]

    return read


def valued(kind: type[_EnumT]) -> Callable[[object], _EnumT]:
    """Make a reader of an enumeration's members by value."""
    members = {member.value: member for member in kind}

    def read(value: object) -> _EnumT:
        if not isinstance(value, str) or value not in members:
            raise WrongKindError(f"one of {', '.join(map(str, members))}")
        return members[value]

    return read


_RowItemT = TypeVar("_RowItemT")


def each(reader: Callable[[object], _RowItemT]) -> Callable[[object], tuple[_RowItemT, ...]]:
    """Make a reader of lists whose items all have one reader."""

    def read(value: object) -> tuple[_RowItemT, ...]:
        if not isinstance(value, list):
            raise WrongKindError("a list")
        try:
            return tuple(reader(item) for item in value)
        except WrongKindError as error:
            raise WrongKindError(f"a list, each item {error}") from error

    return read


def tables(form: str, read: Callable[[Mapping[str, object]], _RowItemT]) -> Callable[[object], tuple[_RowItemT, ...]]:
    """Read a list of tables."""

    def reader(value: object) -> tuple[_RowItemT, ...]:
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise WrongKindError(f"tables, written {form}")
        return tuple(read(item) for item in value)

    return reader


_KINDS: Final[Mapping[str, Reader]] = {"str": text, "int": whole, "float": number, "bool": switch,
                                       "tuple[str, ...]": texts, "tuple[int, ...]": wholes}
"""Readers by annotation; a field of any other kind needs its own reader."""


def make_row(kind: type[_RowT], values: Mapping[str, object], /, **readers: Reader) -> _RowT:
    """Make a dataclass from a TOML table.

    The dataclass must be of a module with `from __future__ import annotations`.

    Args:
        values: by key; a missing key takes the field's default.
        readers: by name, for fields that are not plain values.

    Raises:
        RowError: a key is unknown or missing, or its value is of the wrong kind.
    """
    known, needed = _schema(kind)
    made = {}
    for name, value in values.items():
        if name not in known:
            raise unknown_key(name, known)
        reader = readers.get(name) or _KINDS[known[name]]
        try:
            made[name] = reader(value)
        except WrongKindError as error:
            raise RowError(name, f"{name} is {reprlib.repr(value)}, and has to be {error}") from error
    for name in needed:
        if name not in made:
            raise RowError(name, f"{name} is missing")
    return kind(**made)


@functools.cache
def _schema(kind: type[DataclassInstance]) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Annotations of the fields by name, and the names of those without a default."""
    given = [field for field in fields(kind) if field.init]
    needed = (field.name for field in given if field.default is MISSING and field.default_factory is MISSING)
    return {field.name: str(field.type).removesuffix(" | None") for field in given}, tuple(needed)


def unknown_key(key: str, known: Mapping[str, object]) -> RowError:
    """The error for an unknown key, with the key that was probably meant."""
    import difflib  # noqa: PLC0415 - only where a person's file is wrong

    close = difflib.get_close_matches(key, known, 1)
    hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
    return RowError(key, f"{reprlib.repr(key)} means nothing here; {hint}")
