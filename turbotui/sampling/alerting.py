"""Watches frames for what a person wants to be told of: one alert for each rule, whatever the number of rows.

A condition is worked out a column at a time, for all rows of a level: 1,024 CPUs cost a list of 1,024 comparisons.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.topology import Topology
from turbotui.quantities.alerts import AlertRule
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.filters import Comparison, Condition, FilterRow, JoinedConditions
from turbotui.quantities.scope import RowId
from turbotui.sampling.frame import Frame

Words: TypeAlias = Callable[[Topology, RowId], str]
"""The words of a row that conditions without a comparison look into."""

KEPT: Final = 200
"""Alerts that have ended and are still listed."""
_NS: Final = 1e9
_SIGNS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}


@dataclass(frozen=True, slots=True)
class Alert:
    """One time in which a condition held for as long as its rule says.

    Attributes:
        rule: which one.
        since_ns: ns since 1970: when the condition began to hold in the first row.
        begun_ns: ns since 1970: when it had held long enough.
        rows: in which it holds now; after the end those of the last moment.
        most: the greatest number of rows at once.
        extreme: the greatest value of the rule's column in these rows, or the least one.
        extreme_row: the row of that.
        ended_ns: ns since 1970; None while it goes on.
    """

    rule: AlertRule
    since_ns: int
    begun_ns: int
    rows: tuple[RowId, ...]
    most: int
    extreme: float | None
    extreme_row: RowId
    ended_ns: int | None = None


@dataclass()
class _Watched:
    """One rule, and since when which rows pass."""

    rule: AlertRule
    since: dict[RowId, int] = field(default_factory=dict)
    alert: Alert | None = None


class AlertWatch:
    """Takes frames one after the other.

    Args:
        rules: what to watch for.
        words: see `Words`.

    Attributes:
        ended: alerts that are over, the last one at the end.
    """

    def __init__(self, rules: Sequence[AlertRule], words: Words) -> None:
        self._watched = [_Watched(rule) for rule in rules]
        self._words = words
        self._last_ns: int | None = None
        self.ended: list[Alert] = []

    @property
    def columns(self) -> Sequence[CounterColumn]:
        """What has to be read."""
        return [column for one in self._watched for column in one.rule.filter.columns]

    @property
    def active(self) -> Sequence[Alert]:
        """Alerts that go on, in the order of their rules."""
        return [one.alert for one in self._watched if one.alert is not None]

    def take(self, frame: Frame, *, joined: bool = False) -> tuple[Sequence[Alert], Sequence[Alert]]:
        """Look at an interval.

        Args:
            frame: the interval; it follows the one before, or nothing is known to have held in between.
            joined: take it as following the one before, whatever was left out.

        Returns:
            The alerts that begin with it, and those that end.
        """
        if frame.older is None:
            return (), ()
        begin_ns, now_ns = frame.older.wall_ns, frame.newer.wall_ns
        last_ns, self._last_ns = self._last_ns, now_ns
        begun: list[Alert] = []
        ended: list[Alert] = []
        if last_ns is not None and not joined and begin_ns != last_ns:
            ended += [self._end(alert, last_ns) for alert in self.active]
            self.forget()
        for one in self._watched:
            before = one.alert
            self._judge(one, frame, begin_ns, now_ns)
            if before is None and one.alert is not None:
                begun.append(one.alert)
            elif before is not None and one.alert is None:
                ended.append(self._end(before, now_ns))
        return begun, ended

    def forget(self) -> None:
        """Begin anew with what follows: what goes on has not ended, but nobody knows what comes between."""
        for one in self._watched:
            one.since, one.alert = {}, None

    def _end(self, alert: Alert, now_ns: int) -> Alert:
        alert = replace(alert, ended_ns=now_ns)
        self.ended = [*self.ended[-KEPT + 1 :], alert]
        return alert

    def _judge(self, one: _Watched, frame: Frame, begin_ns: int, now_ns: int) -> None:
        """Bring since when rows pass, and the alert, up to a frame."""
        rule, rows = one.rule, frame.rows(one.rule.scope)
        passing = self._passing(rule.filter.condition, frame, rows)
        one.since = {row: one.since.get(row, begin_ns) for row, passes in zip(rows, passing, strict=True) if passes}
        long = tuple(row for row, since in one.since.items() if now_ns - since >= rule.seconds * _NS)
        if not long:
            one.alert = None
            return
        better = min if rule.least else max
        values = [(value, row) for value, row in zip(frame.cells(rule.column, long), long, strict=True)
                  if isinstance(value, int | float)]
        extreme, where = better(values, key=operator.itemgetter(0), default=(None, long[0]))
        before = one.alert
        if before is None:
            one.alert = Alert(rule, min(one.since[row] for row in long), now_ns, long, len(long), extreme, where)
            return
        known = before.extreme
        if known is not None and (extreme is None or better(known, extreme) == known):
            extreme, where = known, before.extreme_row
        one.alert = replace(before, rows=long, most=max(before.most, len(long)), extreme=extreme, extreme_row=where)

    def _passing(self, condition: Condition[CounterColumn], frame: Frame, rows: Sequence[RowId]) -> Sequence[bool]:
        """Which rows pass."""
        if isinstance(condition, JoinedConditions):
            found = [condition.every] * len(rows)
            for part in condition.parts:
                passing = self._passing(part, frame, rows)
                both = operator.and_ if condition.every else operator.or_
                found = [both(one, other) for one, other in zip(found, passing, strict=True)]
            return [not one for one in found] if condition.turned else found
        simple = _simple(condition) if isinstance(condition, Comparison) else None
        if simple is not None:
            column, holds, limit = simple
            limit = limit if column.shown is None else column.shown.back(limit)
            return [isinstance(value, int | float) and holds(value, limit) for value in frame.cells(column, rows)]
        return [condition.holds(self._filter_row(frame, row)) is True for row in rows]

    def _filter_row(self, frame: Frame, row: RowId) -> FilterRow[CounterColumn]:
        return FilterRow(self._words(frame.topology, row), lambda column: column.as_shown(frame.cell(column, row)))


def _simple(one: Comparison[CounterColumn]) -> tuple[CounterColumn, Callable[[float, float], bool], float] | None:
    """A column, a sign and a number, where a comparison is no more than that."""
    if (isinstance(one.right, str) or one.right.names or not one.left.names or len(one.left.steps) != 1
            or one.sign not in _SIGNS):
        return None
    limit = one.right.evaluate({})
    return None if limit is None else (one.columns[one.left.names[0]], _SIGNS[one.sign], limit)
