"""Samples a simulated machine through the real layers, its clock moved by hand between the ticks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from knownmachines import known_machine
from patience import ENDED_BY_THE_TEST
from smallmachines import small_host

from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.sampling.capabilities import Capabilities, probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.selection import available_columns, signals_of
from turbotui.simulated import ManualClock, SimulatedHost, Strain, simulated_host
from turbotui.sources import SOURCES


class Watched:
    """A simulated machine and everything that can be watched of it, every available column wanted.

    Args:
        shape: which machine.
        warm_up: simulated seconds before it is looked at.
        strain: what its tasks wait for.
        prepare: changes it before anything is read.
        whole: with all its cores, where they matter; else it has few of each kind.
    """

    def __init__(self, shape: str, *, warm_up: float = 20.0, strain: Strain | None = None,
                 prepare: Callable[[SimulatedHost], None] | None = None, whole: bool = False) -> None:
        self.clock = ManualClock(0)
        make = simulated_host if whole else small_host
        self.host: SimulatedHost = make(shape, self.clock, seed=7)
        if prepare is not None:
            prepare(self.host)
        if strain is not None:
            self.host.strain_by(strain)
        self.clock.advance(warm_up)
        self.machine: Machine = known_machine(self.host)
        self.capabilities: Capabilities = probe_sources(self.machine, SOURCES)
        self.catalog: Catalog = catalog_for(self.capabilities.signals)
        self.columns = available_columns(self.catalog, self.capabilities, self.machine.topology)

    def frames(self, seconds: float, count: int, between: Callable[[int], None] | None = None) -> list[Frame]:
        """`count` frames of that many simulated seconds each; `between` is called before each tick but the first."""
        sampler = Sampler(self.machine, self.capabilities, signals_of(self.columns, self.capabilities),
                          ENDED_BY_THE_TEST)
        frames: list[Frame] = []
        opening, enough = True, asyncio.Event()

        class Box:
            @staticmethod
            def put(frame: Frame) -> None:
                nonlocal opening
                # On a busy machine counters of 1,024 CPUs are not open in the time of a first tick, nor always of a
                # second one: further ones, at the same instant, wait for them.
                if opening or (not frames and frame.newer.late):
                    opening = False
                    sampler.end_interval()
                    return
                frames.append(frame)
                if len(frames) > count:
                    enough.set()
                    return
                self.clock.advance(seconds)
                if between is not None:
                    between(len(frames))
                sampler.end_interval()

        async def watch() -> None:
            sampling = asyncio.create_task(sampler.run())
            await enough.wait()
            sampling.cancel()  # and not `stop`, which leaves behind what is not closed within a moment
            with contextlib.suppress(asyncio.CancelledError):
                await sampling

        sampler.bus.attach(Box())
        asyncio.run(watch())
        return frames[1:]
