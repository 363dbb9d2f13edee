"""A session over a simulated machine that ticks when it is told to: real sampler, real readers, a clock set by hand."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from knownmachines import known_machine, machine_of_few
from patience import ENDED_BY_THE_TEST, PATIENCE
from smallmachines import small_host

from turbotui.events.set_files import EventSet
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.signals import SignalId
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import OwnCost
from turbotui.sampling.row_workers import RowSource, joined_sources
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.selection import signals_of
from turbotui.simulated import ManualClock, SimulatedHost, simulated_host
from turbotui.sources import SOURCES
from turbotui.sources.source import Source


class SimulatedSession:
    """Everything between machine and frames is the program's own; only `tick` makes time pass."""

    def __init__(self, shape: str, seconds: float = 1.0, prepare: Callable[[SimulatedHost], None] | None = None, *,
                 few: bool = False, small: bool = False) -> None:
        """Make a session on a simulated machine, with its first readings.

        Args:
            shape: of the machine.
            seconds: of an interval.
            prepare: changes the machine before it is looked at.
            few: only one CPU of each package is measured, for tests that are about something else.
            small: the machine has few cores.
        """
        self._clock = ManualClock()
        self.host: SimulatedHost = (small_host if small else simulated_host)(shape, self._clock, seed=7)
        self._clock.advance(20.0)
        if prepare is not None:
            prepare(self.host)
        self.machine = machine_of_few(self.host) if few else known_machine(self.host)
        self.capabilities = probe_sources(self.machine, SOURCES)
        self.catalog: Catalog = catalog_for(self.capabilities.signals)
        self.latest: Frame | None = None
        self.find_sets: Callable[[], Mapping[str, EventSet]] = dict
        self.interval = seconds
        self.also: frozenset[SignalId] = frozenset()
        self._columns: frozenset[SignalId] = frozenset()
        self._row_sources: dict[object, tuple[RowSource, ...]] = {}
        self.rowless: dict[KindId, Unavailable] = {}
        self._sampler = Sampler(self.machine, self.capabilities, frozenset(), ENDED_BY_THE_TEST)
        self._frames: queue.SimpleQueue[Frame] = queue.SimpleQueue()
        self._sampler.bus.attach(self._frames)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._sampler.run()), daemon=True)
        self._on_frame: Callable[[Frame], None] | None = None

    def start(self, on_frame: Callable[[Frame], None], *, intervals: int | None = None,
              on_end: Callable[[], None] | None = None) -> None:
        self._on_frame = on_frame
        self._thread.start()
        self._hand_over()

    @property
    def started(self) -> bool:
        """Whether the dashboard has begun to listen."""
        return self._on_frame is not None

    def tick(self, times: int = 1) -> None:
        """Advance the clock by an interval."""
        for _ in range(times):
            self._clock.advance(self.interval)
            self._sampler.end_interval()
            self._hand_over()

    def _hand_over(self) -> None:
        self.latest = self._frames.get(timeout=PATIENCE)
        assert self._on_frame is not None
        self._on_frame(self.latest)

    def present(self, how: Callable[[CounterColumn], CounterColumn]) -> None:
        self.catalog = self.catalog.mapped(how)

    def want(self, columns: Iterable[ColumnId]) -> None:
        counter_columns = [self.catalog.get(name) for name in columns]
        self._columns = signals_of([column for column in counter_columns if column is not None], self.capabilities)
        self._sampler.want(self._columns | self.also)

    def read_also(self, sources: Sequence[Source], signals: frozenset[SignalId]) -> None:
        self.also = signals
        self._sampler.beside(sources)
        self._sampler.want(self._columns | self.also)

    def read_rows(self, owner: object, sources: Iterable[RowSource]) -> None:
        self._row_sources[owner] = tuple(sources)
        self._sampler.read_rows(joined_sources(source for each in self._row_sources.values() for source in each))

    def why_no_rows(self, kind: KindId) -> Unavailable | None:
        return self.rowless.get(kind)

    def add_all(self, text: str) -> tuple[CounterColumn, ...]:
        raise AssertionError(text)

    def typed(self) -> tuple[str, ...]:
        return ()

    def by_hand(self) -> tuple[tuple[ColumnId, str], ...]:
        return ()

    def remove(self, name: ColumnId) -> None:
        raise AssertionError(name)

    def end_interval(self) -> None:
        """Ignored: intervals end when the test says so."""

    def set_interval(self, seconds: float) -> None:
        self.interval = seconds

    @property
    def collector(self) -> None:
        """None, because tests need no other process."""

    def set_tcc(self, degrees: int | None) -> None:
        self.machine = replace(self.machine, tcc=degrees)

    def stop(self) -> None:
        self._sampler.stop()
        if self._thread.is_alive():
            self._thread.join(PATIENCE)

    def own_cost(self) -> OwnCost:
        return OwnCost(0.7, 41_000_000, 0.9, 0, 0)
