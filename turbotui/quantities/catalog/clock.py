"""The time at which the numbers of a row were read; off by default, as in turbostat."""

from __future__ import annotations

from turbotui.quantities.catalog.formulas import value_of
from turbotui.quantities.columns import Category, CounterColumn, Inputs, Value
from turbotui.quantities.scope import Scope

_DOCUMENT = "clock_gettime(2)"


def _microseconds(row: Inputs) -> Value:
    start, end = row.value("clock.start"), row.value("clock.end")
    return None if start is None or end is None else (end - start) * 1e6


COLUMNS = (
    CounterColumn(
        id="usec", category=Category.OTHER, scope=Scope.CPU, unit="us", decimals=0,
        needs=("clock.start", "clock.end"), compute=_microseconds,
        help="Time that reading the CPU's counters took; in the summary from the first CPU's start to the last "
        "one's end.", document=_DOCUMENT, width=5, priority=9, default=False,
    ),
    CounterColumn(
        id="Time_Of_Day_Seconds", category=Category.OTHER, scope=Scope.CPU, unit="s", decimals=6,
        needs=("clock.wall",), compute=value_of("clock.wall"),
        formula="time of day after the CPU's readings, since 1970",
        help="When the CPU's counters were read, in seconds of the epoch; in the summary the last CPU's.",
        document=_DOCUMENT, width=17, priority=9, default=False,
    ),
)
