"""Check tables for alert conditions; each rule makes one alert, however many rows meet its condition.

A condition is evaluated one column at a time, for all rows of a level: 1,024 CPUs cost a list of 1,024 comparisons.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final, Protocol, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.topology import Topology
from turbotui.quantities.alerts import AlertRule
from turbotui.quantities.columns import Column, CounterColumn, Value
from turbotui.quantities.filters import Comparison, Condition, FilterRow, JoinedConditions
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import Reduce
from turbotui.sampling.frame import Frame

Words: TypeAlias = Callable[[Topology, RowId], str]
"""The words of a row that conditions without a comparison are matched with."""
NAMED: Final = 3
"""Number of an alert's rows that are named."""


class AlertMoment(Protocol):
    """One interval of a table, as far as conditions need it."""

    @property
    def begin_ns(self) -> int:
        """When the alert began, in ns since 1970."""

    @property
    def end_ns(self) -> int:
        """When the alert ended, in ns since 1970."""

    def rows(self, rule: AlertRule) -> Sequence[Hashable]:
        """The rows that a rule checks."""

    def cells(self, column: Column[Any], rows: Sequence[Any], *, at_least: bool = False) -> Sequence[Value]:
        """The values of a column in many rows; None where a part is unknown.

        With `at_least`, of a row that lacks a part its value without that part, if the value cannot be less.
        """

    def words(self, row: Any) -> str:
        """Columns of conditions without a comparison."""

    def name(self, row: Any) -> str:
        """The name of a row, for people."""


class FrameMoment:
    """An interval of the table of CPUs."""

    def __init__(self, frame: Frame, words: Words, names: Words) -> None:
        self._frame, self._words, self._names = frame, words, names

    @property
    def begin_ns(self) -> int:
        return (self._frame.older or self._frame.newer).wall_ns

    @property
    def end_ns(self) -> int:
        return self._frame.newer.wall_ns

    def rows(self, rule: AlertRule) -> Sequence[RowId]:
        return self._frame.rows(rule.scope or Scope.CPU)

    def cells(self, column: Column[Any], rows: Sequence[RowId], *, at_least: bool = False) -> Sequence[Value]:
        """Values of a column, in which what cannot be less is a maximum."""
        if not isinstance(column, CounterColumn):
            return [None] * len(rows)
        signals = self._frame.capabilities.signals
        greatest = at_least and all(signals[name].reduce is Reduce.MAX for name in column.needs if name in signals)
        return self._frame.cells(column, rows) if greatest else self._frame.bare_cells(column, rows)

    def words(self, row: RowId) -> str:
        return self._words(self._frame.topology, row)

    def name(self, row: RowId) -> str:
        return self._names(self._frame.topology, row)


KEPT: Final = 200
"""Number of ended alerts that are still listed."""
_NS: Final = 1e9
_SIGNS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}


@dataclass(frozen=True, slots=True)
class Alert:
    """A period in which a condition held for as long as its rule demands."""

    rule: AlertRule
    since_ns: int  # ns since 1970: when the condition began to hold in the first row
    begun_ns: int  # ns since 1970: when it had held long enough
    rows: tuple[Hashable, ...]  # rows in which it holds now; after the end, the rows of the last moment
    most: int  # the greatest number of rows at once
    extreme: float | None  # the greatest value of the rule's column in these rows, or the least
    extreme_name: str  # the row of the extreme value, for people
    names: tuple[str, ...]  # the first of the rows, for people
    ended_ns: int | None = None  # ns since 1970; None while the alert lasts


@dataclass()
class _Watched:
    """A rule and the time since which each row meets its condition."""

    rule: AlertRule
    since: dict[Hashable, int] = field(default_factory=dict)
    alert: Alert | None = None


