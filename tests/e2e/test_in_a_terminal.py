"""The dashboard in a pseudo-terminal, on the machine that runs the tests."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from barepty import BarePty

LEAVES_ALTERNATE_SCREEN = b"\x1b[?1049l"
SHOWS_CURSOR = b"\x1b[?25h"


class Running(BarePty):
    """The dashboard, started in a terminal of 120 columns and 36 lines."""

    def __init__(self, *words: str, forked: bool = True) -> None:
        super().__init__((sys.executable, "-m", "turbotui", "--screen", "cpus", *words), size=(120, 36), forked=forked)

    @property
    def numbers(self) -> list[str]:
        """The first line and the row of the whole machine, which only a tick changes."""
        return [line for line in self.picture.text.splitlines() if re.search(r"over \d| all ", line)]

    def left(self) -> int:
        """The exit status, with the terminal as it was before."""
        status = self.ended()
        self.take(0.1)
        assert LEAVES_ALTERNATE_SCREEN in self.output
        assert SHOWS_CURSOR in self.output
        assert self.restored
        return status


@pytest.fixture
def dashboard() -> Iterator[Running]:
    running = Running("-i", "0.2")
    yield running
    running.end()


@pytest.mark.real
def test_it_shows_this_machine_and_q_leaves_it_as_it_was() -> None:
    running = Running("-i", "0.2", forked=False)
    try:
        running.until(rb"over \d")
        running.until(rb"Load%|Busy%")  # which of them, this machine decides; not before it is known
        running.until(rb"IRQ")
        assert b"SIMULATED" not in running.output
        running.press(b"q")
        assert running.left() == 0
    finally:
        running.end()


@pytest.mark.real
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT,
                                    signal.SIGUSR2])
def test_a_signal_leaves_the_terminal_as_it_was(dashboard: Running, number: signal.Signals) -> None:
    dashboard.until(rb"over \d")
    dashboard.process.send_signal(number)
    assert dashboard.left() == 128 + number


@pytest.mark.real
def test_escape_never_quits_and_swallows_no_key_behind_it(dashboard: Running) -> None:
    dashboard.until(rb"over \d")
    dashboard.press(b"\x1b?")
    dashboard.until(rb"keys and columns")
    dashboard.press(b"\x1b9")
    dashboard.until(rb"source.*state.*why")
    assert dashboard.process.poll() is None
    dashboard.press(b"\x1bq")
    assert dashboard.left() == 0


@pytest.mark.real
def test_ctrl_j_and_usr1_end_a_long_interval() -> None:
    running = Running("-i", "3600")
    try:
        running.until(rb"over \d")
        shown = running.numbers
        running.press(b"\n")
        running.read_while(lambda: running.numbers in (shown, []), "Ctrl+J ends no interval")
        shown = running.numbers
        running.process.send_signal(signal.SIGUSR1)
        running.read_while(lambda: running.numbers in (shown, []), "SIGUSR1 ends no interval")
        running.press(b"q")
        assert running.left() == 0
    finally:
        running.end()


def test_without_a_terminal_it_points_to_stat() -> None:
    done = subprocess.run([sys.executable, "-m", "turbotui"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 4
    assert "turbotui stat" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_simulated_machine_says_so_on_its_screens() -> None:
    running = Running("--machine", "guest", "-i", "0.2")
    try:
        for screen in (b"1", b"2", b"3", b"9"):
            running.press(screen)
            running.until(rb"SIMULATED")
        running.press(b"q")
        assert running.left() == 0
    finally:
        running.end()
