"""Readers of gauges that look between two requests: how often, and what a failure does."""

from __future__ import annotations

import errno
import queue
import threading
from collections.abc import Sequence

import pytest
from patience import PATIENCE
from scripted import FakeHost, FakeSource, counter, machine_of

from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sampling.answers import Answer, ReadRequest
from turbotui.sampling.plan import Task
from turbotui.sampling.workers import Worker

X: SignalId = "x"


class Looking:
    """Counts its looks; asks for them until it has `most`. A look that fails is its last."""

    signals: tuple[SignalId, ...] = (X,)

    def __init__(self, most: int, error: bool) -> None:
        self.looks = self.reads = 0
        self.most, self.error = most, error
        self.done = threading.Event()
        self.closed = self.asked_again = False

    @property
    def pause(self) -> float | None:
        self.asked_again |= self.error and self.looks > 0
        return 0.001 if self.reads and self.looks < self.most else None

    def look(self) -> None:
        self.looks += 1
        if self.error or self.looks == self.most:
            self.done.set()
        if self.error:
            raise HostError(errno.EACCES, "chains")

    def read(self) -> Sequence[Raw]:
        self.reads += 1
        return (self.looks,)

    def close(self) -> None:
        self.closed = True


class Source(FakeSource):
    def open(self, machine: object, cpu: int, wanted: object) -> Looking:
        return self.reader

    reader: Looking


def _ask(worker: Worker, tasks: tuple[Task, ...], machine: Machine) -> Answer:
    """Have the worker read; for the same tuple of tasks it takes up no reader anew, also none whose look failed."""
    answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
    worker.ask(ReadRequest(tasks, (), machine, answers.put))
    return answers.get(timeout=PATIENCE)


@pytest.mark.parametrize("error", [False, True])
@pytest.mark.parametrize("most", [1, 3])
def test_a_reader_looks_as_often_as_it_asks_for_between_two_requests(most: int, error: bool) -> None:
    source = Source([counter(X)], lambda _cpu, _name: 0)
    source.reader = reader = Looking(most, error)
    worker = Worker("cpu0")
    tasks, machine = (Task(source, 0, frozenset({X})),), machine_of(FakeHost())
    worker.start()
    try:
        _ask(worker, tasks, machine)
        assert reader.done.wait(PATIENCE)
        _ask(worker, tasks, machine)
    finally:
        worker.end()
        worker.join(PATIENCE)
    assert worker.crash is None
    assert (reader.looks, reader.reads, reader.closed) == (1 if error else most, 2, True)
    assert not reader.asked_again


def test_a_long_read_is_neither_repeated_nor_called_interrupted() -> None:
    host = FakeHost()

    class Slow(Looking):
        def read(self) -> Sequence[Raw]:
            host.now += 5_000_000 * self.reads  # the first one sets the pace
            return super().read()

    source = Source([counter(X)], lambda _cpu, _name: 0)
    source.reader = reader = Slow(0, error=False)
    worker = Worker("cpu0")
    worker.start()
    try:
        machine = machine_of(host)
        answers = [_ask(worker, (Task(source, 0, frozenset({X})),), machine) for _ in range(3)]
    finally:
        worker.end()
        worker.join(PATIENCE)
    assert reader.reads == 3
    assert not any(answer.interrupted for answer in answers)
