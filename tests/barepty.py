"""Programs in pseudo-terminals that misbehave: no controlling terminal, a master that closes or does not read."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence

from forkedpty import ForkedProgram
from patience import PATIENCE
from terminal_picture import TerminalPicture

DASHBOARD = (sys.executable, "-m", "turbotui", "--machine", "guest", "-i", "0.2")

_INHERITED = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
"""Without the size that pytest-xdist has for its workers, which would come before the terminal's own."""


class BarePty:
    """A program in a pseudo-terminal of 100 columns and 30 lines that is held by hand.

    Args:
        words: the command line.
        controlling: whether it is the controlling terminal of a session of its own, or of no session at all.
        size: columns and lines of the terminal.
        environment: what is different in the program's environment.
        forked: begin with the dashboard's modules imported, which is most of what a short dashboard costs.
    """

    def __init__(self, words: Sequence[str] = DASHBOARD, *, controlling: bool = False,
                 size: tuple[int, int] = (100, 30), environment: dict[str, str] | None = None,
                 forked: bool = False) -> None:
        self.master, slave = os.openpty()
        termios.tcsetwinsize(slave, (size[1], size[0]))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        env = {**_INHERITED, "TERM": "xterm-256color", **(environment or {})}
        leader = [sys.executable, "-c", _TAKE_OVER] if controlling else []
        self.process: subprocess.Popen[bytes] | ForkedProgram = (
            ForkedProgram(words, slave, env, controlling=controlling) if forked else
            subprocess.Popen([*leader, *words], stdin=slave, stdout=slave, stderr=slave,  # noqa: S603 - ourselves
                             start_new_session=True, env=env))
        self.picture = TerminalPicture()
        self.output = self.drawn = b""

    def take(self, seconds: float) -> bytes:
        """Read what comes within a time; forgets nothing."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                break
            self._read()
        return self.output

    def _read(self) -> None:
        data = os.read(self.master, 1 << 16)
        self.output += data
        self.drawn += data + b"\n" + self.picture.feed(data).encode() + b"\n"

    def until(self, what: bytes) -> None:
        """Read until the output since the last `press` matches, or the lines that were drawn on since, each whole."""
        pattern = re.compile(what, re.DOTALL)
        self.read_while(lambda: not (pattern.search(self.output) or pattern.search(self.drawn)), f"never saw {what!r}")

    def read_while(self, lacks: Callable[[], object], complaint: str) -> None:
        """Read as long as something is lacking; fails when it can no longer come."""
        end = time.monotonic() + PATIENCE
        while lacks():
            over = self.process.poll() is not None or time.monotonic() > end  # asked before the last look
            if select.select([self.master], [], [], 0.0 if over else 1.0)[0]:
                self._read()
            else:
                assert not over, f"{complaint} in {self.picture.text}\nand {self.output[-2000:]!r}"

    def press(self, keys: bytes) -> None:
        """Type, and forget what was written before."""
        self.forget()
        os.write(self.master, keys)

    def forget(self) -> None:
        """Forget what was written before; the picture stays."""
        self.output = self.drawn = b""

    def ended(self, *, reading: bool = True) -> int:
        """Wait for the end, and return the exit status."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < end, "it does not end"
            if reading:
                self.take(0.05)
            else:
                time.sleep(0.05)
        while reading and select.select([self.master], [], [], 0.0)[0]:  # what it wrote last
            self._read()
        return self.process.wait()

    @property
    def restored(self) -> bool:
        """Whether the terminal has the modes that it had before the program."""
        return termios.tcgetattr(self.slave)[:4] == self.before[:4]

    def cpu_seconds(self) -> float:
        """CPU time of the program until now (proc_pid_stat(5))."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close_master(self) -> None:
        """Close the other end for good."""
        os.close(self.slave)
        os.close(self.master)
        self.master = self.slave = -1

    def end(self) -> None:
        """Leave nothing behind."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for descriptor in {self.master, self.slave} - {-1}:
            os.close(descriptor)


_TAKE_OVER = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
