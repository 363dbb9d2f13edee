"""A simulated machine whose frames were taken beforehand: the real layers below the dashboard, without any thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from knownmachines import known_machine, machine_of_few
from patience import ENDED_BY_THE_TEST
from scripted_machine import FakeSession
from smallmachines import small_host

from turbotui.diagnosis import limits
from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.quantities.catalog.meters import power_columns
from turbotui.quantities.columns import CounterColumn
from turbotui.sampling.capabilities import Capabilities, probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.selection import available_columns, signals_of
from turbotui.simulated import ManualClock, simulated_host
from turbotui.sources import SOURCES


def is_shown(column: CounterColumn) -> bool:
    """Whether a column is on the table of CPUs, on the power screen, or in a sentence about limits."""
    return column.default or column.id in {*limits.COLUMNS, *limits.STAND_INS.values()} or bool(power_columns([column]))


@dataclass(frozen=True)
class Recording:
    """A machine, what it offers, and its frames of one second each, every column read."""

    machine: Machine
    capabilities: Capabilities
    catalog: Catalog
    frames: tuple[Frame, ...]


@cache
def recording(shape: str, warm_up: float, count: int, *, few: bool = False, small: bool = False,
              read: Callable[[CounterColumn], bool] = lambda _column: True) -> Recording:
    """Watch a machine from `warm_up` seconds on. Call it outside any event loop.

    Args:
        shape: of the machine.
        warm_up: seconds before it is watched.
        count: of intervals.
        few: one CPU of each package is measured.
        small: the machine has few cores.
        read: whether a column is read: of many CPUs, all columns are 100,000 numbers a second.
    """
    clock = ManualClock(0)
    host = (small_host if small else simulated_host)(shape, clock, seed=7)
    clock.advance(warm_up)
    machine = machine_of_few(host) if few else known_machine(host)
    capabilities = probe_sources(machine, SOURCES)
    catalog = catalog_for(capabilities.signals)
    columns = tuple(column for column in available_columns(catalog, capabilities, machine.topology) if read(column))
    sampler = Sampler(machine, capabilities, signals_of(columns, capabilities), ENDED_BY_THE_TEST)
    frames: list[Frame] = []

    class Box:
        @staticmethod
        def put(frame: Frame) -> None:
            frames.append(frame)
            if len(frames) <= count:
                clock.advance(1.0)
                sampler.end_interval()

    sampler.bus.attach(Box())
    asyncio.run(sampler.run(count))
    return Recording(machine, capabilities, catalog, tuple(frames))


class ReplayedSession(FakeSession):
    """Hands out the frames of a recording, one a tick."""

    def __init__(self, recorded: Recording) -> None:
        super().__init__()
        self.machine = recorded.machine
        self.topology = recorded.machine.topology
        self.capabilities = recorded.capabilities
        self.catalog = recorded.catalog
        self._frames = iter(recorded.frames)

    def frame(self) -> Frame:
        """The next frame of the recording."""
        self.latest = next(self._frames)
        return self.latest
