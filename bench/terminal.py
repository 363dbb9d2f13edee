"""A program in a pseudo-terminal whose output is read, so that it never waits, and whose cost the kernel reports."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_TICKS = os.sysconf("SC_CLK_TCK")
_RESTING = frozenset({"ep_poll", "do_epoll_wait"})  # where epoll_wait sleeps, inlined or not (fs/eventpoll.c)
_PAGE = os.sysconf("SC_PAGESIZE")


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds and resident bytes of one process at one moment."""

    cpu_seconds: float
    rss_bytes: int


class Terminal:
    """A running program with a terminal of its own.

    Args:
        words: the command line.
        columns, rows: size of the terminal.
        environment: added to ours.
        folder: that it works in; "" for ours.
    """

    def __init__(self, words: Sequence[str], columns: int, rows: int, environment: Mapping[str, str],
                 folder: str = "") -> None:
        self.started = time.perf_counter()
        self.bytes = 0
        self._pid, self._descriptor = pty.fork()
        if self._pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.environ.update({"TERM": "xterm-256color", "COLORTERM": "truecolor", "TURBOTUI_TOUR": "0", **environment})
            try:
                if folder:
                    os.chdir(folder)
                os.execvp(words[0], list(words))  # noqa: S606 - no shell is wanted between us and what is measured
            finally:
                os._exit(127)

    def drain(self, seconds: float, until: re.Pattern[bytes] | None = None) -> bytes:
        """Read output for a time, or until it contains a text.

        Returns:
            What was taken.
        """
        taken = bytearray()
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            ready, _, _ = select.select([self._descriptor], [], [], left)
            if not ready:
                break
            try:
                data = os.read(self._descriptor, 1 << 16)
            except OSError:  # EIO: the program closed its terminal
                break
            if not data:
                break
            taken += data
            if until is not None and until.search(taken):
                break
        self.bytes += len(taken)
        return bytes(taken)

    def press(self, keys: bytes) -> None:
        """Type keys."""
        os.write(self._descriptor, keys)

    def resize(self, columns: int, rows: int) -> None:
        """Change the terminal's size; the kernel tells the program (SIGWINCH)."""
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def first_bytes(self, seconds: float) -> float | None:
        """Return the seconds until the program writes anything; None if it does not."""
        start = time.perf_counter()
        ready, _, _ = select.select([self._descriptor], [], [], seconds)
        return time.perf_counter() - start if ready else None

    def usage(self) -> Usage:
        """The kernel's accounting of the process (proc_pid_stat(5), proc_pid_statm(5))."""
        with open(f"/proc/{self._pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        with open(f"/proc/{self._pid}/statm", encoding="ascii") as file:
            resident = int(file.read().split()[1])
        return Usage((int(fields[11]) + int(fields[12])) / _TICKS, resident * _PAGE)

    def cpu_seconds(self) -> float:
        """Return the CPU time of the process and all its threads, in ns where /proc only has steps of 10 ms.

        By the clock of a process that clock_getcpuclockid(3) gives; Linux makes its number of the process's as
        CPUCLOCK_SCHED of MAKE_PROCESS_CPUCLOCK in include/linux/posix-timers_types.h.
        """
        return time.clock_gettime(~self._pid << 3 | 2)

    def main_thread_seconds(self) -> float:
        """Return the CPU time of the main thread, which draws (Documentation/scheduler/sched-stats.rst)."""
        with open(f"/proc/{self._pid}/task/{self._pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) * 1e-9

    def rests(self) -> bool:
        """Tell whether the main thread waits for input or a time (proc_pid_wchan(5)), after what was typed before."""
        with open(f"/proc/{self._pid}/task/{self._pid}/wchan", encoding="ascii") as file:
            return file.read() in _RESTING

    def ended(self) -> bool:
        """Tell whether the program has ended, leaving its exit status to `end`."""
        return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def end(self) -> None:
        """Stop the program."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(self._pid, number)
            except ProcessLookupError:
                break
            self.drain(1.0)
            if os.waitpid(self._pid, os.WNOHANG)[0]:
                break
        os.close(self._descriptor)
