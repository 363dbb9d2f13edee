"""Workers that move from CPU to CPU: few threads, each reading where it reads, and no CPU that holds up the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import pytest
from moved_clock import frames_of
from patience import PATIENCE
from scripted import FakeHost, FakeSource, column, counter, machine_of, place

from turbotui.quantities.scope import SYSTEM_ROW, cpu_row
from turbotui.quantities.signals import SignalId
from turbotui.sampling.answers import SHARED
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.session import Session
from turbotui.sampling.workers import Worker

X = column("x", ("x",))
SECOND = 1_000_000_000


class Machine(FakeHost):
    """CPUs that count CPU + 1 in each second, and note which thread reads each of them.

    Attributes:
        readers: (thread, CPU to which it is bound, CPU that is read) of each read.
        slow: what binding a thread to one of these CPUs takes, in ns.
    """

    def __init__(self, cpus: int) -> None:
        super().__init__([place(cpu) for cpu in range(cpus)])
        self.limit = 1 << 20
        self.source = FakeSource((counter("x"),), self._value, counts_from_open=True)
        self.other = FakeSource((counter("y"),), lambda _cpu, _name: self.now, id="other")
        self.files = FakeSource((counter("z"),), self._file, id="files", shared=True, counts_from_open=True)
        self.file_readers: set[threading.Thread] = set()
        self.readers: list[tuple[threading.Thread, int, int]] = []
        self.slow: dict[int, int] = {}
        self._bound: dict[threading.Thread, int] = {}

    def pin_this_thread(self, cpus: Sequence[int]) -> None:
        super().pin_this_thread(cpus)
        self._bound[threading.current_thread()] = cpus[0]
        self.now += self.slow.get(cpus[0], 0)

    def _value(self, cpu: int, _name: SignalId) -> int:
        thread = threading.current_thread()
        self.readers.append((thread, self._bound.get(thread, -1), cpu))
        return (cpu + 1) * self.now

    def _file(self, cpu: int, _name: SignalId) -> int:
        self.file_readers.add(threading.current_thread())
        return (cpu + 1) * self.now

    def frames(self, intervals: int, act: Callable[[Frame], None] | None = None, *, moves: bool = True,
               waits: bool = True, wanted: frozenset[SignalId] = frozenset({"x", "y"})) -> list[Frame]:
        machine = machine_of(self)
        sampler = Sampler(machine, probe_sources(machine, (self.source, self.other, self.files)), wanted, 1.0,
                          clock=self.clock)
        sampler.moves, sampler.waits = moves, waits

        def next_interval(frame: Frame) -> None:
            self.now += SECOND
            if act is not None:
                act(frame)
            sampler.end_interval()

        return frames_of(sampler, intervals, next_interval)


def release(gate: threading.Event, machine: Machine) -> None:
    """Let stuck workers go on, until each has answered: these ticks end at once, however long that takes."""
    stuck = [thread for thread in threading.enumerate()
             if isinstance(thread, Worker) and thread.busy and thread._clock is machine.clock]
    assert stuck
    gate.set()
    end = time.monotonic() + PATIENCE
    while any(worker.busy for worker in stuck):
        assert time.monotonic() < end, "a worker does not answer"
        stuck[0].join(0.001)  # it does not end: the others run meanwhile


@pytest.mark.parametrize(("cpus", "threads"), [(2, 1), (40, 2), (300, 10), (1000, 16), (4096, 16)])
def test_few_threads_read_every_cpu_and_each_where_it_reads(cpus: int, threads: int) -> None:
    machine = Machine(cpus)
    frame = machine.frames(1)[-1]
    assert len({thread for thread, _bound, _cpu in machine.readers}) == threads
    assert [cpu for _thread, bound, cpu in machine.readers if bound != cpu] == []
    assert [cpu for _thread, _bound, cpu in machine.readers] == [*range(cpus)] * 2, "in the same order at every tick"
    assert machine.pinned == [*range(cpus)] * 2, "once for all readers of a CPU"
    assert frame.deltas("x") == [(cpu + 1) * SECOND for cpu in range(cpus)]
    assert sorted(machine.source.closed) == list(range(cpus))


@pytest.mark.parametrize(("cpus", "wanted", "readers"), [(2, {"x", "z"}, 1), (2, {"z"}, 1), (40, {"x", "z"}, 3)])
def test_whoever_reads_all_cpus_reads_the_shared_files(cpus: int, wanted: set[SignalId], readers: int) -> None:
    machine = Machine(cpus)
    frame = machine.frames(1, wanted=frozenset(wanted))[-1]
    threads = {thread for thread, _bound, _cpu in machine.readers}
    assert (len(machine.file_readers), len(threads | machine.file_readers)) == (1, readers)
    assert frame.deltas("z") == [(cpu + 1) * SECOND for cpu in range(cpus)]
    assert machine.files.closed == [-1]


def test_shared_files_are_late_with_the_cpus_before_them_and_come_back_without_a_stuck_cpu() -> None:
    machine = Machine(4)
    gate = machine.clock.gate()

    def act(frame: Frame) -> None:
        if frame.seq == 0:
            machine.source.gates[2] = gate
        if frame.seq == 6:
            release(gate, machine)

    frames = machine.frames(10, act, wanted=frozenset({"x", "z"}))
    assert frames[1].newer.late == {SHARED, 0, 1, 2, 3}
    assert [frame.deltas("z") for frame in frames if frame.newer.late == {2}][-1] == [
        (cpu + 1) * SECOND for cpu in range(4)]
    assert frames[-1].deltas("z") == [(cpu + 1) * SECOND for cpu in range(4)]


def test_values_are_those_of_workers_that_do_not_move() -> None:
    moved, pinned = Machine(40).frames(2), Machine(40).frames(2, moves=False)
    assert [frame.deltas("x") for frame in moved] == [frame.deltas("x") for frame in pinned]
    assert [frame.spans("x") for frame in moved] == [frame.spans("x") for frame in pinned]


def test_a_cpu_that_goes_costs_no_other_cpu_of_its_block_an_interval() -> None:
    machine = Machine(40)

    def act(frame: Frame) -> None:
        if frame.seq == 1:
            machine.online.discard(7)
        if frame.seq == 3:
            machine.online.add(7)

    frames = machine.frames(6, act)
    others = [cpu for cpu in range(40) if cpu != 7]
    for frame in frames[1:]:
        assert [frame.cell(X, cpu_row(cpu)) for cpu in others] == [(cpu + 1) * SECOND for cpu in others]
    assert [cpu for cpu, _wanted in machine.source.opened if cpu != 7] == others
    assert frames[-1].cell(X, cpu_row(7)) == 8 * SECOND


def test_a_cpu_on_which_a_worker_is_stuck_is_left_alone_and_comes_back_by_itself() -> None:
    machine = Machine(40)
    gate = machine.clock.gate()

    def act(frame: Frame) -> None:
        if frame.seq == 0:
            machine.source.gates[5] = gate
        if frame.seq == 6:
            release(gate, machine)

    frames = machine.frames(10, act)
    block = set(range(32))
    assert frames[1].newer.late == block, "whose worker is on CPU 5"
    assert frames[1].cell(X, cpu_row(39)) == 40 * SECOND
    stuck = [frame for frame in frames if frame.newer.late == {5}]
    assert stuck
    assert stuck[-1].cell(X, cpu_row(4)) == 5 * SECOND
    assert stuck[-1].cell(X, cpu_row(6)) == 7 * SECOND
    assert stuck[-1].partial(X, SYSTEM_ROW)
    last = frames[-1]
    assert not last.newer.late
    assert [last.cell(X, cpu_row(cpu)) for cpu in range(40)] == [(cpu + 1) * SECOND for cpu in range(40)]
    assert len({thread for thread, _bound, _cpu in machine.readers}) == 3


def test_readings_of_a_stuck_worker_that_come_when_others_read_its_cpus_are_not_taken() -> None:
    """What the old worker reads at last is of its own counters, which were opened earlier than the new worker's."""
    machine = Machine(40)
    gate = machine.clock.gate()

    def act(frame: Frame) -> None:
        if frame.seq == 0:
            machine.source.gates[5] = gate
        if frame.seq == 6:
            release(gate, machine)

    for frame in machine.frames(10, act):
        known = {cpu: value for cpu in range(40) if (value := frame.cell(X, cpu_row(cpu))) is not None}
        spans = frame.spans("x")
        assert known == {cpu: (cpu + 1) * SECOND * (spans[cpu] or 0.0) for cpu in known}
        assert all(cpu == 5 or spans[cpu] == 1.0 for cpu in known if frame.newer.late == {5})


