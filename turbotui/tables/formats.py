"""The output formats of every verb. To add one, add its module and its row.

A module is imported only when its format is used, because `turbotui stat` must start quickly and mostly prints text.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from turbotui.errors import UsageError, nearest_or_all

if TYPE_CHECKING:  # the command line needs only the names
    from turbotui.quantities.tables import AnyTable
    from turbotui.tables.envelope import Envelope

TEXT: Final = "text"
"""The format of a verb's own layout for people: turbostat's, or tables below headings."""

JSON: Final = "json"
"""The format that has the reason of everything unknown."""

FORMATS: Mapping[str, tuple[str, str]] = MappingProxyType({
    "table": ("turbotui.tables.table", "TableText"),
    "csv": ("turbotui.tables.csv_lines", "CsvLines"),
    JSON: ("turbotui.tables.json_lines", "JsonLines"),
    "openmetrics": ("turbotui.tables.openmetrics", "OpenMetricsText"),
})
"""From the name of a format to the module and class that write it."""

NAMES: Final = (TEXT, *FORMATS)
"""The values of --format, the default first."""

SEVERAL: Final = 2
"""The number of intervals of a format whose intervals are not counted beforehand, but come to an end."""


def two_formats(first: str, other: str) -> str:
    """Why a command line with two formats is refused."""
    return f"{first} and {other} are two formats of one output: give one of them"


class Format(ABC):
    """A way to write tables, which may keep state from one interval to the next."""

    @abstractmethod
    def lines(self, envelope: Envelope, table: AnyTable) -> Iterator[str]:
        """The lines of one table in one interval, without line ends."""

    def end(self) -> Iterator[str]:
        """The lines after the last interval: none, but for a format that has some."""
        return iter(())


def make_format(name: str, intervals: int | None = 1, *, marks: bool = False) -> Format:
    """Make a format for one run.

    Args:
        name: of `FORMATS`.
        intervals: number of intervals; `SEVERAL` if only their end is sure, None if not even that. An exposition of
            several intervals contains times.

    Raises:
        UsageError: there is no such format.
    """
    if name not in FORMATS:
        raise UsageError(f'unknown format "{name}"{nearest_or_all(name, NAMES)}')
    module, kind = FORMATS[name]
    loaded = importlib.import_module(module)
    if name == "openmetrics" and intervals != 1:
        several: Format = loaded.OpenMetricsSeries(endless=intervals is None)
        return several
    maker: Callable[..., Format] = getattr(loaded, kind)
    return maker(marks=marks) if name == "csv" else maker()


class Writer:
    """Writes the tables of a verb in one format, interval by interval.

    Args:
        name: of the format, other than `TEXT`, which the verb writes itself.
        table: name of the only table to write; "" for all. CSV has one table: the first if none is named.
    """

    def __init__(self, name: str, put: Callable[[Iterator[str]], None], table: str = "",
                 intervals: int | None = 1, *, marks: bool = False) -> None:
        self._name = name
        self._put = put
        self._table = table
        self._format = make_format(name, intervals, marks=marks)

    def write(self, envelope: Envelope, tables: Sequence[AnyTable]) -> None:
        """Write the tables of one interval. Raises UsageError if there is no table of the requested name."""
        chosen = [table for table in tables if self._table in ("", table.name)]
        if not chosen and tables:
            names = ", ".join(table.name for table in tables)
            raise UsageError(f"--table {self._table}: there is no such table here; there are {names}")
        if self._name == "csv":
            chosen = chosen[:1]
        for table in chosen:
            self._put(self._format.lines(envelope, table))

    def end(self) -> None:
        """The text after the last interval."""
        self._put(self._format.end())