class AlertWatch:
    """Checks the intervals of one table in order.

    Args:
        words: by default those of rows of CPUs, and so are the names.
        names: the name of a row for people; by default its words.

    Attributes:
        ended: alerts that are over, the latest at the end.
    """

    def __init__(self, rules: Sequence[AlertRule], words: Words, names: Words | None = None) -> None:
        self._watched = [_Watched(rule) for rule in rules]
        self._words, self._names = words, names or words
        self._last_ns: int | None = None
        self.ended: list[Alert] = []

    @property
    def columns(self) -> Sequence[Column[Any]]:
        """Columns that the alerts read."""
        return [column for watched in self._watched for column in watched.rule.filter.columns]

    @property
    def active(self) -> Sequence[Alert]:
        """Alerts that last, in the order of their rules."""
        return [watched.alert for watched in self._watched if watched.alert is not None]

    def take(self, frame: Frame, *, joined: bool = False) -> tuple[Sequence[Alert], Sequence[Alert]]:
        """Check an interval; returns the alerts that begin with it, and those that end.

        Args:
            frame: the interval; unless it follows the one before, nothing is known to have held in between.
            joined: treat it as following the one before, whatever was left out.
        """
        if frame.older is None:
            return (), ()
        return self.take_moment(FrameMoment(frame, self._words, self._names), joined=joined)

    def take_moment(self, moment: AlertMoment, *, joined: bool = False) -> tuple[Sequence[Alert], Sequence[Alert]]:
        """Check an interval of the table."""
        begin_ns, now_ns = moment.begin_ns, moment.end_ns
        last_ns, self._last_ns = self._last_ns, now_ns
        begun: list[Alert] = []
        ended: list[Alert] = []
        if last_ns is not None and not joined and begin_ns != last_ns:
            ended += [self._end(alert, last_ns) for alert in self.active]
            self.forget()
        for watched in self._watched:
            before = watched.alert
            self._judge(watched, moment)
            if before is None and watched.alert is not None:
                begun.append(watched.alert)
            elif before is not None and watched.alert is None:
                ended.append(self._end(before, now_ns))
        return begun, ended

    def forget(self) -> None:
        """Start again with the next interval: current alerts have not ended, but what comes between is unknown."""
        for watched in self._watched:
            watched.since, watched.alert = {}, None

    def _end(self, alert: Alert, now_ns: int) -> Alert:
        alert = replace(alert, ended_ns=now_ns)
        self.ended = [*self.ended[-KEPT + 1 :], alert]
        return alert

    def _judge(self, watched: _Watched, moment: AlertMoment) -> None:
        begin_ns, now_ns = moment.begin_ns, moment.end_ns
        rule, rows = watched.rule, moment.rows(watched.rule)
        passing = self._passing(rule.filter.condition, moment, rows)
        watched.since = {row: watched.since.get(row, begin_ns) for row,
                         passes in zip(rows, passing, strict=True) if passes}
        long = tuple(row for row, since in watched.since.items() if now_ns - since >= rule.seconds * _NS)
        if not long:
            watched.alert = None
            return
        better = min if rule.least else max
        values = [(value, row) for value, row in zip(
            moment.cells(rule.column, long, at_least=not rule.least), long, strict=True)
                  if isinstance(value, int | float)]
        extreme, where = better(values, key=operator.itemgetter(0), default=(None, long[0]))
        before, name = watched.alert, moment.name(where)
        names = tuple(moment.name(row) for row in long[:NAMED])
        if before is None:
            since = min(watched.since[row] for row in long)
            watched.alert = Alert(rule, since, now_ns, long, len(long), extreme, name, names)
            return
        if (known := before.extreme) is not None and (extreme is None or better(known, extreme) == known):
            extreme, name = known, before.extreme_name
        watched.alert = replace(before, rows=long, most=max(before.most, len(long)), extreme=extreme, extreme_name=name,
                                names=names)

    def _passing(self, condition: Condition[Column[Any]], moment: AlertMoment,
                 rows: Sequence[Hashable]) -> Sequence[bool | None]:
        """Whether rows meet a condition; None where that is unknown."""
        if isinstance(condition, JoinedConditions):
            parts = [self._passing(part, moment, rows) for part in condition.parts]
            return [condition.joined(row_parts) for row_parts in zip(*parts, strict=True)] if parts else (
                [condition.joined(())] * len(rows))
        simple = _simple(condition) if isinstance(condition, Comparison) else None
        if simple is not None:
            column, holds, limit = simple
            limit = limit if column.shown is None else column.shown.back(limit)
            values = moment.cells(column, rows)
            flags = [holds(value, limit) if isinstance(value, int | float) else None for value in values]
            if None in flags and holds in (operator.gt, operator.ge):
                return [True if known is None and isinstance(value, int | float) and holds(value, limit) else known
                        for known, value in zip(flags, moment.cells(column, rows, at_least=True), strict=True)]
            return flags
        return [condition.holds(_filter_row(moment, row)) for row in rows]


def _filter_row(moment: AlertMoment, row: Hashable) -> FilterRow[Column[Any]]:
    return FilterRow(moment.words(row), lambda column: column.as_shown(moment.cells(column, (row,))[0]))


def _simple(comparison: Comparison[Column[Any]]) -> tuple[Column[Any], Callable[[float, float], bool], float] | None:
    """The column, sign and number of a comparison that consists of just these."""
    if (isinstance(comparison.right, str) or comparison.right.names or not comparison.left.names
        or len(comparison.left.steps) != 1
            or comparison.sign not in _SIGNS):
        return None
    limit = comparison.right.evaluate({})
    return None if limit is None else (comparison.columns[comparison.left.names[0]], _SIGNS[comparison.sign], limit)
