"""Readers of gauges that look between two requests: how often, and what a failure does."""

from __future__ import annotations

import errno
import threading
from collections.abc import Sequence

import pytest
from patience import PATIENCE
from scripted import FakeHost, FakeSource, counter, machine_of

from turbotui.machine.host import HostError
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
        self.closed = False

    @property
    def pause(self) -> float | None:
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


def _asked(worker: Worker, source: Source, answers: list[Answer]) -> None:
    answered = threading.Event()

    def reply(answer: Answer) -> None:
        answers.append(answer)
        answered.set()

    worker.ask(ReadRequest((Task(source, 0, frozenset({X})),), (), machine_of(FakeHost()), reply))
    assert answered.wait(PATIENCE)


@pytest.mark.parametrize("error", [False, True])
@pytest.mark.parametrize("most", [1, 3])
def test_a_reader_looks_as_often_as_it_asks_for_between_two_requests(most: int, error: bool) -> None:
    source = Source([counter(X)], lambda _cpu, _name: 0)
    source.reader = reader = Looking(most, error)
    worker, answers = Worker("cpu0"), list[Answer]()
    worker.start()
    try:
        _asked(worker, source, answers)
        assert reader.done.wait(PATIENCE)
        _asked(worker, source, answers)
    finally:
        worker.end()
        worker.join(PATIENCE)
    assert worker.crash is None
    assert (reader.looks, reader.reads, reader.closed) == (1 if error else most, 2, True)


def test_a_long_read_is_neither_repeated_nor_called_interrupted() -> None:
    host = FakeHost()

    class Slow(Looking):
        def read(self) -> Sequence[Raw]:
            host.now += 5_000_000 * self.reads  # the first one sets the pace
            return super().read()

    source = Source([counter(X)], lambda _cpu, _name: 0)
    source.reader = reader = Slow(0, error=False)
    worker, answers = Worker("cpu0"), list[Answer]()
    worker.start()
    try:
        machine = machine_of(host)
        for _ in range(3):
            answered = threading.Event()

            def reply(answer: Answer, answered: threading.Event = answered) -> None:
                answers.append(answer)
                answered.set()

            worker.ask(ReadRequest((Task(source, 0, frozenset({X})),), (), machine, reply))
            assert answered.wait(PATIENCE)
    finally:
        worker.end()
        worker.join(PATIENCE)
    assert reader.reads == 3
    assert not any(answer.interrupted for answer in answers)