def test_blocks_of_busy_cpus_are_read_at_the_same_time() -> None:
    machine = Machine(64)
    other = threading.Event()
    times: list[float] = []

    def act(frame: Frame) -> None:
        machine.slow = dict.fromkeys(range(32), 7_000_000)
        if frame.seq == 0:
            machine.source.on_read = read

    def read() -> None:
        cpu = machine.source.reads[-1]
        if cpu == 32:
            times.append(machine.clock.now())
            other.set()
        if cpu == 2:  # CPUs were waited for, so the next block need not wait for this one
            times.append(machine.clock.now())
            assert other.wait(PATIENCE)

    machine.frames(1, act)
    assert len(times) == 2
    assert times[0] == times[1], "not because time had passed"


def test_blocks_of_idle_cpus_are_read_one_after_the_other() -> None:
    machine = Machine(64)
    waiting: list[int] = []

    def read() -> None:
        worker = threading.current_thread()
        if isinstance(worker, Worker) and worker._semaphore is not None:
            waiting.append(len(worker._semaphore._waiting))

    machine.source.on_read = read
    machine.frames(3)
    assert waiting == ([1] * 32 + [0] * 32) * 4


@pytest.mark.parametrize(("cpus", "waits", "hold", "threads"), [
    (20, True, 0.0, 1), (20, False, 0.0, 20), (20, True, 1.0, 20), (1025, False, 0.0, 9),
])
def test_text_is_read_by_few_threads_and_a_screen_by_one_for_each_of_up_to_1024_cpus(
    cpus: int, waits: bool, hold: float, threads: int,
) -> None:
    machine = Machine(cpus)
    session = Session(machine_of(machine), (machine.source,), 3600.0, machine)
    session.want((), {"x"})
    session.waits = waits
    first = threading.Event()
    session.start(lambda _frame: first.set(), hold=hold)
    assert first.wait(PATIENCE)
    value = [thread for thread in threading.enumerate() if isinstance(thread, Worker) and thread.name.startswith("cpu")]
    session.stop()
    assert len(value) == threads
