"""A session with spies on a simulated machine, its clock moved by hand between the samples."""

from __future__ import annotations

import threading
from collections.abc import Callable

from knownmachines import known_machine
from patience import PATIENCE
from smallmachines import small_host

from turbotui.quantities.spies import SpyPlan
from turbotui.sampling.frame import Frame
from turbotui.sampling.session import Session
from turbotui.simulated import ManualClock, SimulatedHost
from turbotui.sources import SOURCES


class SpiedMachine:
    """A warm simulated machine, with a session whose intervals the test ends."""

    def __init__(self, shape: str, plan: SpyPlan, cpus: frozenset[int] | None = None) -> None:
        self.clock = ManualClock(0)
        self.host: SimulatedHost = small_host(shape, self.clock, seed=7)
        self.clock.advance(20.0)
        self.machine = known_machine(self.host, cpus)
        self.session = Session(self.machine, SOURCES, 60.0, self.host, cpus)
        self.session.want(["CPU"])
        self.session.spy(plan)

    def frames(self, seconds: float, count: int, between: Callable[[int], None] | None = None) -> list[Frame]:
        """`count` frames of that many simulated seconds; `between` runs after each reading, before time passes."""
        frames: list[Frame] = []
        ended = threading.Event()

        def take(frame: Frame) -> None:
            frames.append(frame)
            if len(frames) > count:
                return
            if between is not None:
                between(len(frames))
            self.clock.advance(seconds)
            self.session.end_interval()

        self.session.start(take, intervals=count, on_end=ended.set)
        assert ended.wait(PATIENCE)
        if self.session.failure is not None:
            raise self.session.failure
        return frames[1:]
