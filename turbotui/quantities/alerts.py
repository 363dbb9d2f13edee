"""Alerts as users write them: a condition on columns and the time for which the condition has to hold.

    PkgTmp>95 for 10s    Busy%>99 and Bzy_MHz<2000 for 1m    Load1>64

The condition is a filter (`quantities.filters`). It is checked in the rows of the finest column that it names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.quantities.columns import Column, CounterColumn
from turbotui.quantities.filters import Comparison, Condition, Filter, FilterError, JoinedConditions, parse_filter
from turbotui.quantities.moments import parse_duration
from turbotui.quantities.rows import WrongKindError, make_row
from turbotui.quantities.scope import Scope

_FOR: Final = re.compile(r"(?P<condition>.*\S)\s+for\s+(?P<duration>[^\s'\"]+)\s*\Z", re.DOTALL)
_LEAST: Final = ("<", "<=")
LEVELS: Final = ("high", "critical")


@dataclass(frozen=True, slots=True)
class AlertRequest:
    """An alert as the settings file has it."""

    when: str  # condition and duration
    level: str = LEVELS[1]  # how it is coloured: one of `LEVELS`
    bell: bool = True  # whether the terminal's bell rings when it begins
    log: bool = True  # whether its beginning and end are written to the log
    rows: str = ""  # the level whose rows are checked; "" for the level of the finest column
    table: str = ""  # the table that the condition is about, "tasks" or "groups"; "" for CPUs


@dataclass(frozen=True, slots=True)
class AlertRule:
    """An alert that is ready to be checked."""

    request: AlertRequest  # as it was written
    filter: Filter[Column[Any]]  # the condition
    seconds: float  # how long the condition has to hold
    scope: Scope | None  # the level whose rows are checked; None for the rows of a table other than that of CPUs
    # the column whose greatest value is kept, or the least value if the condition asks for small values
    column: Column[Any]
    least: bool  # whether the least value is kept


def read_request(values: Mapping[str, object]) -> AlertRequest:
    """Read an alert from its table in a settings file.

    Raises:
        RowError: a key is unknown, missing or of the wrong kind.
    """
    return make_row(AlertRequest, values, level=_one_of(*LEVELS), rows=_one_of(*(scope.value for scope in Scope)))


def _one_of(*words: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise WrongKindError(f"one of {', '.join(words)}")
        return value

    return read


def parse_alert(request: AlertRequest, find: Callable[[str], Column[Any] | None]) -> AlertRule:
    """Resolve the condition of a request to columns.

    Raises:
        UsageError: the condition cannot be parsed, or contains no comparison.
    """
    timed = _FOR.match(request.when)
    condition, seconds = request.when, 0.0
    if timed is not None:
        condition, seconds = timed["condition"], parse_duration(timed["duration"])
    try:
        parsed = parse_filter(condition, find)
    except FilterError as error:
        raise UsageError(str(error)) from error
    first = _first(parsed.condition)
    if first is None or not parsed.columns:
        raise UsageError("the condition compares no column with anything: write PkgTmp>95 for 10s")
    scopes = [Scope.SYSTEM if column.whole_only else column.scope for column in parsed.columns
              if isinstance(column, CounterColumn)]
    scope = None if request.table else Scope(request.rows) if request.rows else min(scopes,
                                                                                    key=lambda scope: scope.rank)
    column = next(iter(first.columns.values()), parsed.columns[0])
    return AlertRule(request, replace(parsed, text=condition), seconds, scope, column, first.sign in _LEAST)


def _first(condition: Condition[Column[Any]]) -> Comparison[Column[Any]] | None:
    """The first comparison in a condition that has a column."""
    match condition:
        case JoinedConditions(parts):
            return next((comparison for part in parts if (comparison := _first(part)) is not None), None)
        case Comparison() if condition.columns:
            return condition
    return None
