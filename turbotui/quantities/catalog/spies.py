"""Columns of the events that spies count; multiplexed sets are joined by the reference event."""

from __future__ import annotations

import math
from collections.abc import Sequence

from turbotui.errors import UsageError
from turbotui.quantities.catalog.formulas import Formula, rate_of, value_of
from turbotui.quantities.columns import Category, ColumnId, CounterColumn, Inputs, Value
from turbotui.quantities.scope import Scope
from turbotui.quantities.spies import SpyPlan
from turbotui.quantities.spy_signals import SAMPLES, SETS, SpySignals

_DOCUMENT = "perf_event_open(2); Antao et al., Monitoring Performance and Power with the Cache-aware Roofline Model"

_MULTIPLEXED = (
    " A value of an interval in which another set was scheduled is estimated and marked ~. A row of several CPUs is "
    "the sum of their values; it is unknown as long as one of them that counts the event has none."
)


def spy_columns(plan: SpyPlan, known: frozenset[str]) -> tuple[CounterColumn, ...]:
    """Build a column for each event, per second, followed by the spy's own columns.

    Args:
        known: the signals of this machine; an event that is never multiplexed lacks some.
    """
    if not plan.spies:
        return ()
    return (
        *(_event(name, plan.reference, multiplexed=SpySignals(name).beside in known) for name in plan.events),
        CounterColumn(
            id="Samples", category=Category.OTHER, groups=("spies",), scope=Scope.CPU, unit="", decimals=0,
            needs=(SAMPLES,), compute=value_of(SAMPLES), formula="readings since the spy began",
            help="How often the spy of a CPU has been read; of several CPUs the most.", document=_DOCUMENT, width=7,
            extra=True,
        ),
        CounterColumn(
            id="Sets", category=Category.OTHER, groups=("spies",), scope=Scope.CPU, unit="", decimals=0,
            needs=(SETS,), compute=value_of(SETS), formula="multiplexed sets on this CPU",
            help="Into how many sets the events of a CPU are divided; each is counted in one interval of as many.",
            document=_DOCUMENT, width=4, extra=True, default=False,
        ),
    )


def _event(name: str, reference: str, *, multiplexed: bool) -> CounterColumn:
    ids = SpySignals(name)
    joined = (f"; in intervals of another set Δ{reference} (:beside) x its newest {name} (:last) / {reference} "
              "(:along), on each CPU" if multiplexed else "")
    return CounterColumn(
        id=name, category=Category.OTHER, groups=("spies",), scope=Scope.CPU, unit="/s", decimals=0,
        needs=(ids.count,), wants=(ids.enabled, ids.running, *(ids.joined if multiplexed else ())),
        compute=_joined(ids) if multiplexed else rate_of(ids.count), formula=f"Δ{name} / interval{joined}",
        help=f"{name} of each CPU's spy, a second."
        + (_MULTIPLEXED if multiplexed else ""),
        document=_DOCUMENT, width=10, extra=True, priority=1, doubt=_doubt if multiplexed else None,
    )


def _doubt(_row: Inputs) -> str:
    return (
        "a CPU here that counts it has no rate for it yet: its set was not scheduled so far, or none with the reference"
    )


def _joined(ids: SpySignals) -> Formula:
    def compute(row: Inputs) -> Value:
        if row.total(ids.count) is not None:
            return row.rate(ids.count)
        if row.total(ids.beside) is None:
            return None
        # CPUs execute different code, each at its own rate: a quotient of sums is not the sum of the quotients
        values = [_of_cpu(inputs, ids) for inputs in row.each(Scope.CPU) if inputs.delta(ids.beside) is not None]
        known = [value for value in values if value is not None]
        return math.fsum(known) if known and len(known) == len(values) else None

    return compute


def _of_cpu(cpu: Inputs, ids: SpySignals) -> float | None:
    """Counts per second of one CPU, by its newest rate; None before the CPU has one."""
    if (counted := cpu.rate(ids.count)) is not None:
        return counted
    last, along, beside, seconds = (
        cpu.value(ids.last), cpu.value(ids.along), cpu.delta(ids.beside), cpu.elapsed(ids.count))
    if last is None or along is None or beside is None or not seconds:
        return None
    if not beside:
        return beside  # no instruction was executed, so the count is 0 whatever the rate
    return beside * last / along / seconds if along else None


def with_spies(columns: Sequence[CounterColumn], plan: SpyPlan, known: frozenset[str]) -> tuple[CounterColumn, ...]:
    """A machine's columns followed by those of its spies.

    Raises:
        UsageError: an event has the name of another column.
    """
    taken: set[ColumnId] = {column.id for column in columns}
    added = spy_columns(plan, known)
    for column in added:
        if column.id in taken:
            raise UsageError(f'there is a column {column.id} already: write the event as "{column.id}:" or by its code')
    return (*columns, *added)
