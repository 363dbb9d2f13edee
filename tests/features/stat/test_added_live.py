"""Counters added while a simulated machine is watched under a clock moved by hand."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from knownmachines import known_machine
from patience import PATIENCE
from statscripts import SECOND

from turbotui.quantities.added import AddError, parse_added
from turbotui.quantities.scope import SYSTEM_ROW, Scope, cpu_row
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.frame import Frame
from turbotui.sampling.session import Session
from turbotui.simulated import ManualClock, SimulatedHost, simulated_host
from turbotui.sources import SOURCES
from turbotui.sources.added import added_source


class AddedCounters:
    """A simulated machine with a clock that the test advances, watched by a real session."""

    def __init__(self, name: str) -> None:
        self.clock = ManualClock(SECOND)
        self.host: SimulatedHost = simulated_host(name, self.clock)
        self.session = Session(known_machine(self.host), SOURCES, 3600.0, self.host)
        self._arrived = threading.Semaphore(0)
        self._frames: list[Frame] = []

    def start(self) -> Frame:
        self.session.start(self._take)
        return self._next()

    def _take(self, frame: Frame) -> None:
        self._frames.append(frame)
        self._arrived.release()

    def _next(self) -> Frame:
        assert self._arrived.acquire(timeout=PATIENCE)
        assert self.session.failure is None
        return self._frames[-1]

    def interval(self, seconds: float) -> Frame:
        self.clock.advance(seconds)
        self.session.end_interval()
        return self._next()


@contextmanager
def watching(name: str) -> Iterator[AddedCounters]:
    watched = AddedCounters(name)
    try:
        yield watched
    finally:
        watched.session.stop()


def test_a_counter_added_while_watching_shows_from_the_second_interval_on_and_disturbs_no_other() -> None:
    with watching("sapphire-2s") as watched:
        watched.session.want(["Bzy_MHz", "TSC_MHz"])
        watched.start()
        watched.interval(1.0)
        column = watched.session.add("msr0x10,percent,ticks")
        assert watched.session.catalog.get("ticks") is column
        watched.session.want(["Bzy_MHz", "TSC_MHz", "ticks"])
        frame = watched.interval(1.0)
        assert frame.cell(watched.session.catalog.by_id["Bzy_MHz"], SYSTEM_ROW) is not None
        frame = watched.interval(1.0)
        assert frame.cell(column, cpu_row(3)) == pytest.approx(100.0, abs=0.01)
        watched.session.remove("ticks")
        assert watched.session.catalog.get("ticks") is None
        # the same name again for something else gives that, not what was open before
        other = watched.session.add("msr0x19c,raw,ticks")
        watched.session.want(["ticks"])
        frame = watched.interval(1.0)
        assert frame.cell(other, cpu_row(3)) is not None
        assert len(str(frame.cell(other, cpu_row(3)))) == 16


def test_a_core_counter_is_one_per_real_core() -> None:
    """DEFECT upstream: equal core ids of two packages share one counter."""
    with watching("sapphire-2s") as watched:
        column = watched.session.add("msr0x3fd,core,c6")
        watched.session.want(["c6"])
        watched.start()
        frame = watched.interval(1.0)
        topology = watched.session.machine.topology
        assert len(frame.deltas("added.core.c6")) == len(topology.instances(Scope.CORE)) == 112
        for row in frame.rows(Scope.CORE):
            known = frame.cell(column, row)
            assert isinstance(known, int)
            assert 0 <= known <= 2_000_000_001


def test_an_added_energy_event_has_its_scale_and_one_value_a_package() -> None:
    with watching("sapphire-2s") as watched:
        column = watched.session.add("perf/power/energy-pkg,package,joules")
        watched.session.want(["joules", "Pkg_J"])
        watched.start()
        frame = watched.interval(2.0)
        builtin = watched.session.catalog.by_id["Pkg_J"]
        for row in frame.rows(Scope.PACKAGE):
            truth = frame.cell(builtin, row)
            assert isinstance(truth, float)
            assert truth > 100.0
            assert frame.cell(column, row) == pytest.approx(truth, abs=1.0)


def test_names_are_taken_once() -> None:
    with watching("guest") as watched:
        first = watched.session.add("/proc/sys/kernel/pid_max,mine")
        assert watched.session.add("/proc/sys/kernel/pid_max,mine").id == first.id
        assert [counter.name for counter in watched.session.added] == ["mine"]
        with pytest.raises(AddError):
            watched.session.add("msr0x10,mine")
        with pytest.raises(Exception, match="a column IRQ already"):
            watched.session.add("msr0x10,IRQ")
        assert [counter.name for counter in watched.session.added] == ["mine"]


def test_errno_of_a_register_is_reported() -> None:
    with watching("sapphire-2s") as watched:
        watched.host.fail(("msr", 0, 0x10), errno.EIO)
        counter = parse_added("msr0x10")
        result = added_source(counter).probe(watched.session.machine).signals[counter.signal]
        assert isinstance(result, Unavailable)
