"""The output formats of every verb. To add one, add its module and its row.

A module is imported only when its format is used: `turbotui stat` starts quickly, and most often prints text.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from turbotui.errors import UsageError

if TYPE_CHECKING:  # the command line needs the names only
    from turbotui.quantities.tables import AnyTable
    from turbotui.tables.envelope import Envelope

TEXT: Final = "text"
"""What a verb prints for people in a layout of its own: turbostat's, or tables below headings."""

FORMATS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "table": ("turbotui.tables.table", "TableText"),
        "csv": ("turbotui.tables.csv_lines", "CsvLines"),
        "json": ("turbotui.tables.json_lines", "JsonLines"),
        "openmetrics": ("turbotui.tables.openmetrics", "OpenMetricsText"),
    }
)
"""Name to the module and class that make it."""

NAMES: Final = (TEXT, *FORMATS)
"""What --format takes; the first is the default."""


def two_formats(one: str, other: str) -> str:
    """Why a command line that names two formats is refused."""
    return f"{one} and {other} are two formats of one output: give one of them"


class Format(Protocol):
    """One way to write tables. It may keep state from one interval to the next."""

    def lines(self, envelope: Envelope, table: AnyTable) -> Iterator[str]:
        """One table of one interval, as lines without their ends."""

    def end(self) -> Iterator[str]:
        """The lines after the last interval."""


def make_format(name: str, intervals: int | None = 1, *, marks: bool = False) -> Format:
    """A format for one run.

    Args:
        name: of `FORMATS`.
        intervals: of the run; None where nobody knows how many. An exposition of several has times in it.
        marks: whether estimates are named in comma-separated values, which have no other way to say it.

    Raises:
        UsageError: there is no such format.
    """
    if name not in FORMATS:
        raise UsageError(f'unknown format "{name}"; there are: {", ".join(NAMES)}')
    module, kind = FORMATS[name]
    loaded = importlib.import_module(module)
    if name == "openmetrics" and intervals != 1:
        several: Format = loaded.OpenMetricsSeries(endless=intervals is None)
        return several
    maker: Callable[..., Format] = getattr(loaded, kind)
    return maker(marks=marks) if name == "csv" else maker()


class Writer:
    """Writes the tables of a verb, interval after interval, in one format.

    Args:
        name: of the format; `TEXT` is the verb's own affair and no name here.
        put: takes lines.
        table: the only table to write, by its name; "" for all. Comma-separated values are of one table: the first
            where none is named.
        intervals: see `make_format`.
    """

    def __init__(self, name: str, put: Callable[[Iterator[str]], None], table: str = "",
                 intervals: int | None = 1, *, marks: bool = False) -> None:
        self._name = name
        self._put = put
        self._table = table
        self._format = make_format(name, intervals, marks=marks)

    def write(self, envelope: Envelope, tables: Sequence[AnyTable]) -> None:
        """The tables of one interval.

        Raises:
            UsageError: none of them has the name that was asked for.
        """
        chosen = [one for one in tables if self._table in ("", one.name)]
        if not chosen and tables:
            names = ", ".join(one.name for one in tables)
            raise UsageError(f"--table {self._table}: there is no such table here; there are {names}")
        if self._name == "csv":
            chosen = chosen[:1]
        for one in chosen:
            self._put(self._format.lines(envelope, one))

    def end(self) -> None:
        """The text after the last interval."""
        self._put(self._format.end())
