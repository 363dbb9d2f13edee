"""A machine that is suspended while it is watched: hardware may count on, programs do not."""

from __future__ import annotations

import asyncio
import time

import pytest
from patience import ENDED_BY_THE_TEST

from turbotui.machine.machine import read_machine
from turbotui.machine.suspend_clock import suspended_ns
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.quantities.unavailable import Reason
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.selection import signals_of
from turbotui.simulated import SHAPES, ManualClock, SimulatedHost
from turbotui.sources import SOURCES

NS = 10**9
ENERGY = 0x611  # MSR_PKG_ENERGY_STATUS (Intel SDM vol. 4)


class Sleeper(SimulatedHost):
    """A machine that can be suspended to idle; with `resets` its energy registers begin anew when it wakes (S3)."""

    def __init__(self, *, resets: bool = False) -> None:
        self.clock = ManualClock(5 * NS)
        super().__init__(SHAPES["laptop-old"], self.clock, 3)
        self.resets = resets
        self.sleeps_when_read = 0.0
        self.slept = 0
        self.reset_at: int | None = None

    def now_ns(self) -> int:
        return self.clock.now_ns() - self.slept

    def suspended_ns(self) -> int:
        return 7 * NS + self.slept

    def sleep(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.slept += round(seconds * NS)

    def _read_register(self, cpu: int, size: int, address: int) -> bytes:
        data = super()._read_register(cpu, size, address)
        if address != ENERGY:
            return data
        seconds, self.sleeps_when_read = self.sleeps_when_read, 0.0
        self.sleep(seconds)
        word = int.from_bytes(data, "little")
        if self.resets and self.slept and self.reset_at is None:
            self.reset_at = word
        return ((word - (self.reset_at or 0)) % 2**32).to_bytes(8, "little")


def watched(host: Sleeper, intervals: int, *, asleep: float = 0.0, torn: float = 0.0) -> list[Frame]:
    """Return intervals of 2 s; the machine is suspended in the second one, or at its end."""
    for path in ("/sys/bus/event_source/devices/power/type", "/sys/class/powercap"):
        host.fail(path, 2)
    host.clock.advance(20.0)
    machine = read_machine(host)
    capabilities = probe_sources(machine, SOURCES)
    assert capabilities.provider["energy.pkg"].id == "msr"
    catalog = catalog_for(capabilities.signals)
    columns = [catalog.by_id[name] for name in ("PkgWatt", "Pkg_J", "Busy%", "TSC_MHz")]
    sampler = Sampler(machine, capabilities, signals_of(columns, capabilities), ENDED_BY_THE_TEST)
    frames: list[Frame] = []

    class Box:
        @staticmethod
        def put(frame: Frame) -> None:
            frames.append(frame)
            if len(frames) <= intervals:
                host.clock.advance(2.0)
                if len(frames) == 2:
                    host.sleep(asleep)
                    host.sleeps_when_read = torn
                sampler.end_interval()

    sampler.bus.attach(Box())
    asyncio.run(sampler.run(intervals))
    return frames


def test_watts_are_those_of_the_whole_interval() -> None:
    """An hour of sleep in an interval of 2 s would else show an hour's energy as that of 2 s."""
    host = Sleeper()
    *_, awake, last = watched(host, 2, asleep=30.0)
    columns = catalog_for(last.capabilities.signals).by_id
    package = last.rows(Scope.PACKAGE)[0]
    watts, joules = last.cell(columns["PkgWatt"], package), last.cell(columns["Pkg_J"], package)
    assert awake.seconds == pytest.approx(2.0)
    assert last.seconds == pytest.approx(32.0)
    assert isinstance(watts, float)
    assert isinstance(joules, float)
    assert joules == pytest.approx(32.0 * watts)
    assert 0.5 < watts < 3 * SHAPES["laptop-old"].power.tdp
    assert last.cell(columns["TSC_MHz"], SYSTEM_ROW) == pytest.approx(1992.0, rel=1e-3)


def test_an_energy_that_began_again_is_unknown_once() -> None:
    host = Sleeper(resets=True)
    *_, last = watched(host, 2, asleep=30.0)
    column, package = catalog_for(last.capabilities.signals).by_id["PkgWatt"], last.rows(Scope.PACKAGE)[0]
    assert last.cell(column, package) is None
    why = last.why(column, package)
    assert why is not None
    assert why.reason is Reason.OUT_OF_RANGE
    assert "been set" in why.detail


def test_what_was_read_around_a_sleep_has_no_difference() -> None:
    """Neither before nor after it: nothing tells on which side of the sleep a register was read."""
    _, *frames = watched(Sleeper(), 4, torn=60.0)
    column = catalog_for(frames[-1].capabilities.signals).by_id["PkgWatt"]
    assert [frame.cell(column, SYSTEM_ROW) is None for frame in frames] == [False, True, True, False]
    assert [frame.seconds for frame in frames] == pytest.approx([2.0, 62.0, 2.0, 2.0])


def test_this_machine_did_not_sleep_between_two_looks() -> None:
    """Two clocks that are read one after the other differ by less than what is taken for a sleep."""
    assert abs(suspended_ns() - suspended_ns()) < 10_000_000
    boot = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert abs(suspended_ns() / NS - (boot - time.monotonic())) < 1.0
