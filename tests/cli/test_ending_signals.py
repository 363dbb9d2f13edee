"""A signal that ends a process ends every verb with 128 and its number, after the work that it had begun."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

import pytest
from patience import PATIENCE

from turbotui import cli
from turbotui.feature_list import COMMANDS
from turbotui.installed_features import FAILED, contained
from turbotui.sampling.row_tables import known_kinds

GUEST: Final = ("--machine", "guest")
WATCHING: Final[dict[str, Sequence[str]]] = {
    "stat": ("-i", "0.1", *GUEST),
    "record": ("{folder}/made.ttj", *GUEST),
    "power": ("-i", "0.1", "--machine", "laptop"),
    "uncore": ("-i", "0.1", "--machine", "grace-2s"),
    "topdown": ("-i", "0.1", "--format", "csv", "--machine", "laptop"),
    "tasks": ("--all", "-i", "0.1", "--format", "csv", "--machine", "laptop-old"),
    "groups": ("-i", "0.1", "--machine", "laptop"),
    **dict.fromkeys(known_kinds(), ("-i", "0.1", "--machine", "laptop")),
    "spy": ("-i", "0.1", "--machine", "laptop-old"),
    "collect": GUEST,
    "export": ("--listen", "127.0.0.1:0", *GUEST),
    "serve": ("--listen", "127.0.0.1:0"),
}
"""Verbs that go on without an end."""
PRINTING: Final[dict[str, Sequence[str]]] = {
    "why": GUEST, "doctor": GUEST, "info": GUEST, "roofs": ("--no-plot", *GUEST), "machines": (), "columns": GUEST,
    "score": ("run", "-i", "0.1", *GUEST), "events": ("sets", *GUEST), "gather": ("--list", "--seconds", "1", *GUEST),
    "roofline": ("-i", "0.1", "-n", "100000", "--machine", "laptop"), "diff": ("{recording}", "{recording}"),
    "export": ("--once", *GUEST), "runs": (),
    "fleet": ("check", "--prometheus", "http://127.0.0.1:{port}"),
}
"""Verbs that end by themselves, unless nobody reads what they print, or their server does not answer."""
ELSEWHERE: Final = {"", "replay", "view", "mcp"}
"""What is left of these is for tests/e2e, tests/opening and tests/features/mcp."""
_NUMBERS: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2)


def test_every_verb_is_in_a_table() -> None:
    assert WATCHING.keys() | PRINTING.keys() | ELSEWHERE == {command.name for command in COMMANDS}


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What the command lines name: a folder, a recording, and the port of a server that answers nothing."""
    folder = tmp_path_factory.mktemp("signals")
    made = [sys.executable, "-m", "turbotui", "record", str(folder / "kept.ttj"), "-n", "2", "-i", "0.1", *GUEST]
    subprocess.run(made, check=True, capture_output=True)  # noqa: S603 - ours
    with socket.create_server(("127.0.0.1", 0)) as silent:
        yield {"folder": str(folder), "recording": str(folder / "kept.ttj"), "port": str(silent.getsockname()[1])}


@contextlib.contextmanager
def started(verb: str, rest: Sequence[str], names: dict[str, str], output: int) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "turbotui", verb, *(word.format(**names) for word in rest)]
    env = os.environ | {"XDG_DATA_HOME": names["folder"], "HOME": names["folder"], "PYTHONUNBUFFERED": ""}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env) as process:  # noqa: S603 - ours
        try:
            yield process
        finally:
            process.kill()


