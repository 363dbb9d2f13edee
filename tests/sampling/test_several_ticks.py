"""Workers may read several ticks by their own clocks, with the same results."""

from __future__ import annotations

import threading

import pytest
from moved_clock import frames_of
from scripted import FakeHost, FakeSource, column, counter, machine_of, place

from turbotui.quantities.scope import SYSTEM_ROW, cpu_row
from turbotui.quantities.signals import Raw, SignalId
from turbotui.quantities.unavailable import Reason
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.sources.source import CpuGone

SHORT = 0.05
X, Y = column("x", ("x",)), column("y", ("y",))


class Counting(FakeSource):
    """Every reading of a CPU finds each of its counters one higher, and moves the clock on."""

    def __init__(self, host: FakeHost, *names: SignalId) -> None:
        super().__init__([counter(name) for name in names or ("x",)], self.value)
        self.host = host
        self.lock = threading.Lock()

    def value(self, cpu: int, _name: SignalId) -> Raw:
        with self.lock:
            self.host.now += 1_000  # a read of a microsecond
            return self.reads.count(cpu)


def sampler_of(host: FakeHost, source: FakeSource, hold: float = 0.5, wanted: frozenset[SignalId] = frozenset("x"),
               interval: float = SHORT) -> Sampler:
    machine = machine_of(host)
    sampler = Sampler(machine, probe_sources(machine, [source]), wanted, interval, clock=host.clock)
    sampler.hold = hold
    return sampler


@pytest.mark.parametrize("intervals", [1, 3, 7])
def test_every_tick_is_read_once_and_has_its_frame(intervals: int) -> None:
    host = FakeHost()
    source = Counting(host)
    ahead: list[int] = []
    frames = frames_of(sampler_of(host, source, hold=0.15), intervals,
                       lambda frame: ahead.append(source.reads.count(0) - 1 - frame.seq))
    assert [frame.seq for frame in frames] == list(range(intervals + 1))
    assert [source.reads.count(cpu) for cpu in range(4)] == [intervals + 1] * 4
    for frame in frames[1:]:
        assert [frame.cell(X, cpu_row(cpu)) for cpu in range(4)] == [1.0] * 4
        assert not frame.newer.late
    assert max(ahead) == min(intervals, 3) - 1, "three ticks of 50 ms are read before the first of them is shown"


def test_each_frame_tells_how_many_were_read_together_with_it_and_follow() -> None:
    host = FakeHost()
    source = Counting(host)
    sampler = sampler_of(host, source, hold=0.15)

    def cut() -> None:
        if source.reads.count(0) == 6:
            sampler.end_interval()

    source.on_read = cut
    frames = frames_of(sampler, 8)
    behind = [frame.newer.behind for frame in frames]
    assert behind[:4] == [0, 2, 1, 0], "the first tick is alone, then three ticks of 50 ms are held back"
    for number, left in enumerate(behind[:-1]):
        assert not left or behind[number + 1] == left - 1, "those that were cut off are not promised"
    assert behind[-1] == 0


def test_without_leave_to_hold_frames_back_each_is_shown_when_it_is_read() -> None:
    host = FakeHost()
    source = Counting(host)
    ahead: list[int] = []
    frames_of(sampler_of(host, source, hold=0.0), 4,
              lambda frame: ahead.append(source.reads.count(0) - 1 - frame.seq))
    assert set(ahead) == {0}


def test_many_cpus_are_asked_tick_by_tick() -> None:
    host = FakeHost([place(cpu) for cpu in range(20)])
    source = Counting(host)
    ahead: list[int] = []
    frames_of(sampler_of(host, source), 3, lambda frame: ahead.append(source.reads.count(0) - 1 - frame.seq))
    assert set(ahead) == {0}


