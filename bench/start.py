"""Measures a start: CPU time of short commands, time to the first paint, to the first frame, until a key acts."""

from __future__ import annotations

import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from bench.terminal import Terminal
from turbotui.dataclass import dataclass

_COLUMNS, _ROWS = 200, 60
_PATIENCE = 30.0

HELLO = """
from textual.app import App
from textual.widgets import Static
class Hello(App):
    BINDINGS = [("q", "quit", "quit")]
    def compose(self):
        yield Static("Hello")
Hello().run()
"""
"""The smallest program of Textual, which ends by q."""

COUNTING = """
from textual.app import App
from textual.widgets import Static
class Counting(App):
    BINDINGS = [("down", "step(1)", "more"), ("up", "step(-1)", "less")]
    steps = 0
    def compose(self):
        yield Static("Hello")
    def action_step(self, by):
        self.steps += by
        self.query_one(Static).update(f"Hello {self.steps}")
Counting().run()
"""
"""The same with a number that cursor keys change."""

_TURBOTUI = (sys.executable, "-m", "turbotui")
_BARE = (sys.executable, "-S")
"""Python without what an environment starts with it: the finder of an editable installation takes 10 to 13 ms."""
COMMANDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("python -c pass", (*_BARE, "-c", "pass")),
    ("python -c 'import asyncio'", (*_BARE, "-c", "import asyncio")),
    ("python -c 'import dataclasses, typing'", (*_BARE, "-c", "import dataclasses, typing")),
    ("turbotui stat --version", (*_BARE, "-m", "turbotui", "stat", "--version")),
    ("turbotui stat -n1 -i0.01", (*_BARE, "-m", "turbotui", "stat", "-n1", "-i0.01")),
)
"""Commands that print and end, from the folder of the checkout: stat needs no other package."""

SCREENS: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("turbotui", _TURBOTUI, r"Linux \d", r"over \d"),
    ("Textual's Hello", (sys.executable, "-c", HELLO), "Hello", "Hello"),
    ("htop", ("htop",), "Tasks", "Tasks"),
)
"""Programs with a screen: what is in their first picture, and in the first one that has differences."""


@dataclass(frozen=True, slots=True)
class Start:
    """Medians of several runs, in ms from the start of the process.

    Attributes:
        paint: until the first picture was received.
        frame: until the first picture with what was counted in an interval.
        key: until `q`, typed at the very start, had ended the program.
    """

    paint: float
    frame: float
    key: float


def cpu_ms(words: Sequence[str]) -> float:
    """Return the CPU time of a command in ms, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,  # noqa: S603 - of this file
                   stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def command_costs(runs: int) -> dict[str, float]:
    """Return the least CPU time of each command in ms; the runs of all commands alternate."""
    times: dict[str, list[float]] = {name: [] for name, _ in COMMANDS}
    for _ in range(runs):
        for name, words in COMMANDS:
            times[name].append(cpu_ms(words))
    return {name: min(values) for name, values in times.items()}


def starts(runs: int) -> dict[str, Start]:
    """Return the milliseconds to the first paint, and to the end after `q`, of each installed program with a screen."""
    by_program: dict[str, list[Start]] = {}
    for _ in range(runs):
        for name, words, picture, differences in SCREENS:
            if shutil.which(words[0]) is not None:
                by_program.setdefault(name, []).append(Start(
                    _until(words, picture), _until(words, differences), _ended_by_q(words)))
    return {name: _medians(several) for name, several in by_program.items()}


def _medians(several: Sequence[Start]) -> Start:
    return Start(statistics.median(item.paint for item in several), statistics.median(item.frame for item in several),
                 statistics.median(start.key for start in several))


def _until(words: Sequence[str], pattern: str) -> float:
    wanted = re.compile(pattern.encode())
    return _timed(words, lambda terminal: terminal.drain(_PATIENCE, until=wanted))


def _ended_by_q(words: Sequence[str]) -> float:
    def leave(terminal: Terminal) -> None:
        terminal.press(b"q")
        end = time.perf_counter() + _PATIENCE
        while not terminal.ended() and time.perf_counter() < end:
            terminal.drain(0.002)

    return _timed(words, leave)


def _timed(words: Sequence[str], act: Callable[[Terminal], object]) -> float:
    terminal = Terminal(words, _COLUMNS, _ROWS, {})
    try:
        act(terminal)
        return 1e3 * (time.perf_counter() - terminal.started)
    finally:
        terminal.end()


def print_start(runs: int) -> None:
    """Measure and print."""
    for name, cost in command_costs(runs).items():
        print(f"  {name:<38} {cost:8.1f} ms of CPU time")
    print(f"  {'':<34} {'first paint':>12} {'first frame':>12} {'q obeyed':>12}   (ms)")
    for name, start in starts(runs).items():
        print(f"  {name:<34} {start.paint:12.0f} {start.frame:12.0f} {start.key:12.0f}")


if __name__ == "__main__":
    print_start(11)
