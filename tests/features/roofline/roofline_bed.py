"""A simulated machine sampled through the real layers, with the columns of the roofline, its clock moved by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from knownmachines import known_machine
from patience import ENDED_BY_THE_TEST
from smallmachines import small_host

from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.quantities.scope import RowId
from turbotui.quantities.signals import SignalId
from turbotui.sampling.capabilities import Capabilities, probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.selection import signals_of
from turbotui.simulated import ManualClock, SimulatedHost, simulated_host
from turbotui.sources import SOURCES
from turbotui.sources.source import Source


class Bed:
    """One machine; `frames` gives intervals of exactly known length.

    It has few cores of each kind, unless all of a `whole` machine are wanted.
    """

    def __init__(self, name: str, *, warm_up: float = 20.0, host: SimulatedHost | None = None,
                 clock: ManualClock | None = None, whole: bool = False) -> None:
        self.clock = clock or ManualClock(0)
        self.host = host or (simulated_host if whole else small_host)(name, self.clock, seed=7)
        self.clock.advance(warm_up)
        self.machine: Machine = known_machine(self.host)
        self.capabilities: Capabilities = probe_sources(self.machine, SOURCES)
        self.catalog: Catalog = catalog_for(self.capabilities.signals)
        self.also: tuple[Sequence[Source], frozenset[SignalId]] = ((), frozenset())
        self.columns = tuple(column for column in self.catalog.columns if "roofline" in column.groups)

    def frames(self, seconds: float, count: int, between: Callable[[int], None] | None = None) -> list[Frame]:
        sources, beside = self.also
        sampler = Sampler(self.machine, self.capabilities, signals_of(self.columns, self.capabilities),
                          ENDED_BY_THE_TEST)
        sampler.beside(sources)
        sampler.want(signals_of(self.columns, self.capabilities) | beside)
        frames: list[Frame] = []

        class Box:
            @staticmethod
            def put(frame: Frame) -> None:
                frames.append(frame)
                if len(frames) > count:
                    return
                if between is not None:
                    between(len(frames) - 1)
                self.clock.advance(seconds)
                sampler.end_interval()

        sampler.bus.attach(Box())
        # on a thread of its own: a test of screens has a loop that runs already
        with ThreadPoolExecutor(1) as pool:
            pool.submit(lambda: asyncio.run(sampler.run(count))).result()
        if between is not None:
            between(count)
        return frames[1:]

    def cell(self, frame: Frame, name: str, row: RowId) -> float | None:
        column = self.catalog.get(name)
        assert column is not None, name
        value = frame.cell(column, row)
        assert not isinstance(value, str)
        return value
