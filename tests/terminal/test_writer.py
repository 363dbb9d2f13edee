"""The thread that writes to the terminal: failing writes, a terminal that takes nothing, and one that is gone."""

from __future__ import annotations

import os
import queue
import select
import threading
from collections.abc import Iterator

import pytest
from patience import PATIENCE

from turbotui.terminal.writer import TerminalWriter


class Heard:
    """The reports of the writer."""

    def __init__(self) -> None:
        self.lost: queue.SimpleQueue[OSError] = queue.SimpleQueue()
        self.caught_up = threading.Event()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)  # as a terminal is opened
    yield reader, writer
    os.close(reader)
    os.close(writer)


def started(descriptor: int, heard: Heard) -> TerminalWriter:
    writer = TerminalWriter(descriptor, heard.lost.put, heard.caught_up.set)
    writer.start()
    return writer


def test_bytes_arrive_in_order(pipe: tuple[int, int], heard: Heard) -> None:
    writer = started(pipe[1], heard)
    for number in range(1000):
        writer.write(b"%d," % number)
    assert writer.settle(b"end", PATIENCE)
    assert os.read(pipe[0], 1 << 16) == b"".join(b"%d," % number for number in range(1000)) + b"end"
    writer.close()


def test_a_write_that_fails_is_tried_again(pipe: tuple[int, int], heard: Heard) -> None:
    unread, refusing = os.pipe()
    os.close(unread)  # every write fails with EPIPE, until the descriptor is another one
    writer = started(refusing, heard)
    writer.write(b"picture")
    os.dup2(pipe[1], refusing)
    assert os.read(pipe[0], 64) == b"picture"
    assert heard.lost.empty()
    writer.close()
    os.close(refusing)


def test_a_terminal_that_refuses_every_write_is_lost_once(heard: Heard) -> None:
    unread, refusing = os.pipe()
    os.close(unread)
    writer = started(refusing, heard)
    writer.write(b"picture")
    error = heard.lost.get(timeout=PATIENCE)
    assert isinstance(error, BrokenPipeError)
    writer.write(b"more")
    assert not writer.settle(b"end", PATIENCE)
    assert heard.lost.empty()
    writer.close()
    os.close(refusing)


def test_whoever_draws_never_waits_and_draws_again_when_the_terminal_has_caught_up(
        pipe: tuple[int, int], heard: Heard) -> None:
    writer = started(pipe[1], heard)
    picture = b"x" * 30_000
    for _ in range(100):  # 3 MB: a pipe holds 64 kB, and nobody reads
        writer.write(picture)
    assert not heard.caught_up.is_set()
    taken = 0
    while not heard.caught_up.wait(0.01):
        taken += len(os.read(pipe[0], 1 << 16)) if _readable(pipe[0]) else 0
    writer.write(b"anew")
    assert writer.settle(b"", PATIENCE)
    rest = b""
    while _readable(pipe[0]):
        rest += os.read(pipe[0], 1 << 16)
    assert rest.endswith(b"anew")
    assert (taken + len(rest) - len(b"anew")) % len(picture) == 0, "an update was cut"
    assert taken + len(rest) < 1_000_000, "what nobody took was kept"
    writer.close()


def test_the_last_bytes_do_not_wait_for_ever(pipe: tuple[int, int], heard: Heard) -> None:
    writer = started(pipe[1], heard)
    writer.write(b"x" * 150_000)
    assert not writer.settle(b"end", 0.05)  # a pipe cannot be flushed, as a terminal can
    writer.close()


def _readable(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])
