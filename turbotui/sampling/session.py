"""A session: one watched machine with its capabilities, catalog and sampler, as verbs and the dashboard hold it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from turbotui.errors import UsageError
from turbotui.machine.allocator import spare_memory
from turbotui.machine.host import Host, HostError
from turbotui.machine.machine import Machine
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.signals import SignalId
from turbotui.quantities.spies import SpyPlan
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.collector import run_alone, run_on_loop
from turbotui.sampling.frame import Frame
from turbotui.sampling.growing_catalog import GrowingCatalog
from turbotui.sampling.limits import SHORTEST_INTERVAL
from turbotui.sampling.own_cost import Meter, OwnCost
from turbotui.sampling.row_workers import RowSource
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.selection import compared_with, signals_of
from turbotui.sampling.spy_file import SpyFile
from turbotui.sources.source import Source

_SWITCH_SECONDS = 0.0005  # longest time that workers wait for a busy screen's thread between two bytecodes


class Session(GrowingCatalog):
    """A watched machine whose catalog grows with added columns and spies.

    Attributes:
        latest: the newest frame, None before the first; its topology is the machine's current one.
        failure: the error that ended the sampler, if any.
        spy_note: the mistake in the spies' file, whose last valid content stays in force; "" for none.
    """

    def __init__(self, machine: Machine, sources: Sequence[Source], interval: float,
                 own_host: Host, cpus: frozenset[int] | None = None) -> None:
        super().__init__(machine, probe_sources(machine, sources))
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
        self._row_sources: dict[object, Mapping[KindId, RowSource]] = {}
        self._sampler = Sampler(machine, self.capabilities, frozenset(), interval, cpus)
        self._sampler.waits = True
        self._thread: threading.Thread | None = None
        self._gives_up = False
        self._on_frame: Callable[[Frame], None] = _nothing
        self._handing = threading.Lock()  # a new owner receives the frames in order
        self._on_end: Callable[[], None] = _nothing
        self._meter = Meter(own_host)

    def _read_from(self, source: Source) -> None:
        self._sampler.add(source)

    def _describe_again(self) -> None:
        self._sampler.describe_again()

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
        found = [self.catalog.get(name) for name in columns]
        self._columns = tuple(column for column in found if column is not None)
        self._signals = frozenset(signals)
        self._want()

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
        self._row_sources.pop(owner, None)
        found = {source.kind.id: source for source in sources}
        if found:
            self._row_sources[owner] = found
        self._sampler.read_rows({source.kind.id: source for kinds in self._row_sources.values()
                                 for source in kinds.values()})

    def _want(self) -> None:
        wanted = signals_of((*self._columns, *self.spied), self.capabilities, self._signals | self._also) | self._also
        wanted |= compared_with(wanted, self.capabilities, self._sampler.interval)
        # A counter that wraps is read on once it was shown, even while its column is hidden: when the column returns,
        # its number is there at once and no wrap was lost. It costs a register or two a package.
        signals = self.capabilities.signals
        self._wrapping |= {name for name in wanted if name in signals and signals[name].wrap_seconds}
        self._sampler.want(wanted | {name for name in self._wrapping if name in signals})

    def spy(self, plan: SpyPlan) -> None:
        """Change what spies count from the next interval on; events that remain in the plan lose nothing.

        Raises:
            UsageError: an event has the name of a column; the old plan stays in force.
        """
        super().spy(plan)
        self._want()

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
            plan = self._spy_file.changed()
            if plan is not None:
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
        if self._gives_up:
            from turbotui.machine.identity import forbid_new_privileges  # noqa: PLC0415 - few ask for it

            forbid_new_privileges()  # before any other thread exists, because threads inherit the setting
        self._sampler.hold = hold
        sys.setswitchinterval(_SWITCH_SECONDS)
        spare_memory(len(self.machine.topology.cpus))
        self._sampler.bus.attach(_Callback(self._publish))
        self._thread = threading.Thread(target=self._run, args=(intervals, first, on_loop), name="sampler", daemon=True)
        self._thread.start()

    def give_up_privileges(self) -> None:
        """Drop root for good once every counter is open; call before `start`."""
        from turbotui.machine.held_modules import hold_module_folders  # noqa: PLC0415 - few ask for it
        from turbotui.machine.identity import after_root, give_up_privileges  # noqa: PLC0415 - as above

        def give_up() -> None:
            if os.geteuid() == 0:
                hold_module_folders(*after_root(os.environ))
            give_up_privileges(os.environ)

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

        trial = threading.Thread(target=attempt, name="trial")
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


class _Callback:
    """A mailbox that calls a function with each item."""

    def __init__(self, call: Callable[[Frame], None]) -> None:
        self.put = call


def _nothing(*_frame: object) -> None:
    """Do nothing at the end of a session without a listener."""
