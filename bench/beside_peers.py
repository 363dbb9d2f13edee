"""Runs the dashboard, htop and btop at the same time, so that a slow machine is equally slow for each."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.terminal import Terminal
from bench.typing_keys import sent
from turbotui.app.screen_table import SCREENS

SLEEPING = 100
"""Processes beside, which htop and btop list and the dashboard does not."""
_WARM_UP = 8.0  # seconds: imports, first frames, first layout, and the short first interval
_LOOK = 2.0  # seconds on each screen: its first numbers, and one more frame


@dataclass(frozen=True, slots=True)
class Peer:
    """A program that is measured.

    Attributes:
        files: below its configuration directory, by their paths.
    """

    name: str
    words: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)


TURBOTUI = Peer("turbotui, 1 Hz", (sys.executable, "-m", "turbotui", "-i", "1"))
CPUS = Peer("its table of CPUs, 1 Hz", (*TURBOTUI.words, "--screen", "cpus"))
TASKS = Peer("its screen of tasks, 1 Hz", (*TURBOTUI.words, "--screen", "tasks"))
PEERS = (
    Peer("htop -d 10, 1 Hz", ("htop", "-d", "10")),
    Peer("btop at 1 Hz", ("btop",), {"btop/btop.conf": "update_ms = 1000\n"}),
    Peer("btop, its default of 2 s", ("btop",)),
    Peer("bottom at 1 Hz", ("btm", "--rate", "1000")),
)


@dataclass(frozen=True, slots=True)
class Share:
    """Percent of one CPU, the ratio to a peer in the same run, and what goes to the terminal."""

    name: str
    percent: float
    ratio: float
    kb_per_second: float


def beside_peers(seconds: float, size: tuple[int, int], program: Peer = TURBOTUI) -> Sequence[Share]:
    """Measure the CPU time of each program over the same seconds, leaving out peers that are not installed."""
    return beside(seconds, size, [program, *installed_peers()])


def installed_peers() -> Sequence[Peer]:
    """The peers that are installed here."""
    return [peer for peer in PEERS if shutil.which(peer.words[0])]


def beside(seconds: float, size: tuple[int, int], chosen: Sequence[Peer]) -> Sequence[Share]:
    """Measure the CPU time of programs over the same seconds, each in a terminal, as ratios to the first program."""
    with ExitStack() as stack:
        stack.enter_context(_sleepers())
        terminals = [stack.enter_context(_running(peer, size)) for peer in chosen]
        _drain(terminals, _WARM_UP)
        before, start = [(terminal.cpu_seconds(), terminal.bytes) for terminal in terminals], time.monotonic()
        _drain(terminals, seconds)
        after, passed = [(terminal.cpu_seconds(), terminal.bytes) for terminal in terminals], time.monotonic() - start
    spent = [((used - was) / passed, (sent - had) / passed)
             for (was, had), (used, sent) in zip(before, after, strict=True)]
    return [Share(peer.name, 100.0 * share, spent[0][0] / share, written / 1e3)
            for peer, (share, written) in zip(chosen, spent, strict=True)]


def megabytes_after_screens(size: tuple[int, int]) -> float:
    """Return the resident megabytes of the dashboard after every screen was shown once."""
    with _running(TURBOTUI, size) as terminal:
        terminal.drain(_WARM_UP)
        for number in (*(screen.number for screen in SCREENS), SCREENS[0].number):
            terminal.press(sent(number))
            terminal.drain(_LOOK)
        return terminal.usage().rss_bytes / 1e6


@contextmanager
def _sleepers() -> Iterator[None]:
    sleep = shutil.which("sleep") or sys.exit("sleep is not there")
    sleepers = [subprocess.Popen([sleep, "1000000"]) for _ in range(SLEEPING)]  # noqa: S603 - found on PATH
    try:
        yield
    finally:
        for sleeper in sleepers:
            sleeper.kill()
        for sleeper in sleepers:
            sleeper.wait()


@contextmanager
def _running(peer: Peer, size: tuple[int, int]) -> Iterator[Terminal]:
    with tempfile.TemporaryDirectory() as directory:
        for path, text in peer.files.items():
            file = Path(directory) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        terminal = Terminal(peer.words, *size, {"XDG_CONFIG_HOME": directory})
        try:
            yield terminal
        finally:
            terminal.end()


def _drain(terminals: Sequence[Terminal], seconds: float) -> None:
    """Read the terminals of all programs, so that no program waits for its terminal."""
    threads = [threading.Thread(target=_drain_one, args=(terminal, seconds)) for terminal in terminals]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _drain_one(terminal: Terminal, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        terminal.drain(left)
