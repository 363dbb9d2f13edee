"""Sources of a recorded machine, which tell what probing found at the time, and read nothing."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Mapping

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.quantities.added import AddedCounter
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.quantities.catalog.added import with_added, with_events
from turbotui.quantities.catalog.events import event_column
from turbotui.quantities.catalog.spies import with_spies
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.definition import CountedEvents, Definition
from turbotui.quantities.signals import Signal, SignalId
from turbotui.quantities.spies import SpyPlan
from turbotui.sampling.capabilities import Capabilities
from turbotui.sources.source import Defined, Probe, Reader, SharedReader


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


@dataclass(frozen=True, slots=True, eq=False)
class RecordedSource:
    """A source of a recorded machine."""

    id: str
    title: str
    gives: str
    shared: bool
    counts_from_open: bool
    probed: Probe
    definition: Definition | None = None

    def probe(self, machine: Machine) -> Probe:  # noqa: ARG002 - it was asked when it was recorded
        """Return what probing found when the machine was recorded."""
        return self.probed

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:  # noqa: ARG002 - none is opened
        """0: a recording opens no counters."""
        return 0

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        """Always fail with a HostError: a recording holds readings and no counters."""
        raise HostError(errno.ENODEV, f"{self.title} of the recording of {machine.host.name}, CPU {cpu}, {len(wanted)}")

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:
        """Always fail with a HostError, as `open`."""
        raise HostError(errno.ENODEV, f"{self.title} of the recording of {machine.host.name}, {len(wanted)} signals")


def definitions_of(capabilities: Capabilities) -> Iterator[Definition]:
    """Return the definitions that were counted beside the catalog, in the order of the requests."""
    for source in capabilities.sources:
        definition = source.definition if isinstance(source, Defined) else None
        if definition is not None:
            yield definition


def recorded_catalog(capabilities: Capabilities) -> Catalog:
    """Return the columns that this version computes from recorded signals, and those that were added at the time."""
    return defined_catalog(capabilities.signals, definitions_of(capabilities))
