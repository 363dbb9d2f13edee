"""Reads the uncore of a simulated machine through the real layers, its clock moved by hand between the ticks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from knownmachines import known_machine
from patience import ENDED_BY_THE_TEST
from smallmachines import small_shape

from turbotui.features.uncore.counters import Reading, UncoreCounters
from turbotui.features.uncore.kinds import UncoreUnits
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.simulated import MachineShape, ManualClock, SimulatedHost
from turbotui.simulated.named import named_shape
from turbotui.simulated.strain import Strain

SECONDS = 2.0


class UncoreWatch:
    """A simulated machine of few cores, its counters, and frames of two seconds each.

    What the uncore counts is the model's, and its units are those of the whole machine, but for those beside cores.
    """

    def __init__(self, shape: str | MachineShape, prepare: Callable[[SimulatedHost], None] | None = None, *,
                 whole: bool = False) -> None:
        """Make the machine.

        Args:
            shape: of the machine.
            prepare: changes the machine before it is looked at.
            whole: with all its cores, and the units beside them.
        """
        self.clock = ManualClock()
        known, strain = named_shape(shape) if isinstance(shape, str) else (shape, Strain())
        self.host = SimulatedHost(known if whole else small_shape(known), self.clock, 7)
        self.host.strain_by(strain)
        self.clock.advance(20.0)
        if prepare is not None:
            prepare(self.host)
        self.machine = known_machine(self.host)
        self.counters = UncoreCounters(self.machine)

    def frames(self, count: int = 1, between: Callable[[Sampler, int], None] | None = None, *,
               also_first: bool = False) -> list[Frame]:
        """Return a number of frames, with `also_first` the one without an interval; `between` is called before each
        further tick.
        """
        sampler = Sampler(self.machine, probe_sources(self.machine, ()), frozenset(), ENDED_BY_THE_TEST)
        self.hand_over(sampler)
        frames: list[Frame] = []

        class Box:
            @staticmethod
            def put(frame: Frame) -> None:
                frames.append(frame)
                if len(frames) > count:
                    return
                if between is not None:
                    between(sampler, len(frames))
                self.clock.advance(SECONDS)
                sampler.end_interval()

        sampler.bus.attach(Box())
        asyncio.run(sampler.run(count))
        return frames if also_first else frames[1:]

    def hand_over(self, sampler: Sampler) -> None:
        """Have the sampler read what the counters shows."""
        sampler.beside(self.counters.sources())
        sampler.want(self.counters.signals())

    def units_of(self, kind: str) -> UncoreUnits:
        return next(units for units in self.counters.kinds if units.kind.id == kind)

    def reading(self, frame: Frame, kind: str, row: str, metric: str) -> Reading:
        """One cell by names: "pkg 0 rc 1", "rd latency ns"."""
        units = self.units_of(kind)
        (line,) = [unit_row for unit_row in units.rows if unit_row.label == row]
        (column,) = [item for item in self.counters.shown(units) if item.id == metric]
        return self.counters.reading(frame, units, line, column)
