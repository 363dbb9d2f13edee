"""Ctrl+Z, fg, bg and bare signals, with a shell that has job control."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from barepty import DASHBOARD, BarePty

ENTERS = b"\x1b[?1049h"
LEFT, ENTERED = rb"\x1b\[9999;1H\x1b\[J\x1b\[\?1049l.*\x1b\[\?25h", rb"\x1b\[\?1049h.*over \d"
PROMPT = b"@@ "
TGKILL = {"x86_64": 234, "aarch64": 131}.get(os.uname().machine, 0)

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash, a shell with job control, is not there")


class Shell(BarePty):
    """A shell in a terminal, with the dashboard in front."""

    def __init__(self) -> None:
        super().__init__(("bash", "--norc", "-i"), controlling=True, environment={"PS1": PROMPT.decode()})
        self.until(PROMPT)
        self.press(shlex.join(DASHBOARD).encode() + b"\r")
        self.until(rb"over \d")

    @property
    def dashboard(self) -> int:
        """The process in front."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            return int(file.read().split()[-1])

    def modes_after_q(self) -> set[bytes]:
        """Return the terminal's modes by stty after the dashboard was left with q."""
        self.press(b"q")
        self.until(LEFT + b".*" + PROMPT)
        self.press(b"stty -a\r")
        self.until(rb"extproc.*" + PROMPT)
        return set(self.output.replace(b";", b" ").split())


@pytest.fixture
def shell() -> Iterator[Shell]:
    running = Shell()
    yield running
    running.press(b"exit\r")
    running.end()


def assert_usual(modes: set[bytes]) -> None:
    assert {b"icanon", b"echo", b"isig", b"icrnl", b"iexten"} <= modes


def test_ctrl_z_and_fg_again_and_again(shell: Shell) -> None:
    for _ in range(3):
        shell.press(b"\x1a")
        shell.until(LEFT + b".*Stopped.*" + PROMPT)
        shell.press(b"fg\r")
        shell.until(ENTERED)
    assert_usual(shell.modes_after_q())


def test_ctrl_z_stops_it_under_a_window_too(shell: Shell) -> None:
    shell.press(b"?")
    shell.until(b"keys and columns")
    shell.press(b"\x1a")
    shell.until(LEFT + b".*Stopped.*" + PROMPT)
    shell.press(b"fg\r")
    shell.until(rb"\x1b\[\?1049h.*keys and columns")
    shell.press(b"q")
    shell.until(rb"over \d")
    assert_usual(shell.modes_after_q())


@pytest.mark.parametrize("number", [signal.SIGTSTP, signal.SIGSTOP])
def test_stopped_from_elsewhere(shell: Shell, number: signal.Signals) -> None:
    shell.forget()
    os.kill(shell.dashboard, number)
    shell.until(b"Stopped.*" + PROMPT)
    assert (b"\x1b[?1049l" in shell.output) == (number is signal.SIGTSTP)
    shell.press(b"fg\r")
    shell.until(ENTERED)
    assert_usual(shell.modes_after_q())


def test_a_bare_cont_changes_nothing_that_q_restores(shell: Shell) -> None:
    for _ in range(3):
        shell.forget()
        os.kill(shell.dashboard, signal.SIGCONT)
        shell.until(ENTERED)
    assert_usual(shell.modes_after_q())


def test_in_the_background_it_stays_away_from_the_terminal(shell: Shell) -> None:
    shell.press(b"\x1a")
    shell.until(LEFT + b".*Stopped.*" + PROMPT)
    shell.press(b"bg\r")
    shell.until(PROMPT)
    shell.press(b"wait %1 2>/dev/null; stty -a\r")
    shell.until(rb"extproc.*" + PROMPT)
    assert b"\x1b[?1049h" not in shell.output
    assert_usual(set(shell.output.replace(b";", b" ").split()))
    shell.press(b"fg\r")
    shell.until(ENTERED)
    assert_usual(shell.modes_after_q())


def _looks(status: str) -> tuple[bool, int]:
    """Whether a thread is stopped, and how often it has given up its CPU (proc_pid_status(5))."""
    lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return lines["State"].split()[0] == "T", int(lines["voluntary_ctxt_switches"])


def continue_in_the_background(shell: Shell) -> None:
    """SIGCONT to the thread that draws, until it has asked for the terminal and was stopped for that."""
    pid = shell.dashboard
    status = Path(f"/proc/{pid}/task/{pid}/status")
    _, before = _looks(status.read_text())
    ctypes.CDLL(None).syscall(ctypes.c_long(TGKILL), ctypes.c_int(pid), ctypes.c_int(pid), ctypes.c_int(signal.SIGCONT))

    def under_way() -> bool:
        stopped, looks = _looks(status.read_text())
        return not (stopped and looks > before) and ENTERS not in shell.output

    shell.read_while(under_way, "it is not stopped")


@pytest.mark.skipif(not TGKILL, reason=f"the number of tgkill on {os.uname().machine} is not in the table")
def test_continued_behind_a_prompt_it_does_not_draw_there(shell: Shell) -> None:
    shell.press(b"\x1a")
    shell.until(LEFT + b".*Stopped.*" + PROMPT)
    for _ in range(3):  # the shell waits for a line meanwhile, and has modes of its own for that
        continue_in_the_background(shell)
        assert ENTERS not in shell.output
    shell.press(b"fg\r")
    # a shell that hears only now of the last stop takes the terminal back once more, and says so
    shell.until(ENTERED + rb"|fg.*Stopped.*" + PROMPT)
    if ENTERS not in shell.output:
        shell.press(b"fg\r")
    shell.until(ENTERED)
    assert_usual(shell.modes_after_q())


def test_terminal_modes_that_were_changed_meanwhile_stay(shell: Shell) -> None:
    shell.press(b"\x1a")
    shell.until(LEFT + b".*Stopped.*" + PROMPT)
    shell.press(b"stty -echoctl\r")
    shell.until(PROMPT)
    shell.press(b"fg\r")
    shell.until(ENTERED)
    assert b"-echoctl" in shell.modes_after_q()


def test_sigterm_to_a_stopped_dashboard_ends_it_when_it_continues(shell: Shell) -> None:
    shell.press(b"\x1a")
    shell.until(LEFT + b".*Stopped.*" + PROMPT)
    os.kill(shell.dashboard, signal.SIGTERM)
    shell.press(b"fg; stty -a\r")
    shell.until(rb"extproc.*" + PROMPT)
    assert_usual(set(shell.output.replace(b";", b" ").split()))


def test_where_no_shell_could_continue_it_ctrl_z_changes_nothing() -> None:
    running = BarePty(controlling=True, forked=True)  # its process group is orphaned
    try:
        running.until(rb"over \d")
        running.press(b"\x1a")
        running.until(LEFT + b".*" + ENTERED)
        running.press(b"q")
        assert running.ended() == 0
        assert running.restored
    finally:
        running.end()
