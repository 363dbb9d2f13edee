"""Few workers read at a time, and stuck workers do not block others."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest
from moved_clock import frames_of
from scripted import FakeHost, FakeSource, counter, machine_of, place

from turbotui.quantities.signals import Raw, SignalId
from turbotui.sampling.answers import Answer, ReadRequest
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.semaphore import WorkerSemaphore, together
from turbotui.sampling.workers import Worker

_CPUS = 40


class Noting(Worker):
    """Notes that it has its request instead of reading."""

    def __init__(self, number: int, began: list[int]) -> None:
        super().__init__(f"cpu{number}")
        self._number = number
        self._began = began

    def take(self, work: ReadRequest) -> None:
        self._began.append(self._number)


def _work() -> ReadRequest:
    def reply(_answer: Answer) -> None:
        raise AssertionError("nobody answers here")

    return ReadRequest((), (), machine_of(FakeHost()), reply)


@pytest.mark.parametrize("together", [1, 3])
def test_as_many_begin_as_may_and_each_that_ends_lets_the_next_one_in(together: int) -> None:
    began: list[int] = []
    semaphore = WorkerSemaphore(together)
    workers = [Noting(number, began) for number in range(7)]
    for worker in workers:
        semaphore.enter(worker, _work())
    assert began == []
    semaphore.admit()
    assert began == list(range(together))
    for ended in range(7):
        semaphore.leave(workers[ended])
        assert began == list(range(min(7, together + ended + 1)))


def test_those_that_are_stuck_give_their_places_to_others() -> None:
    began: list[int] = []
    semaphore = WorkerSemaphore(2, stuck=0.0)
    for number in range(2):
        semaphore.enter(Noting(number, began), _work())
    semaphore.admit()
    semaphore.enter(Noting(2, began), _work())
    semaphore.admit()
    assert began == [0, 1, 2]


def test_a_worker_that_goes_from_cpu_to_cpu_keeps_its_place() -> None:
    began: list[int] = []
    semaphore = WorkerSemaphore(1, stuck=0.0)
    moving = Noting(0, began)
    semaphore.enter(moving, _work())
    semaphore.admit()
    semaphore.enter(Noting(1, began), _work())
    for moving.cpu in range(3):
        semaphore.admit()
        assert began == [0]
    semaphore.admit()
    assert began == [0, 1]


def test_beside_three_workers_that_wait_for_busy_cpus_another_one_reads() -> None:
    began: list[int] = []
    semaphore = WorkerSemaphore(1)
    workers = [Noting(number, began) for number in range(7)]
    for worker in workers:
        semaphore.enter(worker, _work())
    semaphore.admit()
    for number in range(5):
        semaphore.slow(workers[number])
        assert began == list(range(min(3, number + 1) + 1))
    semaphore.slow(workers[0])
    assert began == [0, 1, 2, 3]
    semaphore.leave(workers[0])
    assert began == [0, 1, 2, 3], "the place of one that waits was given away"
    semaphore.slow(workers[3])
    assert began == [0, 1, 2, 3, 4]
    semaphore.leave(workers[4])
    assert began == [0, 1, 2, 3, 4, 5]


def test_as_many_hanging_workers_as_may_read_at_once_do_not_stop_the_others() -> None:
    host = FakeHost([place(cpu) for cpu in range(_CPUS)])
    hung = range(20)
    gates = {cpu: host.clock.gate() for cpu in hung}
    source = FakeSource((counter("x"),), _moving(host))

    def act(frame: Frame) -> None:
        host.now += 1_000_000_000
        if frame.seq == 0:
            source.gates.update(gates)
        if frame.seq == 1:
            source.gates.clear()
            for gate in gates.values():
                gate.set()

    machine = machine_of(host)
    sampler = Sampler(machine, probe_sources(machine, (source,)), frozenset({"x"}), 2.0, clock=host.clock)
    frames = frames_of(sampler, 1, act)
    assert frames[1].newer.late == set(hung), "the twenty others were read in the tick in which these hung"


def _moving(host: FakeHost) -> Callable[[int, SignalId], Raw]:
    return lambda cpu, _name: (cpu + 1) * host.now


def test_on_a_small_machine_one_worker_reads_after_the_other() -> None:
    host = FakeHost([place(cpu) for cpu in range(4)])
    inside, most = 0, 0
    lock = threading.Lock()

    def read(cpu: int, _name: SignalId) -> Raw:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        os.sched_yield()
        with lock:
            inside -= 1
        return (cpu + 1) * host.now

    def act(_frame: Frame) -> None:
        host.now += 1_000_000_000

    machine = machine_of(host)
    source = FakeSource((counter("x"),), read)
    sampler = Sampler(machine, probe_sources(machine, (source,)), frozenset({"x"}), 0.05, clock=host.clock)
    frames = frames_of(sampler, 5, act)
    assert len(frames) == 6
    assert most == 1


def test_few_of_many_read_together() -> None:
    assert [together(workers) for workers in (0, 2, 7, 8, 64, 1024)] == [1, 1, 1, 2, 16, 16]
