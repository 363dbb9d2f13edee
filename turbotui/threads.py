"""Threads whose names the kernel shows too: `ps -T`, `top -H`, perf and /proc/PID/task/TID/comm.

Python itself hands names to the kernel from 3.14 on. The first thread keeps the program's name, by which ps, top and
pgrep know the process.
"""

from __future__ import annotations

import threading

_PR_SET_NAME = 15  # uapi linux/prctl.h
_LENGTH = 15  # bytes that the kernel keeps (TASK_COMM_LEN, include/linux/sched.h)


def name_this_thread() -> None:
    """Give the kernel the name that the calling thread has in Python, cut to 15 bytes; a sandbox may refuse it."""
    import ctypes  # noqa: PLC0415 - the first paint is made without it

    name = threading.current_thread().name.encode()[:_LENGTH]
    ctypes.PyDLL(None).prctl(_PR_SET_NAME, ctypes.c_char_p(name), 0, 0, 0)  # CDLL gives up the lock, for 5 ms at times


class NamedThread(threading.Thread):
    """A thread that has its name in the kernel before its target runs."""

    def run(self) -> None:
        """Name the thread, then run its target."""
        name_this_thread()
        super().run()
