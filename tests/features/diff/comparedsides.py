"""Sides of a comparison whose values a test writes down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turbotui.features.diff.series import Series, Side, SpanFacts
from turbotui.quantities.catalog import STATIC_COLUMNS
from turbotui.quantities.columns import CounterColumn, Value
from turbotui.quantities.scope import SYSTEM_ROW, RowId

COLUMNS: Mapping[str, CounterColumn] = {column.id: column for column in reversed(STATIC_COLUMNS)}


def side(number: int, values: Mapping[str, Sequence[Value]], *, row: RowId = SYSTEM_ROW, left_out: int = 0,
         circumstances: Mapping[str, str] | None = None) -> Side:
    facts = SpanFacts(name="run.ttj", machine="box", missing=(), circumstances=circumstances or {}, begin_ns=0,
                      end_ns=1, intervals=1, seconds=1.0, left_out=left_out)
    series = {}
    for name, known in values.items():
        series[name, row] = Series(COLUMNS[name], row)
        for value in known:
            series[name, row].take(value)
    return Side(number, facts, series)
