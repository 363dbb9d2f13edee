"""The catalog of a machine, extended by columns that are rebuilt from the definitions of earlier requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from turbotui.errors import UsageError
from turbotui.quantities.added import AddedCounter
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.quantities.catalog.added import with_added, with_events
from turbotui.quantities.catalog.events import event_column
from turbotui.quantities.catalog.spies import with_spies
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.definition import CountedEvents, Definition
from turbotui.quantities.signals import Signal, SignalId
from turbotui.quantities.spies import SpyPlan


def defined_catalog(signals: Mapping[SignalId, Signal], definitions: Iterable[Definition]) -> Catalog:
    """Build the catalog of signals and definitions, leaving out definitions whose name a catalog column has by now.

    Args:
        definitions: in the order in which they were asked for.
    """
    known = catalog_for(signals)
    every = tuple(definitions)
    columns = known.columns
    counters = {definition.name: definition for definition in every
                if isinstance(definition, AddedCounter) and definition.name not in known.by_id}
    columns = with_added(columns, tuple(counters.values()))
    taken = {column.id for column in columns}
    events: dict[str, CounterColumn] = {column.id: column
                                        for definition in every
                                        for column in _columns_of(definition, signals)
                                        if column.id not in taken}
    columns = with_events(columns, tuple(events.values()))
    for definition in every:
        if isinstance(definition, SpyPlan):
            columns = _spied(columns, definition, signals)
    return Catalog(columns, {column.id: column for column in columns}) if columns != known.columns else known


def _columns_of(definition: Definition, signals: Mapping[SignalId, Signal]) -> tuple[CounterColumn, ...]:
    if not isinstance(definition, CountedEvents):
        return ()
    others = {name: signals[name] for name in definition.request.others if name in signals}
    try:
        return tuple(event_column(column, definition.request, definition.traits, others)
                     for column in definition.request.columns)
    except UsageError:  # another version's signals had other units: this formula does not fit them
        return ()


def _spied(columns: tuple[CounterColumn, ...], plan: SpyPlan,
           signals: Mapping[SignalId, Signal]) -> tuple[CounterColumn, ...]:
    try:
        return with_spies(columns, plan, frozenset(signals))
    except UsageError:  # a later version has a column with the event's name
        return columns
