"""The dashboard in a pseudo-terminal, on the machine that the tests run on."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

import pytest

LEAVES_ALTERNATE_SCREEN = b"\x1b[?1049l"
SHOWS_CURSOR = b"\x1b[?25h"
WAIT = 30.0


class Running:
    """The dashboard, started in a terminal of 120 columns and 36 lines."""

    def __init__(self, *words: str) -> None:
        self.master, slave = os.openpty()
        termios.tcsetwinsize(slave, (36, 120))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen([sys.executable, "-m", "turbotui", *words], stdin=slave, stdout=slave,  # noqa: S603 - ourselves
                                        stderr=slave, env={**os.environ, "TERM": "xterm-256color"})
        self.output = b""

    def until(self, what: bytes) -> None:
        """Take output until it matches."""
        pattern, end = re.compile(what, re.DOTALL), time.monotonic() + WAIT
        while not pattern.search(self.output):
            left = end - time.monotonic()
            ready, _, _ = select.select([self.master], [], [], max(0.0, left))
            assert ready, f"never saw {what!r} in {self.output[-2000:]!r}"
            self.output += os.read(self.master, 1 << 16)

    def frames(self, count: int) -> None:
        """Let this many intervals pass: a key right behind Escape would be read as Alt and that key."""
        self.output, end = b"", time.monotonic() + WAIT
        while len(set(re.findall(rb"#(\d+)", self.output))) <= count:
            ready, _, _ = select.select([self.master], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"no more frames in {self.output[-2000:]!r}"
            self.output += os.read(self.master, 1 << 16)

    def press(self, keys: bytes) -> None:
        self.output = b""
        os.write(self.master, keys)

    def ended(self) -> int:
        """The exit status, with the terminal as it was before."""
        end = time.monotonic() + WAIT
        while self.process.poll() is None:
            assert time.monotonic() < end, "it does not end"
            if select.select([self.master], [], [], 0.05)[0]:
                self.output += os.read(self.master, 1 << 16)
        while select.select([self.master], [], [], 0)[0]:
            self.output += os.read(self.master, 1 << 16)
        assert LEAVES_ALTERNATE_SCREEN in self.output
        assert SHOWS_CURSOR in self.output
        after = termios.tcgetattr(self.slave)
        assert after[3] & termios.ECHO == self.before[3] & termios.ECHO
        assert after[3] & termios.ICANON == self.before[3] & termios.ICANON
        return self.process.returncode


@pytest.fixture
def dashboard() -> Iterator[Running]:
    running = Running("-i", "0.2")
    yield running
    if running.process.poll() is None:
        running.process.kill()
    running.process.wait()
    os.close(running.master)
    os.close(running.slave)


@pytest.mark.real
def test_it_shows_this_machine_and_q_leaves_it_as_it_was(dashboard: Running) -> None:
    dashboard.until(rb"#[1-9]")
    assert b"Load%" in dashboard.output
    assert b"IRQ" in dashboard.output
    assert b"SIMULATED" not in dashboard.output
    dashboard.press(b"q")
    assert dashboard.ended() == 0


@pytest.mark.real
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_as_it_was(dashboard: Running, number: signal.Signals) -> None:
    dashboard.until(rb"#[1-9]")
    dashboard.process.send_signal(number)
    assert dashboard.ended() == 0


@pytest.mark.real
def test_escape_never_quits(dashboard: Running) -> None:
    dashboard.until(rb"#[1-9]")
    dashboard.press(b"\x1b")
    dashboard.frames(2)
    dashboard.press(b"?")
    dashboard.until(rb"Everywhere")
    dashboard.press(b"\x1b")
    dashboard.frames(2)
    assert dashboard.process.poll() is None
    dashboard.press(b"q")
    assert dashboard.ended() == 0


@pytest.mark.real
def test_enter_and_usr1_end_a_long_interval() -> None:
    running = Running("-i", "60")
    try:
        running.until(rb"#1")
        running.press(b"\r")
        running.until(rb"#2")
        running.process.send_signal(signal.SIGUSR1)
        running.output = b""
        running.until(rb"#3")
        running.press(b"q")
        assert running.ended() == 0
    finally:
        running.process.kill()
        running.process.wait()
        os.close(running.master)
        os.close(running.slave)


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
        assert running.ended() == 0
    finally:
        running.process.kill()
        running.process.wait()
        os.close(running.master)
        os.close(running.slave)
