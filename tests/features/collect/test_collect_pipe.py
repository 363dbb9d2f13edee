"""`turbotui collect` in a pipe: its end by a signal or without a reader, refusals, requests."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from patience import PATIENCE

from turbotui.remote.incoming import Incoming, Received
from turbotui.remote.requests import request_line
from turbotui.sampling.row_differences import RowDifferences

ROOT = Path(__file__).parents[3]
COLLECT = (sys.executable, "-m", "turbotui", "collect", "--machine", "laptop-old", "-i", "0.05", "--show", "Busy%")


@contextmanager
def collector(*words: str, stdin: int | None = subprocess.DEVNULL) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([*COLLECT, *words], stdin=stdin, stdout=subprocess.PIPE,  # noqa: S603 - ours
                          stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}) as process:
        try:
            yield process
        finally:
            process.kill()


def piece(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return os.read(process.stdout.fileno(), 1 << 16)


def frames_until(process: subprocess.Popen[bytes], incoming: Incoming, count: int) -> list[Received]:
    result: list[Received] = []
    while len(result) < count:
        data = piece(process)
        assert data, process.stderr.read() if process.stderr else b""
        result += [item for item in incoming.take(data) if isinstance(item, Received)]
    return result


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda item: item.name)
def test_a_signal_ends_it_with_a_whole_stream(number: signal.Signals) -> None:
    with collector() as process:
        incoming = Incoming()
        frames = frames_until(process, incoming, 3)
        process.send_signal(number)
        while data := piece(process):
            frames += [item for item in incoming.take(data) if isinstance(item, Received)]
        assert process.wait(PATIENCE) == (0 if number is signal.SIGINT else 128 + number)
        assert incoming.ended
        assert [frame.frame.seq for frame in frames] == list(range(len(frames)))


def test_a_pipe_has_the_kinds_of_rows_that_it_is_told() -> None:
    with collector("--tables", "memory") as process:
        incoming = Incoming()
        result = (frame.frame.kind("memory") for _ in range(200) for frame in frames_until(process, incoming, 1))
        assert any(isinstance(rows, RowDifferences) for rows in result)


def test_other_kinds_and_readers_that_ask_are_refused() -> None:
    for words, said in ((("--tables", "planets"), '"planets" cannot be recorded'),
                        (("--tables", "memory", "--requests"), "asks for what it shows")):
        with collector(*words) as process:
            _out, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 2
            assert said in err.decode()


def test_it_ends_when_nobody_reads() -> None:
    with collector("-i", "1000") as process:
        frames_until(process, Incoming(), 1)
        assert process.stdout is not None
        process.stdout.close()  # at this interval no write would find out
        assert process.wait(PATIENCE) == 128 + signal.SIGPIPE


def test_a_reader_that_takes_nothing_keeps_it_from_nothing() -> None:
    with collector() as process:
        assert process.stdout is not None
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)  # no room for a layout
        select.select([process.stdout], [], [])
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) in (128 + signal.SIGTERM, 128 + signal.SIGPIPE)


def test_a_terminal_gets_no_bytes() -> None:
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(COLLECT, check=False, stdout=theirs, stderr=subprocess.PIPE,  # noqa: S603 - ours
                              timeout=PATIENCE, env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert done.returncode == 2
        assert done.stderr == b"turbotui: readings are bytes for a program: turbotui collect | turbotui view -\n"
    finally:
        os.close(ours)
        os.close(theirs)


def test_it_reads_what_is_asked_for_and_ends_with_stdin() -> None:
    with collector("--requests", stdin=subprocess.PIPE) as process:
        incoming = Incoming()
        (first,) = frames_until(process, incoming, 1)[:1]
        assert "irq.total" not in first.frame.newer.values
        assert process.stdin is not None
        process.stdin.write(request_line(["irq.total", "no such signal"]))
        process.stdin.flush()
        while "irq.total" not in frames_until(process, incoming, 1)[-1].frame.newer.values:
            pass
        process.stdin.close()
        while piece(process):
            pass
        assert process.wait(PATIENCE) == 0


def test_garbage_instead_of_a_request_ends_it() -> None:
    with collector("--requests", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"\0" * 70_000)
        process.stdin.close()
        while piece(process):
            pass
        assert process.wait(PATIENCE) == 0


def test_view_says_what_it_is_for() -> None:
    done = subprocess.run([sys.executable, "-m", "turbotui", "view", "x.ttj"], check=False, capture_output=True,
                          text=True, timeout=PATIENCE, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 2
    assert "for the file x.ttj there is turbotui replay" in done.stderr
