"""Measures cost, start-up and key latency of the dashboard from outside, in a pseudo-terminal."""

from __future__ import annotations

import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bench.terminal import Terminal
from bench.typing_keys import sent

_COLUMNS, _ROWS = 200, 60
_WARM_UP = 4.0  # seconds: imports, first frames, first layout
_SETTLED = 14.0  # seconds: the same of a simulated machine with 224 CPUs and its first interval, beside other work
_BETWEEN_KEYS = 0.06

PEERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("htop -d 10", ("htop", "-d", "10")),
    ("btop (its default)", ("btop",)),
    ("s-tui", ("s-tui",)),
    ("glances -t 1", ("glances", "-t", "1")),
)


@dataclass(frozen=True, slots=True)
class Cost:
    """Percent of one CPU, by thread if the program is turbotui, and memory."""

    name: str
    all: float
    screen: float | None
    sampler: float | None
    reading: float | None
    rss_mb: float
    kb_per_second: float


def cost_of_dashboard(name: str, words: Sequence[str], seconds: float,
                      size: tuple[int, int] = (_COLUMNS, _ROWS)) -> Cost:
    """Run the dashboard for a while in a terminal of a size, and divide its CPU time among its threads."""
    with tempfile.NamedTemporaryFile(mode="r", suffix=".json") as report:
        terminal = Terminal(
            [sys.executable, "-m", "bench.child", report.name, str(_WARM_UP), str(seconds), *words, "-i", "1"],
            *size, {},
        )
        usage = _watch(name, terminal, seconds)
        report.seek(0)
        shares: dict[str, float] = json.loads(report.read() or "{}")
    screen, sampler = shares.get("MainThread"), shares.get("sampler")
    reading = sum(value for thread, value in shares.items() if thread not in ("MainThread", "sampler", "clock"))
    return Cost(name, usage.all, screen, sampler, reading, usage.rss_mb, usage.kb_per_second)


def cost_without_model(name: str, words: Sequence[str], ticks: int,
                       size: tuple[int, int] = (_COLUMNS, _ROWS)) -> Cost:
    """Run the dashboard of a simulated machine on earlier answers, so that no model is computed.

    Args:
        name: of the row.
        words: that choose the machine and the screen.
        ticks: that are kept, one a second, and given again.
        size: of the terminal.
    """
    with tempfile.NamedTemporaryFile(mode="r", suffix=".json") as report:
        words = [sys.executable, "-m", "bench.kept", report.name, str(ticks), *words, "-i", "1"]
        terminal = Terminal(words, *size, {})
        shares: dict[str, float] = {}
        try:
            end = time.monotonic() + 8.0 * ticks + 60.0  # ticks in which somebody was late are not kept
            while not shares and time.monotonic() < end:
                terminal.drain(1.0)
                report.seek(0)
                shares = json.loads(report.read() or "{}")
            resident = terminal.usage().rss_bytes
        finally:
            terminal.end()
    screen, sampler = shares.get("MainThread", 0.0), shares.get("sampler", 0.0)
    reading = sum(value for thread, value in shares.items() if thread not in ("MainThread", "sampler", "clock"))
    return Cost(name, screen + sampler + reading, screen, sampler, reading, resident / 1e6, 0.0)


def cost_of_program(name: str, words: Sequence[str], seconds: float) -> Cost:
    """Run another program in the same terminal."""
    return _watch(name, Terminal(words, _COLUMNS, _ROWS, {}), seconds)


def _watch(name: str, terminal: Terminal, seconds: float) -> Cost:
    try:
        terminal.drain(_WARM_UP)
        before, start, bytes_before = terminal.usage(), time.monotonic(), terminal.bytes
        terminal.drain(seconds)
        after, end = terminal.usage(), time.monotonic()
        written = terminal.bytes - bytes_before
        terminal.drain(0.5)  # the report of the threads is written now
    finally:
        terminal.end()
    return Cost(
        name, 100.0 * (after.cpu_seconds - before.cpu_seconds) / (end - start), None, None, None,
        after.rss_bytes / 1e6, written / 1e3 / (end - start),
    )


def key_to_paint(words: Sequence[str], keys: int, burners: int) -> list[float]:
    """Return the milliseconds from each cursor key to the first byte of the repaint, while other processes are busy."""
    busy = [multiprocessing.Process(target=_burn, daemon=True) for _ in range(burners)]
    for process in busy:
        process.start()
    terminal = Terminal([sys.executable, "-m", "turbotui", *words], _COLUMNS, _ROWS, {})
    times: list[float] = []
    try:
        terminal.drain(_WARM_UP)
        terminal.press(sent("down"))  # the first may only show the cursor
        for number in range(keys):
            terminal.drain(0.1)
            # By turns: at the end of two rows a key changes nothing, and the next frame would pass for its paint.
            terminal.press(sent("down" if number % 2 == 0 else "up"))
            waited = terminal.first_bytes(2.0)
            if waited is not None:
                times.append(1e3 * waited)
    finally:
        terminal.end()
        for process in busy:
            process.kill()
    return times


def key_cost(words: Sequence[str], keys: int) -> float:
    """Return the milliseconds of the main thread's CPU time for each cursor key; nothing else may change meanwhile."""
    terminal = Terminal(words, _COLUMNS, _ROWS, {})
    try:
        _drain_for(terminal, _SETTLED)
        before = terminal.main_thread_seconds()
        for number in range(keys):
            terminal.press(sent("down" if number % 20 < 10 else "up"))
            _drain_for(terminal, _BETWEEN_KEYS)
        return 1e3 * (terminal.main_thread_seconds() - before) / keys
    finally:
        terminal.end()


def _drain_for(terminal: Terminal, seconds: float) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        terminal.drain(left)


def _burn() -> None:
    while True:
        pass
