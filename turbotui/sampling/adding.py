"""Events added by hand: from a request to its source and its columns on one machine."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from turbotui.machine.machine import Machine
from turbotui.quantities.added import AddError
from turbotui.quantities.catalog.events import event_column
from turbotui.quantities.columns import Column, ColumnId
from turbotui.quantities.event_columns import EventRequest, renamed
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior
from turbotui.sampling.census import Census
from turbotui.sources.event_source import EventSource


@dataclass(frozen=True, slots=True)
class AddedEvents:
    """Events that are watched because a person asked for them.

    Attributes:
        columns: those that were not removed.
    """

    request: EventRequest
    source: EventSource
    columns: tuple[Column, ...]

    def without(self, name: ColumnId) -> AddedEvents:
        """The same without a column."""
        return replace(self, columns=tuple(column for column in self.columns if column.id != name))


def open_request(
    machine: Machine, census: Census, request: EventRequest, taken: Collection[ColumnId]
) -> tuple[AddedEvents, Census]:
    """Probe what a request names, and make its columns.

    Args:
        machine: where to look.
        census: of the catalog's signals.
        request: what is asked for.
        taken: titles that other columns have.

    Raises:
        AddError: the events are not well written, or the formula names a signal that does not exist.
        UnitError: a formula adds or compares different units.
    """
    request = renamed(request, frozenset(taken))
    for name in request.others:
        if name not in census.signals and name not in census.missing:
            raise AddError(f'--add "{request.text}": no signal is called {name}; events with dots stand in quotes')
    others = {name: census.signals[name] for name in request.others if name in census.signals}
    coarse = any(
        signal.scope is not Scope.CPU and signal.behavior is Behavior.COUNTER for signal in others.values()
    )
    source = EventSource(request, coarse=coarse)
    source.check(machine)
    found = census.plus(machine, source)
    columns = tuple(event_column(column, request, source.traits, others) for column in request.columns)
    return AddedEvents(request, source, columns), found
