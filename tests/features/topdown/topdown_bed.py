"""A simulated machine whose top-down analysis is held against what the model's pipelines did."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from knownmachines import known_machine
from model_truth import truth_of
from patience import ENDED_BY_THE_TEST
from smallmachines import small_host

from turbotui.features.topdown.engine import Drill, TopdownCounters
from turbotui.features.topdown.model import TopdownRow
from turbotui.features.topdown.places import RowLevel, places
from turbotui.features.topdown.tables import rows_of
from turbotui.machine.machine import read_machine
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.simulated import ManualClock

SECONDS: Final = 2.0
Slots = Mapping[str, float]


class TopdownBed:
    """One machine, and intervals of two seconds.

    Args:
        name: of the simulated machine.
        level: down to which everything is counted on every CPU.
        offline: a CPU that is.
        cpus: that are measured; None: all.
    """

    def __init__(self, name: str, level: int = 1, *, offline: int | None = None,
                 cpus: frozenset[int] | None = None) -> None:
        self.clock = ManualClock()
        self.host = small_host(name, self.clock, seed=7)
        self.clock.advance(20.0)
        if offline is not None:
            self.host.set_online(offline, False)
        self.machine = known_machine(self.host, cpus) if offline is None else read_machine(self.host, cpus)
        self.counters = TopdownCounters(self.machine)
        self.counters.drill = Drill(self.counters.below(level))

    def interval(self) -> tuple[Frame, Mapping[int, Slots]]:
        """A frame, and what every pipeline did in it, by CPU."""
        sampler = Sampler(self.machine, probe_sources(self.machine, ()), frozenset(), ENDED_BY_THE_TEST)
        sampler.beside(self.counters.sources())
        sampler.want(self.counters.signals())
        frames: list[Frame] = []
        truths: list[Mapping[int, Slots]] = []

        class Box:
            @staticmethod
            def put(frame: Frame) -> None:
                frames.append(frame)
                truths.append({cpu: truth_of(self.host).pipeline_truth(cpu) for cpu in self.machine.topology.cpus})
                if len(frames) == 1:
                    self.clock.advance(SECONDS)
                    sampler.end_interval()

        sampler.bus.attach(Box())
        asyncio.run(sampler.run(1))
        before, after = truths
        return frames[-1], {cpu: {name: after[cpu][name] - before[cpu][name] for name in after[cpu]} for cpu in after}

    def rows(self, frame: Frame, level: RowLevel) -> tuple[TopdownRow, ...]:
        """The rows of one level."""
        return rows_of(self.counters, frame, places(frame.topology, level))


def total(truth: Mapping[int, Slots], cpus: Sequence[int], name: str) -> float:
    """The slots or cycles of some CPUs."""
    return sum(truth[cpu][name] for cpu in cpus)
