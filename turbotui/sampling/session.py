"""A session: one watched machine with its capabilities, catalog and sampler, as verbs and the dashboard hold it."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from turbotui.errors import UsageError
from turbotui.machine.allocator import spare_memory
from turbotui.machine.host import Host, HostError
from turbotui.machine.machine import Machine
from turbotui.quantities.added import AddedCounter, is_turbostats, join_instances, parse_added
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.quantities.catalog.added import with_added, with_events
from turbotui.quantities.catalog.spies import with_spies
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.event_columns import METRIC, SET, parse_requests, usual_prefix
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.signals import SignalId
from turbotui.quantities.spies import SpyPlan
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.capabilities import Capabilities, probe_sources
from turbotui.sampling.collector import run_alone, run_on_loop
from turbotui.sampling.frame import Frame
from turbotui.sampling.limits import SHORTEST_INTERVAL
from turbotui.sampling.own_cost import Meter, OwnCost
from turbotui.sampling.row_workers import RowSource, joined_sources
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.selection import compared_with, signals_of
from turbotui.sampling.spy_file import SpyFile
from turbotui.sources.source import Focused, Source
from turbotui.sources.spies import Spies
from turbotui.threads import NamedThread

if TYPE_CHECKING:  # the grammar of events is imported late: most starts add nothing
    from turbotui.events.event_tables.model import VendorTables
    from turbotui.events.set_files import EventSet
    from turbotui.sampling.adding import AddedEvents

_OWN_WORKERS = 1024
"""The most CPUs of which each has a worker of its own while somebody looks at a screen."""
_SWITCH_SECONDS = 0.0005  # longest time that workers wait for a busy screen's thread between two bytecodes


class Session:
    """A watched machine whose catalog grows with added columns and spies.

    Attributes:
        machine: the watched machine.
        capabilities: the signals that it offers, added ones included.
        catalog: its columns, added ones included.
        added: counters added in turbostat's grammar, in that order.
        events: added events and formulas, in that order.
        find_sets: returns the event sets that `add` knows by name, when one is first asked for.
        find_tables: returns the vendor's tables of events and metrics, when one is first asked for.
        spied: columns of the events that spies count.
        latest: the newest frame, None before the first; its topology is the machine's current one.
        failure: the error that ended the sampler, if any.
        spy_note: the mistake in the spies' file, whose last valid content stays in force; "" for none.
    """

    def __init__(self, machine: Machine, sources: Sequence[Source], interval: float,
                 own_host: Host, cpus: frozenset[int] | None = None) -> None:
        self.machine = machine
        own = [source.own() if isinstance(source, Focused) else source for source in sources]
        self.capabilities = probe_sources(machine, own)
        self._known: Catalog = catalog_for(self.capabilities.signals)
        self.catalog: Catalog = self._known
        self.added: tuple[AddedCounter, ...] = ()
        self.events: tuple[AddedEvents, ...] = ()
        self.find_sets: Callable[[], Mapping[str, EventSet]] = functools.cache(_shipped_sets)
        self.find_tables: Callable[[], VendorTables] = functools.cache(self._open_tables)
        self.spied: tuple[CounterColumn, ...] = ()
        self._typed: dict[ColumnId, tuple[str, ...]] = {}
        self._changing = threading.Lock()  # a form changes columns on one thread, the spies' file on the sampler's
        self._spies = Spies(SpyPlan())
        self.latest: Frame | None = None
        self.failure: BaseException | None = None
        self.spy_note = ""
        self._spy_file: SpyFile | None = None
        self._bound: int | None = None
        self._own_host = own_host
        self._columns: tuple[CounterColumn, ...] = ()
        self._signals: frozenset[SignalId] = frozenset()
        self._also: frozenset[SignalId] = frozenset()
        self._wrapping: set[SignalId] = set()
        self._row_sources: dict[object, Sequence[RowSource]] = {}
        self._sampler = Sampler(machine, self.capabilities, frozenset(), interval, cpus)
        self._sampler.waits = True
        self._thread: threading.Thread | None = None
        self._gives_up = False
        self._on_frame: Callable[[Frame], None] = _nothing
        self._handing = threading.Lock()  # a new owner receives the frames in order
        self._on_end: Callable[[], None] = _nothing
        self._meter = Meter(own_host)
        self._often_everywhere = False
        # those that `look_often` is for: a screen calls it at every tick, and to ask 44 sources takes 0.4 ms
        self._focused: tuple[Capabilities, tuple[Focused, ...]] | None = None

    @property
    def interval(self) -> float:
        """Nominal seconds between ticks; rates use the time that really passed."""
        return self._sampler.interval

    @property
    def waits(self) -> bool:
        """Whether intervals wait for late CPUs, as printed numbers must; only a screen goes on without them."""
        return self._sampler.waits

    @waits.setter
    def waits(self, waits: bool) -> None:
        self._sampler.waits = waits

    def want(self, columns: Iterable[ColumnId], signals: Iterable[SignalId] = ()) -> None:
        """Read exactly what these columns need, and these signals, from the next tick on."""
        wanted_columns = [self.catalog.get(name) for name in columns]
        self._columns = tuple(column for column in wanted_columns if column is not None)
        self._signals = frozenset(signals)
        self._want()

    def look_often(self, cpus: Collection[int] | None) -> None:
        """Time the clock at more moments of an interval on these CPUs from the next tick on; None: on all, for good."""
        self._often_everywhere = self._often_everywhere or cpus is None
        known = self.capabilities
        if self._focused is None or self._focused[0] is not known:
            self._focused = known, tuple(source for source in known.sources if isinstance(source, Focused))
        for source in self._focused[1]:
            source.look_often(None if self._often_everywhere else cpus)

    def read_also(self, sources: Sequence[Source], signals: frozenset[SignalId]) -> None:
        """Read these signals of these sources beside the columns' from the next tick on, replacing earlier calls.

        They are not part of `capabilities`; only frames know them while somebody looks at them.
        """
        self._also = signals
        self._sampler.beside(sources)
        self._want()

    def read_rows(self, owner: object, sources: Iterable[RowSource]) -> None:
        """Read rows for an owner from the next tick on, replacing what it asked for before; none to read no more.

        Kinds that several owners ask for are read once.
        """
        self._row_sources[owner] = tuple(sources)
        if not self._row_sources[owner]:
            del self._row_sources[owner]
        self._sampler.read_rows(joined_sources(source for asked in self._row_sources.values() for source in asked))

    def why_no_rows(self, kind: KindId) -> Unavailable | None:  # noqa: ARG002 - of every session that reads rows
        """None: whatever kind is asked for is read at the next tick."""
        return None

    def _want(self) -> None:
        wanted = signals_of((*self._columns, *self.spied), self.capabilities, self._signals | self._also) | self._also
        wanted |= compared_with(wanted, self.capabilities, self._sampler.interval)
        # A counter that wraps is read on once it was shown, even while its column is hidden: when the column returns,
        # its number is there at once and no wrap was lost. It costs a register or two a package.
        signals = self.capabilities.signals
        self._wrapping |= {name for name in wanted if name in signals and signals[name].wrap_seconds}
        self._sampler.want(wanted | {name for name in self._wrapping if name in signals})

    def spy_by(self, file: SpyFile) -> None:
        """Follow a file with the spies' plan, now and whenever the file changes.

        Raises:
            UsageError: the file cannot be read, or asks for something impossible.
        """
        self.spy(file.read())
        self._spy_file = file

    def _look_at_spy_file(self) -> None:
        """Apply the spies' file between two readings if it has changed."""
        if self._spy_file is None:
            return
        try:
            if (plan := self._spy_file.changed()) is not None:
                self.spy(plan)
                self.spy_note = ""
        except UsageError as error:
            self.spy_note = str(error)

    def start(self, on_frame: Callable[[Frame], None], *, intervals: int | None = None, first: float | None = None,
              on_end: Callable[[], None] | None = None, hold: float = 0.0, on_loop: bool = False) -> None:
        """Sample on a new thread; on a session that already samples, take its frames over.

        Args:
            on_frame: called on that thread with every frame; the first has no deltas.
            intervals: stop after this many.
            first: length of the first interval in seconds; None for a full one.
            on_end: called on that thread when sampling has ended for any reason.
            hold: seconds for which frames may be held back; at shorter intervals sampling then costs half.
            on_loop: use an asyncio loop on that thread; for programs that load asyncio anyway, as Textual does.
        """
        self._on_end = on_end or _nothing
        with self._handing:
            self._on_frame = on_frame
            if self.latest is not None:
                on_frame(self.latest)
        if self._thread is not None:
            if not self._thread.is_alive():
                self._on_end()
            return
        self._prepare(hold)
        self._thread = NamedThread(target=self._run, args=(intervals, first, on_loop), name="sampler", daemon=True)
        self._thread.start()

    def run(self, on_frame: Callable[[Frame], None], intervals: int | None = None) -> None:
        """Sample a session that is not started on this thread, until `stop` or until this many intervals are over.

        To hand each frame to another thread costs more than half of what reading two CPUs does. A function that takes
        its time, because nobody takes what it prints, delays the next reading.

        Raises:
            TurbotuiError: the error that ended the sampling; whatever `on_frame` raises does as well.
        """
        self._on_frame = on_frame
        self._prepare()
        run_alone(self._sampler.run(intervals))

    def _prepare(self, hold: float = 0.0) -> None:
        """Prepare this process and the sampler before the first reading."""
        if self._gives_up:
            from turbotui.machine.identity import forbid_new_privileges  # noqa: PLC0415 - few ask for it

            forbid_new_privileges()  # before any other thread exists, because threads inherit the setting
        self._sampler.hold = hold
        self._sampler.moves = (self.waits and not hold) or len(self.machine.topology.cpus) > _OWN_WORKERS
        sys.setswitchinterval(_SWITCH_SECONDS)
        spare_memory(len(self.machine.topology.cpus))
        self._sampler.bus.attach(_Callback(self._publish))

    def give_up_privileges(self) -> None:
        """Drop root for good once every counter is open; call before `start`."""
        from turbotui.machine.held_modules import hold_module_folders  # noqa: PLC0415 - few ask for it
        from turbotui.machine.identity import after_root, give_up_privileges  # noqa: PLC0415 - as above

        def give_up() -> None:
            if os.geteuid() == 0:
                hold_module_folders(*after_root(os.environ))
            give_up_privileges(os.environ)
            self.machine = replace(self.machine, privileges=self.machine.host.privileges())

        self._gives_up = True
        self._sampler.give_up(give_up)

    def bind(self, cpu: int) -> None:
        """Run everything except the CPUs' workers on this CPU; call before `start`.

        Raises:
            UsageError: this process may not run there.
        """
        failures: list[HostError] = []

        def attempt() -> None:
            try:
                self._own_host.pin_this_thread([cpu])
            except HostError as error:
                failures.append(error)

        trial = NamedThread(target=attempt, name="trial")
        trial.start()
        trial.join()
        if failures:
            raise UsageError(f"this program cannot be bound to CPU {cpu}: {failures[0]}")
        self._bound = cpu

    def end_interval(self) -> None:
        """End the interval now, whatever the deadline."""
        self._sampler.end_interval()

    def set_interval(self, seconds: float) -> None:
        """Change the nominal interval, and end the current one."""
        self._sampler.set_interval(max(SHORTEST_INTERVAL, seconds))
        self._want()

    @property
    def collector(self) -> None:
        """None, because this process reads the machine."""

    def set_tcc(self, degrees: int | None) -> None:
        """Count thermal readouts (°C) down from this temperature from now on; None for the machine's own value."""
        self.machine = replace(self.machine, tcc=degrees)
        self._sampler.set_tcc(degrees)
        self._sampler.end_interval()

    def stop(self, wait_seconds: float = 5.0) -> None:
        """End the interval, publish it, close every counter."""
        self._sampler.stop()
        thread = self._thread
        if thread is not None and thread.ident is not None and thread is not threading.current_thread():
            thread.join(wait_seconds)  # a signal without a number: it came before the session was started

    def own_cost(self) -> OwnCost:
        """CPU time and memory of this process over the last interval."""
        return self._meter.cost

    def _run(self, intervals: int | None, first: float | None, on_loop: bool) -> None:
        try:
            if self._bound is not None:
                self._own_host.pin_this_thread([self._bound])
            (run_on_loop if on_loop else run_alone)(self._sampler.run(intervals, first))
        except BaseException as error:  # noqa: BLE001 - raised in the waiting thread: a thread's own traceback would be lost
            self.failure = error
        finally:
            self._on_end()

    def _publish(self, frame: Frame) -> None:
        effort = self._spies.effort()
        self._meter.note(frame, effort.reads, effort.opened)
        with self._handing:
            self.latest = frame
            self._on_frame(frame)
        if not frame.newer.behind:  # later frames were read by this plan, and their receiver has to find it
            self._look_at_spy_file()

    # Columns that are added on request, and those of spies

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
        from turbotui.events.plain_formulas import as_formula  # noqa: PLC0415 - most runs add nothing

        text = as_formula(usual_prefix(text))
        with self._changing:
            columns = self._add(text)
        for column in columns:
            if "added" in column.groups:
                known = self._typed.get(column.id, ())
                self._typed[column.id] = (*(typed for typed in known if typed != text), text)
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
                known = next((events for events in self.events
                              if events.request.text == request.text and events.columns), None)
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
            self._sampler.add(source)
        return tuple(columns)

    def _add_set(self, name: str) -> tuple[CounterColumn, ...]:
        from turbotui.sampling.adding import named_set, open_set  # noqa: PLC0415 - as above

        wanted = named_set(self.find_sets(), name)
        known = [events for events in self.events if events.request.text.startswith(f"{SET}{name}/")]
        if not known:
            chosen, self.capabilities = open_set(self.machine, self.capabilities, wanted, self.catalog.by_id)
            known = [column.added for column in chosen if column.added is not None]
            self._keep(self.added, (*self.events, *known))
            for added_events in known:
                self._sampler.add(added_events.source)
        shown = {column.id for events in known for column in events.columns}
        return tuple(self.catalog.by_id[column.name] for column in wanted.columns
                     if column.name in shown or not column.alternatives)

    def _add_metrics(self, text: str) -> tuple[CounterColumn, ...]:
        from turbotui.sampling.adding_metrics import (  # noqa: PLC0415 - as above
            constants_of,
            metric_requests,
            open_metrics,
            share_counters,
        )


        known = [column for events in self.events if events.request.raw for column in events.columns]
        titles = {column.id for column in known}
        others = self.catalog.by_id.keys() - titles
        tables, constants = self.find_tables(), constants_of(self.machine)
        every = metric_requests(self.machine, tables, text, taken=others, constants=constants)
        wanted = {column.name for request in every for column in request.request.columns}
        planned = metric_requests(self.machine, tables, text, taken=others, without=titles, constants=constants)
        events, planned = share_counters(self.events, planned)
        shared = [column for before, now in zip(self.events, events, strict=True)
                  for column in now.columns[len(before.columns) :]]
        added, self.capabilities = open_metrics(self.machine, self.capabilities, planned, others, events)
        self._keep(self.added, (*events, *added))
        for added_events in added:
            self._sampler.add(added_events.source)
        if shared:
            self._sampler.describe_again()
        there = [column for column in known if column.id in wanted]
        return (*there, *shared, *(column for events in added for column in events.columns))

    def _open_tables(self) -> VendorTables:
        from turbotui.events.event_tables.opening import open_vendor_tables  # noqa: PLC0415 - as above

        return open_vendor_tables(self.machine.host)

    def _add_counter(self, counter: AddedCounter) -> CounterColumn:
        previous = next((known_counter for known_counter in self.added if known_counter.name == counter.name), None)
        if previous is not None:
            counter = previous if previous == counter else join_instances(previous, counter)
        known = (*self.added, counter) if previous is None else self.added
        self._keep(tuple(counter if known_counter is previous else known_counter for known_counter in known),
                   self.events)
        if counter is not previous:
            from turbotui.sources.added import added_source  # noqa: PLC0415 - as above

            source = added_source(counter)
            self.capabilities = self.capabilities.plus(self.machine, source)
            self._sampler.add(source)
        return self.catalog.by_id[counter.name]

    def remove(self, name: ColumnId) -> None:
        """Remove an added column; any other name changes nothing."""
        self._typed.pop(name, None)
        with self._changing:
            events = (events_left.without(name) for events_left in self.events)
            added = tuple(counter for counter in self.added if counter.name != name)
            self._keep(added, tuple(events_of for events_of in events if events_of.columns))

    @property
    def spies(self) -> SpyPlan:
        """The plan of what spies count, in force from the next interval on."""
        return self._spies.plan

    @property
    def spy_notes(self) -> tuple[str, ...]:
        """Sentences about parts of the spies' plan that this machine cannot count."""
        arrangement = self._spies.arrangement
        return (*arrangement.notes, *(why.sentence() for why in arrangement.refused.values()))

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
            self._sampler.add(self._spies)
        self._want()

    def by_hand(self) -> tuple[tuple[ColumnId, str], ...]:
        """Added columns that were not removed: the name, and what each counts in the grammar of --add."""
        counters = tuple((counter.name, str(counter.place)) for counter in self.added)
        return counters + tuple(pair for events in self.events for pair in events.shown())

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
        columns = with_events(columns, [column for events_of in events for column in events_of.columns])
        return with_spies(columns, plan, frozenset(capabilities.signals))


class _Callback:
    """A mailbox that calls a function with each item."""

    def __init__(self, call: Callable[[Frame], None]) -> None:
        self.put = call


def _nothing(*_frame: object) -> None:
    """Do nothing at the end of a session without a listener."""


def _shipped_sets() -> Mapping[str, EventSet]:
    from turbotui.events.set_files import shipped_sets  # noqa: PLC0415 - as above

    return shipped_sets()
