"""Columns computed from columns of watts, so that a sum or a remainder is a cell like any other.

Their formulas use the same readings as their parts, so they are explained and drawn over time in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from turbotui.features.power.balance import Balance
from turbotui.features.power.consumers import Consumer
from turbotui.quantities.columns import Category, ColumnId, CounterColumn, Inputs, Value
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.traced import added, at_least
from turbotui.sampling.frame import Frame
from turbotui.widgets.panel import Target

SUM, ELSEWHERE, REST, PLATFORM = "sum", "elsewhere", "rest", "platform"
_DOCUMENT: Final = "docs/specs/power.md 2.1"
_CLOSE: Final = 1e-6
"""The relative difference up to which two sums are equal, because the order of addition may differ."""


def sum_target(frame: Frame, balance: Balance) -> Target | None:
    """Return the cell of the counted sum, each part once; None if nothing is known."""
    return _agreeing(frame, _composed(
        SUM, Scope.SYSTEM, _columns(balance.parts), (),
        "All that is counted, each part once: what lies inside another part, and what tells of the whole machine, is "
        "left out."), balance.counted)


def platform_target(frame: Frame, balance: Balance) -> Target | None:
    """Return the cell of the whole machine's figure: one meter, or a sum of several."""
    if (figure := balance.total_figure) is None:
        return sum_target(frame, balance)
    if len(figure.members) == 1:
        return figure.members[0].target
    return _agreeing(frame, _composed(PLATFORM, Scope.SYSTEM, _columns(figure.members), (),
                                      f"What the {figure.name} say together."), figure.watts)


def elsewhere_target(frame: Frame, balance: Balance) -> Target | None:
    """Return the cell of the platform's power beyond the counted sum; None if unknown."""
    if balance.platform is None or balance.elsewhere is None:
        return None
    return _agreeing(frame, _composed(
        ELSEWHERE, Scope.SYSTEM, _columns(balance.platform.members), _columns(balance.parts),
        f"What {balance.platform.name} tells of the whole machine, less all that is counted: the board, storage, fans "
        "and what a device that sleeps takes. Nothing tells these apart."), balance.elsewhere)


def rest_target(frame: Frame, row: RowId, package: CounterColumn, inside: tuple[CounterColumn, ...],
                watts: float | None) -> Target | None:
    """Return the cell of a package's watts outside its known parts; None if unknown."""
    if watts is None:
        return None
    return _agreeing(frame, _composed(
        REST, Scope.PACKAGE, (package,), inside,
        "The package's own figure less its parts that have one: caches, memory controllers, the fabric."), watts, row)


def _columns(consumers: Iterable[Consumer]) -> tuple[CounterColumn, ...]:
    """Return the columns of consumers with known watts, each once; several packages share a column."""
    return tuple(dict.fromkeys(consumer.target[0] for consumer in consumers
                               if consumer.target is not None and consumer.watts is not None))


@lru_cache(maxsize=64)
def _composed(name: ColumnId, scope: Scope, plus: tuple[CounterColumn, ...], minus: tuple[CounterColumn, ...],
              words: str) -> CounterColumn:
    """Return the column of a sum of columns less others; the same columns give the same object, for the cursor."""
    columns = (*plus, *minus)

    def compute(row: Inputs) -> Value:
        known: list[float] = []
        for column in columns:
            value = column.compute(row)
            if value is None or isinstance(value, str):
                return None
            known.append(value)
        if not known:
            return None
        # readings of different instants: a difference may fall below 0
        more = added(known[:len(plus)])
        return at_least(0.0, more - added(known[len(plus):])) if minus else more

    return CounterColumn(
        id=name, category=Category.POWER, scope=scope, unit="W", decimals=2, compute=compute, help=words,
        needs=tuple(dict.fromkeys(need for column in columns for need in column.needs)),
        wants=tuple(dict.fromkeys(want for column in columns for want in column.wants)),
        document=_DOCUMENT, width=7, whole_only=scope is Scope.SYSTEM)


def _agreeing(frame: Frame, column: CounterColumn, watts: float | None, row: RowId = SYSTEM_ROW) -> Target | None:
    """Return a column's cell; None if it differs from the shown figure, because a part is unknown now."""
    value = frame.cell(column, row)
    if watts is None or not isinstance(value, int | float) or abs(value - watts) > _CLOSE * max(1.0, watts):
        return None
    return column, row
