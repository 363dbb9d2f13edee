"""Frames of simulated machines whose clock a test moves, from the first reading on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from knownmachines import known_machine
from patience import ENDED_BY_THE_TEST
from smallmachines import small_host

from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.signals import SignalId
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.selection import available_columns, signals_of
from turbotui.simulated import ManualClock, SimulatedHost, simulated_host
from turbotui.sources import SOURCES
from turbotui.sources.source import Focused, Source


class Beside(Protocol):
    """What is read beside columns."""

    def sources(self) -> Sequence[Source]:
        """The sources."""

    def signals(self) -> frozenset[SignalId]:
        """Their signals."""


def focused_sources() -> list[Source]:
    """All sources, those of clocks looking at ten moments of each interval."""
    sources = [source.own() if isinstance(source, Focused) else source for source in SOURCES]
    for source in sources:
        if isinstance(source, Focused):
            source.look_often(None)
    return sources


def frames_of_machine(
    shape: str, intervals: int = 3, *, seconds: float = 1.0, columns: Sequence[str] | None = None,
    cpus: frozenset[int] | None = None, small: bool = False,
    between: Callable[[SimulatedHost, int], None] | None = None,
    facts: Callable[[SimulatedHost, frozenset[int] | None], Machine] = known_machine,
    beside: Callable[[Machine], Beside] | None = None, sources: Sequence[Source] = SOURCES,
) -> tuple[Machine, list[Frame]]:
    """A simulated machine, and its frames; the first one has no interval.

    Args:
        shape: which one.
        intervals: how many follow the first reading.
        seconds: of each.
        columns: that are wanted; None: all.
        cpus: that are measured; None: all.
        small: the machine has few cores.
        between: called before each tick but the first with its number.
        facts: reads the machine.
        beside: returns what is read beside the columns.
        sources: that are read.
    """
    clock = ManualClock(0)
    host = (small_host if small else simulated_host)(shape, clock, seed=7)
    clock.advance(20.0)
    machine = facts(host, cpus)
    capabilities = probe_sources(machine, sources)
    catalog = catalog_for(capabilities.signals)
    wanted = available_columns(catalog, capabilities, machine.topology)
    if columns is not None:
        wanted = tuple(catalog.by_id[name] for name in columns)
    sampler = Sampler(machine, capabilities, signals_of(wanted, capabilities), ENDED_BY_THE_TEST)
    if beside is not None:
        also = beside(machine)
        sampler.beside(also.sources())
        sampler.want(signals_of(wanted, capabilities) | also.signals())
    frames: list[Frame] = []

    class Box:
        @staticmethod
        def put(frame: Frame) -> None:
            frames.append(frame)
            if len(frames) <= intervals:
                clock.advance(seconds)
                if between is not None:
                    between(host, len(frames))
                sampler.end_interval()

    sampler.bus.attach(Box())
    asyncio.run(sampler.run(intervals))
    return machine, frames
