"""A simulated machine under a clock moved by hand, watched through the real layers, with columns added to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from knownmachines import known_machine
from model_truth import CpuTruth, PackageTruth, truth_of
from patience import PATIENCE
from smallmachines import small_host

from turbotui.machine.host import Host
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.frame import Frame
from turbotui.sampling.selection import why_absent
from turbotui.sampling.session import Session
from turbotui.simulated import ManualClock, SimulatedHost
from turbotui.sources import SOURCES

SECOND = 1_000_000_000


@dataclass(frozen=True)
class Moment:
    """The model's true values at one moment."""

    cpus: tuple[CpuTruth, ...]
    packages: tuple[PackageTruth, ...]


class Adding:
    """A machine of few cores, or the one that `make` returns, its session, and the columns under test."""

    def __init__(self, name: str, cpus: frozenset[int] | None = None,
                 around: Callable[[SimulatedHost], Host] = lambda host: host,
                 make: Callable[[ManualClock], SimulatedHost] | None = None) -> None:
        self.clock = ManualClock(SECOND)
        self.host: SimulatedHost = make(self.clock) if make else small_host(name, self.clock, seed=3)
        self.clock.advance(3.0)
        seen = around(self.host)
        machine = replace(known_machine(self.host, cpus), host=seen)
        self.session = Session(machine, SOURCES, 3600.0, self.host, cpus)
        self.columns: list[CounterColumn] = []
        self._arrived = threading.Semaphore(0)
        self._frames: list[Frame] = []

    def add(self, text: str) -> tuple[CounterColumn, ...]:
        columns = self.session.add_all(text)
        self.columns += columns
        return columns

    def why(self, column: CounterColumn) -> Unavailable | None:
        return why_absent(column, self.session.capabilities, self.session.machine.topology)

    def moment(self) -> Moment:
        topology = self.session.machine.topology
        packages = len({place.package for place in topology.places.values()})
        return Moment(
            tuple(truth_of(self.host).truth(cpu) for cpu in range(len(topology.present))),
            tuple(truth_of(self.host).package_truth(package) for package in range(packages)),
        )

    def start(self) -> None:
        self.session.want([column.id for column in self.columns])
        self.session.start(self._take)
        self._next()

    def interval(self, seconds: float = 1.0) -> tuple[Frame, Moment, Moment]:
        """Run one interval, and return its frame with the true values at its start and end."""
        before = self.moment()
        self.clock.advance(seconds)
        after = self.moment()
        self.session.end_interval()
        return self._next(), before, after

    def _take(self, frame: Frame) -> None:
        self._frames.append(frame)
        self._arrived.release()

    def _next(self) -> Frame:
        assert self._arrived.acquire(timeout=PATIENCE)
        assert self.session.failure is None
        return self._frames[-1]


@contextmanager
def adding(name: str, cpus: frozenset[int] | None = None,
           around: Callable[[SimulatedHost], Host] = lambda host: host,
           make: Callable[[ManualClock], SimulatedHost] | None = None) -> Iterator[Adding]:
    result = Adding(name, cpus, around, make)
    try:
        yield result
    finally:
        result.session.stop()


def cell(frame: Frame, column: CounterColumn, row: RowId) -> float:
    result = frame.cell(column, row)
    assert isinstance(result, int | float), frame.why(column, row)
    return float(result)


def package(frame: Frame, number: int) -> RowId:
    return frame.rows(Scope.PACKAGE)[number]


__all__ = ["SYSTEM_ROW", "Adding", "adding", "cell", "cpu_row", "package"]