def test_what_is_wanted_from_now_on_is_read_from_now_on() -> None:
    host = FakeHost()
    source = Counting(host, "x", "y")
    sampler = sampler_of(host, source, hold=30.0)
    done = threading.Event()

    def change() -> None:
        if source.reads.count(0) == 4 and not done.is_set():
            done.set()
            sampler.want(frozenset("xy"))

    source.on_read = change
    frames = frames_of(sampler, 8)
    assert [frame.seq for frame in frames] == list(range(9))
    known = [frame.seq for frame in frames if frame.cell(Y, cpu_row(0)) is not None]
    assert known, "y was asked for in the middle of 8 ticks that were to be read as one"
    assert known == list(range(4, 9)), "the tick in which y was asked for opens it"
    assert all(frame.cell(X, SYSTEM_ROW) is not None for frame in frames[1:]), "x goes on"
    gains = sum(frame.inputs(cpu_row(0)).delta("x") or 0 for frame in frames[1:])
    first, last = frames[0].newer.values["x"][0], frames[-1].newer.values["x"][0]
    assert isinstance(first, int)
    assert isinstance(last, int)
    assert gains == last - first, "nothing is lost where the ticks were cut"


def test_an_interval_that_is_ended_ends_at_once() -> None:
    host = FakeHost()
    source = Counting(host)
    began = host.clock.now()
    sampler = sampler_of(host, source, hold=600.0, interval=20.0)

    def act(frame: Frame) -> None:
        if frame.seq == 0:
            host.clock.call_later(0.01, sampler.end_interval)

    frames = frames_of(sampler, 1, act)
    assert [frame.seq for frame in frames] == [0, 1]
    assert frames[1].cell(X, cpu_row(3)) == 1.0
    assert host.clock.now() == began + 0.01


def test_to_stop_ends_what_is_under_way() -> None:
    host = FakeHost()
    source = Counting(host)
    sampler = sampler_of(host, source, hold=600.0)

    def stop_at_the_third() -> None:
        if source.reads.count(1) == 3:
            sampler.stop()

    source.on_read = stop_at_the_third
    frames = frames_of(sampler, None)
    assert [frame.seq for frame in frames] == list(range(len(frames)))
    assert len(frames) == 3
    assert all(frame.cell(X, SYSTEM_ROW) is not None for frame in frames[1:])


def test_a_worker_that_hangs_is_late_in_every_tick_it_misses() -> None:
    host = FakeHost()
    source = Counting(host)
    sampler = sampler_of(host, source, hold=0.15)
    gate = host.clock.gate()

    def act(frame: Frame) -> None:
        if frame.seq == 0:
            source.gates[2] = gate
        if frame.seq == 3:
            source.gates.pop(2, None)
            gate.set()

    frames = frames_of(sampler, 12, act)
    for frame in frames[1:4]:
        assert frame.newer.late == {2}
        why = frame.why(X, cpu_row(2))
        assert why is not None
        assert why.reason is Reason.LATE
        assert frame.cell(X, cpu_row(1)) == 1.0
    assert frames[-1].cell(X, cpu_row(2)) is not None, "it is asked again once it has answered"


def test_who_waits_gets_no_frame_of_a_tick_that_a_worker_missed() -> None:
    host = FakeHost()
    source = Counting(host)
    sampler = sampler_of(host, source, hold=0.15)
    sampler.waits = True
    gate = host.clock.gate()

    def act(frame: Frame) -> None:
        if frame.seq == 0:
            source.gates[2] = gate

    def open_at_the_third_tick() -> None:
        if max(source.reads.count(cpu) for cpu in (0, 1, 3)) == 4:
            source.gates.pop(2, None)
            gate.set()

    source.on_read = open_at_the_third_tick
    frames = frames_of(sampler, 4, act)
    assert len(frames) == 5
    assert not any(frame.newer.late for frame in frames)
    assert frames[-1].newer.overruns == 1
    assert [frame.seq for frame in frames] == list(range(5))


def test_a_cpu_that_goes_is_gone_in_every_tick_from_then_on() -> None:
    host = FakeHost()

    class Leaving(Counting):
        def value(self, cpu: int, name: SignalId) -> Raw:
            if cpu == 3 and self.reads.count(3) > 3:
                raise CpuGone("cpu 3")
            return super().value(cpu, name)

    frames = frames_of(sampler_of(host, Leaving(host), hold=0.4), 8)
    assert [bool(frame.newer.failed) for frame in frames] == [False] * 3 + [True] * 6
    assert frames[-1].cell(X, cpu_row(0)) == 1.0