def catches(process: subprocess.Popen[bytes], number: signal.Signals) -> bool:
    with open(f"/proc/{process.pid}/status", encoding="ascii", errors="replace") as file:
        caught = next(line for line in file if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


@pytest.mark.parametrize(("verb", "number"), zip(WATCHING, itertools.cycle(_NUMBERS), strict=False))
def test_what_watches_ends_with_the_signal(verb: str, number: signal.Signals, words: dict[str, str]) -> None:
    if (verb, number) == ("export", signal.SIGHUP):
        number = signal.SIGTERM  # SIGHUP reads its rules again
    _watched(verb, number, words, 128 + number)


@pytest.mark.parametrize("verb", ["record", "groups", "tasks", "serve"])
def test_ctrl_c_is_the_usual_end_of_what_watches(verb: str, words: dict[str, str]) -> None:
    _watched(verb, signal.SIGINT, words, 0)


def _watched(verb: str, number: signal.Signals, words: dict[str, str], status: int) -> None:
    ours, theirs = os.pipe()
    with open(ours, "rb") as output, started(verb, WATCHING[verb], words, theirs) as process:
        os.close(theirs)
        assert select.select([output], [], [], PATIENCE)[0], "it says nothing"
        process.send_signal(number)
        rest = output.read()
        assert process.wait(PATIENCE) == status, rest
        assert b"Traceback" not in rest


@pytest.mark.parametrize(("verb", "number"), [*(("stat", number) for number in _NUMBERS), ("record", signal.SIGHUP)])
def test_what_counts_a_command_ends_with_the_signal_that_ends_both(
        verb: str, number: signal.Signals, words: dict[str, str]) -> None:
    rest = ("{folder}/counted.ttj",) if verb == "record" else ()
    ours, theirs = os.pipe()
    with open(ours, "rb") as output, started(verb, [*rest, "--", "sh", "-c", "echo runs; exec sleep 1000"], words,
                                             theirs) as process:
        os.close(theirs)
        said = b""
        while b"runs\n" not in said:
            said += (more := os.read(output.fileno(), 4096))
            assert more, said
        process.send_signal(number)
        assert process.wait(PATIENCE) == 128 + number, output.read()


def test_stat_returns_the_number_of_a_signal_that_its_command_got_elsewhere(words: dict[str, str]) -> None:
    with started("stat", ["--", "sh", "-c", "kill -TERM $$"], words, subprocess.DEVNULL) as process:
        assert process.wait(PATIENCE) == signal.SIGTERM, "as turbostat"


def writes(process: subprocess.Popen[bytes]) -> bool:
    """Whether it waits for room in a pipe (pipe_write of the kernel; proc_pid_wchan(5))."""
    with open(f"/proc/{process.pid}/wchan", encoding="ascii") as file:
        return "pipe_write" in file.read()


@pytest.mark.parametrize(("verb", "number"), zip(PRINTING, itertools.cycle(_NUMBERS), strict=False))
def test_what_nobody_reads_ends_by_the_signal_alone(verb: str, number: signal.Signals, words: dict[str, str]) -> None:
    ours, theirs = os.pipe()
    try:
        fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
        os.write(theirs, bytes(4096))  # whatever is printed waits for a reader
        with started(verb, PRINTING[verb], words, theirs) as process:
            end = time.monotonic() + PATIENCE
            while not (catches(process, number) and (verb != "machines" or writes(process))):
                assert time.monotonic() < end
                time.sleep(0.001)
            process.send_signal(number)
            assert process.wait(PATIENCE) == 128 + number
    finally:
        os.close(ours)
        os.close(theirs)


class _Interrupted:
    """A class's attribute at whose naming a signal comes: Python 3.11 makes a RuntimeError of what is raised there."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __set_name__(self, owner: type, name: str) -> None:
        signal.raise_signal(self._number)


def _imports(number: int) -> object:
    return type("Imported", (), {"attribute": _Interrupted(number)})


@pytest.mark.parametrize("number", [signal.SIGINT, *_NUMBERS])
def test_a_signal_while_a_class_is_made_ends_with_its_status(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "_drop_output", lambda: None)  # pytest's own
    monkeypatch.setattr(cli, "_run", lambda _words: _imports(number))
    assert cli.main([]) == 128 + number


def test_a_signal_while_another_package_makes_a_class_is_no_failure_of_the_package() -> None:
    with pytest.raises(KeyboardInterrupt):
        contained(_imports, signal.SIGINT)
    assert not FAILED
