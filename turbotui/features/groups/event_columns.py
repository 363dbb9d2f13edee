"""Columns of perf events of control groups, from the same requests as columns of CPUs (--add)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from turbotui.features.groups.columns import COLUMNS, GroupColumn
from turbotui.features.groups.files import Quantity
from turbotui.features.groups.model import GroupRow
from turbotui.machine.timed_reads import INTERRUPTED_SHARE
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.definition import CountedEvents
from turbotui.quantities.event_columns import ELAPSED, EventColumn, EventRequest
from turbotui.quantities.event_traits import EventTraits, known_unit

PERF: Final = "perf "
"""The prefix of quantities of events."""
ENABLED, RUNNING = " enabled", " running"
"""The suffixes of an event's times: ns for which the group ran on a CPU, and for which its counter ran."""
CYCLES: Final = ("cycles", "cpu-cycles")
"""Events by which the packages' energy is shared if they are counted."""
_SCALED: Final = 0.99
"""The share of the group's time below which a counter's value is an estimate."""
_DOCUMENT: Final = "perf_event_open(2), PERF_FLAG_PID_CGROUP; docs/specs/groups.md 1.6"


def quantity_of(request: EventRequest, event: str) -> Quantity:
    """Return the quantity of an event of a request."""
    return PERF + request.signal(event).removeprefix("added.")


def quantities_of(request: EventRequest) -> tuple[Quantity, ...]:
    """Return every quantity of a request: the count of each event, and its two times."""
    return tuple(f"{quantity_of(request, event)}{end}" for event in request.events for end in ("", ENABLED, RUNNING))


def reading_of(quantity: Quantity) -> str:
    """Return the id of the readings of an event, whose count and times are of the same moments."""
    return f"perf_event_open(2) of {quantity.removeprefix(PERF).removesuffix(ENABLED).removesuffix(RUNNING)}"


def cycles_in(package: int) -> Quantity:
    """Return the quantity of a group's cycles on the CPUs of a package, by the package's index in the topology."""
    return f"{PERF}{CYCLES[0]} of package {package}"


def counted_share(row: GroupRow, quantity: Quantity) -> float | None:
    """Return the share of the group's CPU time in which an event was counted; None if no event, or no time."""
    enabled, running = row.increases.get(quantity + ENABLED), row.increases.get(quantity + RUNNING)
    return None if not enabled or running is None else running / enabled


def is_scaled(row: GroupRow, needs: Iterable[Quantity]) -> bool:
    """Tell whether an event among these was multiplexed, so that its count is an estimate."""
    shares = (counted_share(row, need) for need in needs if need.startswith(PERF))
    return any(share is not None and share < _SCALED for share in shares)


def event_columns(counted: Iterable[CountedEvents]) -> tuple[GroupColumn, ...]:
    """Make the columns of some requests; a title that another column has gets a number."""
    taken = {column.id for column in COLUMNS}
    columns: list[GroupColumn] = []
    for events in counted:
        for column in events.request.columns:
            made, number = _column(events, column), 2
            while made.id in taken:
                made, number = replace(made, id=f"{column.name}~{number}"), number + 1
            taken.add(made.id)
            columns.append(made)
    return tuple(columns)


def _column(counted: CountedEvents, column: EventColumn) -> GroupColumn:
    request = counted.request
    needs = tuple(quantity_of(request, event) for event in request.events
                  if event in column.names)
    if column.formula is not None:
        values = _Values(counted)
        return Column(
            column.name, column.unit, 3 if column.decimals is None else column.decimals, needs,
            lambda row: column.value(values.of(row)), formula=column.source_text, document=column.document or _DOCUMENT,
            help=column.help or f"Added by hand: {column.source_text}, from the counts of the group's own time.",
            width=8, priority=1, doubt=lambda row: _no_turn(row, needs) or column.fault(values.of(row)))
    traits = counted.traits.get(column.event, EventTraits())
    return Column(
        column.name, f"{traits.unit}/s" if column.rate else traits.unit, 2 if traits.scaled else 0, needs,
        _plain(needs[0], rate=column.rate, whole=not traits.scaled), width=10, priority=1,
        formula="Δcount / seconds" if column.rate else "Δcount", document=column.document or _DOCUMENT,
        help=column.help or f"Added by hand: the {'rate' if column.rate else 'count'} of {column.event} while tasks of "
                            "the group, and of the groups in it, ran.",
        doubt=lambda row: _no_turn(row, needs))


def _increase(row: GroupRow, quantity: Quantity) -> float | None:
    """Return the increase of an event; None if the group ran and its counter never did."""
    return None if counted_share(row, quantity) == 0.0 else row.increases.get(quantity)


def _plain(quantity: Quantity, *, rate: bool, whole: bool) -> Callable[[GroupRow], Value]:
    def compute(row: GroupRow) -> Value:
        count, seconds = _increase(row, quantity), row.span(quantity)
        if count is None or (rate and not seconds):
            return None
        value = count / seconds if rate and seconds else count
        return round(value) if whole else value

    return compute


def _no_turn(row: GroupRow, needs: Iterable[Quantity]) -> str:
    late = next((need for need in needs if counted_share(row, need) == 0.0), None)
    return "" if late is None else (f"{late}: the group ran, and the counter never had a turn in this interval: other "
                                    "events have all counters of the CPUs")


class _Values:
    def __init__(self, counted: CountedEvents) -> None:
        self._events = tuple((event, quantity_of(counted.request, event),
                              known_unit(counted.traits.get(event, EventTraits()).unit).factor)
                             for event in counted.request.events)

    def of(self, row: GroupRow) -> dict[str, float | None]:
        values: dict[str, float | None] = {
            event: None if (count := _increase(row, quantity)) is None else count * factor
            for event, quantity, factor in self._events}
        spans = {event: span for event, quantity, _factor in self._events if (span := row.span(quantity)) is not None}
        elapsed = values[ELAPSED] = next(iter(spans.values()), None) if len(spans) == len(self._events) else None
        if elapsed is not None and max(spans.values()) - min(spans.values()) > INTERRUPTED_SHARE * elapsed:
            for event, span in spans.items():  # not read together: their rates are those of one time
                count = values[event]
                values[event] = None if count is None else count / span * elapsed
        return values
