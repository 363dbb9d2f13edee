"""How a user wants to read columns: in which unit, and from which values they are marked and coloured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any, Final, TypeVar

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Column, ColumnId, CounterColumn, Scale, ShownAs, Thresholds
from turbotui.quantities.rows import WrongKindError, make_row

TEMPERATURES: Final[Mapping[str, ShownAs | None]] = MappingProxyType({"C": None, "F": ShownAs("°F", 1.8, 32.0)})
"""Units of temperature by their letter in the settings."""


K = TypeVar("K", bound=Column[Any])
"""The kind of a column."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Values from which a column is marked, in the unit in which it is shown."""

    high: float | None = None  # amber from here on
    critical: float | None = None  # red from here on; less than `high`: values at or below both are marked
    full: float | None = None  # the value at which the scale of colours ends
    empty: float | None = None  # the value at which it begins; 0 by default


@dataclass(frozen=True, slots=True)
class Presentation:
    """A user's units and marks for columns of the catalog."""

    temperature: str = "C"  # a letter of `TEMPERATURES`
    limits: Mapping[ColumnId, Limits] = field(default_factory=dict)  # by the column's name

    @property
    def is_usual(self) -> bool:
        """Whether no column differs from its default."""
        return self.temperature == "C" and not self.limits

    def of(self, column: CounterColumn) -> CounterColumn:
        """Apply a user's units and marks to a column; the computation does not change."""
        shown = TEMPERATURES[self.temperature] if column.unit == "°C" else None
        limits = self.limits.get(column.id)
        if shown is None and limits is None:
            return column
        if shown != column.shown:
            column = replace(column, shown=shown, width=column.width + 1)
        return column if limits is None else limited(column, limits)


def limited(column: K, limits: Limits) -> K:
    """Apply a user's limits to a column of any table; the computation does not change."""

    def back(value: float) -> float:
        return value if column.shown is None else column.shown.back(value)

    was = column.thresholds
    high, critical = limits.high, limits.critical
    if high is not None or critical is not None:
        is_low = (high is not None and critical is not None and critical < high) or (
            was is not None and was.low and (high is None or critical is None))
        never = float("-inf") if is_low else float("inf")
        amber = back(high) if high is not None else never if was is None else was.amber
        red = back(critical) if critical is not None else never if was is None else was.red
        column = replace(column, thresholds=Thresholds(amber, red, low=is_low))
    if limits.full is not None:
        column = replace(column, scale=Scale((back(limits.full),), (back(limits.empty or 0.0),)))
    return column


def read_limits(values: object) -> Limits:
    """Read the limits of one column from a file.

    Raises:
        WrongKindError: the limits are not a table.
        RowError: a key is unknown, or its value is not a number.
    """
    if not isinstance(values, Mapping):
        raise WrongKindError("a table, as {high = 85, critical = 95}")
    return make_row(Limits, values)
