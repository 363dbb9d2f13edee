"""The columns of a watched machine: those of the catalog, those added on request, and those of spies."""

from __future__ import annotations

import functools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from turbotui.errors import UsageError
from turbotui.machine.machine import Machine
from turbotui.quantities.added import AddedCounter, is_turbostats, join_instances, parse_added
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.quantities.catalog.added import with_added, with_events
from turbotui.quantities.catalog.spies import with_spies
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.event_columns import METRIC, SET, parse_requests, usual_prefix
from turbotui.quantities.spies import SpyPlan
from turbotui.sampling.capabilities import Capabilities
from turbotui.sources.source import Source
from turbotui.sources.spies import Spies

if TYPE_CHECKING:  # the grammar of events is imported late: most starts add nothing
    from turbotui.events.event_tables.model import VendorTables
    from turbotui.events.set_files import EventSet
    from turbotui.sampling.adding import AddedEvents


class GrowingCatalog(ABC):
    """Columns that come and go while a machine is watched, and the sources of the added ones.

    Attributes:
        machine: the watched machine.
        capabilities: the signals that it offers, added ones included.
        catalog: its columns, added ones included.
        added: counters added in turbostat's grammar, in that order.
        events: added events and formulas, in that order.
        find_sets: returns the event sets that `add` knows by name, when one is first asked for.
        find_tables: returns the vendor's tables of events and metrics, when one is first asked for.
        spied: columns of the events that spies count.
    """

    def __init__(self, machine: Machine, capabilities: Capabilities) -> None:
        self.machine = machine
        self.capabilities = capabilities
        self._known: Catalog = catalog_for(capabilities.signals)
        self.catalog: Catalog = self._known
        self.added: tuple[AddedCounter, ...] = ()
        self.events: tuple[AddedEvents, ...] = ()
        self.find_sets: Callable[[], Mapping[str, EventSet]] = functools.cache(_shipped_sets)
        self.find_tables: Callable[[], VendorTables] = functools.cache(self._open_tables)
        self.spied: tuple[CounterColumn, ...] = ()
        self._typed: dict[ColumnId, tuple[str, ...]] = {}
        self._changing = threading.Lock()  # a form changes columns on one thread, the spies' file on the sampler's
        self._spies = Spies(SpyPlan())

    @abstractmethod
    def _read_from(self, source: Source) -> None:
        """Read the signals of a new source from the next tick on, as far as they are wanted."""

    @abstractmethod
    def _describe_again(self) -> None:
        """Make frames and recordings describe the columns again, because the same readings now make others."""

    def add(self, text: str) -> CounterColumn:
        """Add a counter, an event or a formula; it is read from the next tick on if its column is wanted.

        Args:
            text: as --add accepts it (docs/specs/turbostat.md 1.6; `quantities.event_columns`).

        Returns:
            The first column that the text stands for; `selection.why_absent` says whether it is available.

        Raises:
            AddError: the text is no counter, or its name is taken by another added counter.
            UsageError: its name belongs to another column.
        """
        return self.add_all(text)[0]

    def add_all(self, text: str) -> tuple[CounterColumn, ...]:
        """Like `add`, but return all columns that the text stands for.

        Raises:
            AddError, UsageError: as in `add`; nothing is added then.
        """
        text = usual_prefix(text)
        with self._changing:
            columns = self._add(text)
        for column in columns:
            if "added" in column.groups:
                known = self._typed.get(column.id, ())
                self._typed[column.id] = (*(one for one in known if one != text), text)
        return columns

    def typed(self) -> tuple[str, ...]:
        """The added texts that were not removed; adding them again gives the same columns."""
        return tuple(dict.fromkeys(text for texts in self._typed.values() for text in texts))

    def _add(self, text: str) -> tuple[CounterColumn, ...]:
        if is_turbostats(text):
            return (self._add_counter(parse_added(text)),)
        from turbotui.sampling.adding import open_request  # noqa: PLC0415 - as above

        before = self.capabilities, self.events, self.catalog
        if text.startswith(SET):
            return self._add_set(text.removeprefix(SET).strip())
        if text.startswith(METRIC):
            return self._add_metrics(text)
        sources = []
        columns: list[CounterColumn] = []
        try:
            for request in parse_requests(text):
                known = next((one for one in self.events if one.request.text == request.text and one.columns), None)
                if known is None:
                    known, self.capabilities = open_request(
                        self.machine, self.capabilities, request, self.catalog.by_id, self.events)
                    self._keep(self.added, (*self.events, known))
                    sources.append(known.source)
                columns += known.columns
        except UsageError:
            self.capabilities, self.events, self.catalog = before
            raise
        for source in sources:
            self._read_from(source)
        return tuple(columns)

    def _add_set(self, name: str) -> tuple[CounterColumn, ...]:
        from turbotui.sampling.adding import named_set, open_set  # noqa: PLC0415 - as above

        wanted = named_set(self.find_sets(), name)
        known = [one for one in self.events if one.request.text.startswith(f"{SET}{name}/")]
        if not known:
            chosen, self.capabilities = open_set(self.machine, self.capabilities, wanted, self.catalog.by_id)
            known = [one.added for one in chosen if one.added is not None]
            self._keep(self.added, (*self.events, *known))
            for one in known:
                self._read_from(one.source)
        shown = {column.id for one in known for column in one.columns}
        return tuple(self.catalog.by_id[column.name] for column in wanted.columns
                     if column.name in shown or not column.alternatives)

    def _add_metrics(self, text: str) -> tuple[CounterColumn, ...]:
        from turbotui.sampling.adding_metrics import (  # noqa: PLC0415 - as above
            constants_of,
            metric_requests,
            open_metrics,
            share_counters,
        )


        known = [column for one in self.events if one.request.raw for column in one.columns]
        titles = {column.id for column in known}
        others = self.catalog.by_id.keys() - titles
        tables, constants = self.find_tables(), constants_of(self.machine)
        every = metric_requests(self.machine, tables, text, taken=others, constants=constants)
        wanted = {column.name for one in every for column in one.request.columns}
        planned = metric_requests(self.machine, tables, text, taken=others, without=titles, constants=constants)
        events, planned = share_counters(self.events, planned)
        shared = [column for before, now in zip(self.events, events, strict=True)
                  for column in now.columns[len(before.columns) :]]
        added, self.capabilities = open_metrics(self.machine, self.capabilities, planned, others, events)
        self._keep(self.added, (*events, *added))
        for one in added:
            self._read_from(one.source)
        if shared:
            self._describe_again()
        there = [column for column in known if column.id in wanted]
        return (*there, *shared, *(column for one in added for column in one.columns))

    def _open_tables(self) -> VendorTables:
        from turbotui.events.event_tables.opening import open_vendor_tables  # noqa: PLC0415 - as above

        return open_vendor_tables(self.machine.host)

    def _add_counter(self, counter: AddedCounter) -> CounterColumn:
        previous = next((one for one in self.added if one.name == counter.name), None)
        if previous is not None:
            counter = previous if previous == counter else join_instances(previous, counter)
        known = (*self.added, counter) if previous is None else self.added
        self._keep(tuple(counter if one is previous else one for one in known), self.events)
        if counter is not previous:
            from turbotui.sources.added import added_source  # noqa: PLC0415 - as above

            source = added_source(counter)
            self.capabilities = self.capabilities.plus(self.machine, source)
            self._read_from(source)
        return self.catalog.by_id[counter.name]

    def remove(self, name: ColumnId) -> None:
        """Remove an added column; any other name changes nothing."""
        self._typed.pop(name, None)
        with self._changing:
            events = (one.without(name) for one in self.events)
            added = tuple(one for one in self.added if one.name != name)
            self._keep(added, tuple(one for one in events if one.columns))

    @property
    def spies(self) -> SpyPlan:
        """The plan of what spies count, in force from the next interval on."""
        return self._spies.plan

    @property
    def spy_notes(self) -> tuple[str, ...]:
        """Sentences about parts of the spies' plan that this machine cannot count."""
        found = self._spies.arrangement
        return (*found.notes, *(why.sentence() for why in found.refused.values()))

    def spy(self, plan: SpyPlan) -> None:
        """Change what spies count from the next interval on; events that remain in the plan lose nothing.

        Raises:
            UsageError: an event has the name of a column; the old plan stays in force.
        """
        with self._changing:
            self._composed(self.added, self.events, plan, self.capabilities)  # reports clashes before anything changes
            self._spies.follow(plan)
            self.capabilities = self.capabilities.plus(self.machine, self._spies)
            columns = self._composed(self.added, self.events, plan, self.capabilities)
            self.catalog = Catalog(columns, {column.id: column for column in columns})
            self.spied = tuple(column for column in columns if "spies" in column.groups)
            self._read_from(self._spies)

    def by_hand(self) -> tuple[tuple[ColumnId, str], ...]:
        """Added columns that were not removed: the name, and what each counts in the grammar of --add."""
        counters = tuple((one.name, str(one.place)) for one in self.added)
        return counters + tuple(pair for one in self.events for pair in one.shown())

    def present(self, how: Callable[[CounterColumn], CounterColumn]) -> None:
        """Give the columns of the catalog a user's units and marks; the computation does not change."""
        with self._changing:
            self._known, self.catalog = self._known.mapped(how), self.catalog.mapped(how)

    def _keep(self, counters: tuple[AddedCounter, ...], events: tuple[AddedEvents, ...]) -> None:
        columns = self._composed(counters, events, self._spies.plan, self.capabilities)
        self.added, self.events = counters, events
        self.catalog = Catalog(columns, {column.id: column for column in columns})

    def _composed(self, counters: tuple[AddedCounter, ...], events: tuple[AddedEvents, ...], plan: SpyPlan,
                  capabilities: Capabilities) -> tuple[CounterColumn, ...]:
        """The machine's columns with added ones in place and the spies' columns at the end."""
        columns = with_added(self._known.columns, counters)
        columns = with_events(columns, [column for one in events for column in one.columns])
        return with_spies(columns, plan, frozenset(capabilities.signals))


def _shipped_sets() -> Mapping[str, EventSet]:
    from turbotui.events.set_files import shipped_sets  # noqa: PLC0415 - as above

    return shipped_sets()
