"""Whoever prints waits for late CPUs, up to a bound; only a screen goes on without them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection

import pytest
from moved_clock import frames_of
from patience import PATIENCE
from scripted import FakeHost, FakeSource, column, counter, machine_of

from turbotui.quantities.scope import SYSTEM_ROW, cpu_row
from turbotui.quantities.signals import SignalId
from turbotui.quantities.unavailable import Reason
from turbotui.remote.requests import SCREEN, WantedSignals
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.plan import make_plan
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.worker_pool import NO_HURRY, WorkerPool

SLOW = 3
"""The CPU whose worker answers when the test opens its gate."""
X = column("x", ("x",))
RATIO = column("ratio", ("busy", "all"))


class SlowCpu(FakeHost):
    """Four CPUs that count CPU + 1 in each second; while a gate is closed, the worker of the last does not run.

    Workers read in turn, so that the others have answered when it is reached.

    Args:
        opens: seconds of the clocks after which the gate opens; None: the test opens it.
    """

    def __init__(self, opens: float | None = None) -> None:
        super().__init__()
        self.source = FakeSource((counter("x"), counter("busy"), counter("all")), self._value)
        self._opens = opens
        self._gate: threading.Event | None = None

    def _value(self, cpu: int, name: SignalId) -> int:
        return {"x": cpu + 1, "busy": 1 + 9 * (cpu == SLOW), "all": 10}[name] * self.now

    def now_ns(self) -> int:
        gate = self._gate
        if gate is not None and threading.current_thread().name == f"cpu{SLOW}":
            assert gate.wait(PATIENCE), "the test never opened the gate"
        return self.now

    def sampler(self, *, waits: bool) -> Sampler:
        machine = machine_of(self)
        sampler = Sampler(machine, probe_sources(machine, (self.source,)), frozenset({"x", "busy", "all"}), 1.0,
                          clock=self.clock)
        sampler.waits = waits
        return sampler

    def close_gate(self) -> None:
        self._gate = self.clock.gate()
        if self._opens is not None:
            self.clock.call_later(self._opens, self._open_late)

    def open_gate(self) -> None:
        gate, self._gate = self._gate, None
        if gate is not None:
            gate.set()

    def _open_late(self) -> None:
        self.now += round((self._opens or 0.0) * 1e9)
        self.open_gate()


def sampled(cpus: SlowCpu, sampler: Sampler, act: Callable[[Frame], None], intervals: int = 1) -> list[Frame]:
    """The frames of a sampler whose intervals end when the frame before them is there."""
    def next_interval(frame: Frame) -> None:
        cpus.now += 1_000_000_000
        act(frame)
        sampler.end_interval()

    return frames_of(sampler, intervals, next_interval)


def closing(cpus: SlowCpu) -> Callable[[Frame], None]:
    """Close the gate behind the first frame."""
    return lambda frame: cpus.close_gate() if frame.seq == 0 else None


def test_printed_numbers_wait_and_every_rate_has_its_own_window() -> None:
    cpus = SlowCpu(opens=4.0)
    _first, frame = sampled(cpus, cpus.sampler(waits=True), closing(cpus))
    assert not frame.newer.late
    assert frame.spans("x") == [1.0, 1.0, 1.0, 5.0]
    assert frame.rates("x") == [1e9, 2e9, 3e9, 4e9]
    assert frame.inputs(SYSTEM_ROW).rate("x") == 10e9
    assert not frame.partial(X, SYSTEM_ROW)


def test_a_screen_goes_on_without_the_busiest_cpu() -> None:
    cpus = SlowCpu()
    _first, frame = sampled(cpus, cpus.sampler(waits=False), closing(cpus))
    cpus.open_gate()
    assert frame.newer.late == {SLOW}
    assert frame.cell(RATIO, SYSTEM_ROW) == 10.0  # of the others; 32.5 of all
    assert frame.partial(RATIO, SYSTEM_ROW)
    assert frame.bare_cells(RATIO, (SYSTEM_ROW,)) == [None]


def test_waiting_has_a_bound_and_a_worker_waited_for_in_vain_is_asked_again_once_it_has_answered() -> None:
    cpus = SlowCpu()

    def act(frame: Frame) -> None:
        if frame.seq == 0:
            cpus.close_gate()
        if frame.seq == 1:  # a reading that waited for the worker again would see it
            cpus.clock.call_later(3.0, cpus.open_gate)
        if frame.seq == 2:
            cpus.open_gate()

    frames = sampled(cpus, cpus.sampler(waits=True), act, 40)
    assert [frame.newer.late for frame in frames[1:3]] == [{SLOW}, {SLOW}]
    why = frames[1].why(X, cpu_row(SLOW))
    assert why is not None
    assert why.reason is Reason.LATE
    lacking = frames[1].lacking(X, SYSTEM_ROW)
    assert lacking is not None
    assert lacking.reason is Reason.LATE
    assert not frames[-1].newer.late
    assert sum(frame.deltas("x")[SLOW] or 0 for frame in frames[1:]) == 4 * (frames[-1].newer.started_ns - 10**9)


async def _after_a_wrap_check() -> tuple[frozenset[int], int]:
    """The late CPUs of a reading that begins while a wrap check still reads, and the number of answers."""
    host = FakeHost()
    source = FakeSource((counter("x", width_bits=32, wrap_seconds=60.0),), lambda _cpu, _name: 1)
    machine = machine_of(host)
    capabilities = probe_sources(machine, (source,))
    pool = WorkerPool(lambda: False, lambda: NO_HURRY)
    pool.follow(machine, make_plan(machine, capabilities, frozenset({"x"})), capabilities.signals)
    loop = asyncio.get_running_loop()
    try:
        await pool.ask(loop.time, 30.0)
        gate = source.gates[SLOW] = threading.Event()
        _answers, late = await pool.ask(loop.time, 0.0, wrap_check=True)
        assert SLOW in late
        source.gates.clear()
        loop.call_soon(gate.set)
        answers, late = await pool.ask(loop.time, 30.0, waits=True)
        return late, len(answers)
    finally:
        pool.end()


def test_a_worker_that_still_reads_for_a_check_is_asked_when_it_is_free() -> None:
    assert asyncio.run(_after_a_wrap_check()) == (frozenset(), 4)


@pytest.mark.parametrize(("requests", "waits"), [
    ((), True), (({"x"},), True), (({"x", SCREEN},), False), (({SCREEN}, {"x", SCREEN}), False),
    (({SCREEN}, {"x"}), True),
])
def test_a_collector_waits_unless_all_its_readers_are_screens(requests: tuple[Collection[str], ...],
                                                              waits: bool) -> None:
    session = SessionOfRequests()
    WantedSignals(session, ()).take(requests)  # type: ignore[arg-type]  # what is used of a session
    assert session.waits is waits
    assert SCREEN not in session.wanted


class SessionOfRequests:
    """What requests need of a session."""

    def __init__(self) -> None:
        host = FakeHost()
        self.capabilities = probe_sources(machine_of(host), (FakeSource((counter("x"),), lambda _cpu, _name: 1),))
        self.waits = True
        self.wanted: frozenset[SignalId] = frozenset()

    def want(self, _columns: Collection[str], signals: frozenset[SignalId]) -> None:
        self.wanted = signals
