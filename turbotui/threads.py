"""Threads whose names the kernel shows too: `ps -T`, `top -H`, perf and /proc/PID/task/TID/comm.

Python itself hands names to the kernel from 3.14 on. The first thread keeps the program's name, by which ps, top and
pgrep know the process.
"""

from __future__ import annotations

import threading
from functools import cache

_ARENA_MAX = -8  # M_ARENA_MAX (mallopt(3), glibc malloc.h)
_PR_SET_NAME = 15  # uapi linux/prctl.h
_LENGTH = 15  # bytes that the kernel keeps (TASK_COMM_LEN, include/linux/sched.h)


def name_this_thread() -> None:
    """Give the kernel the name that the calling thread has in Python, cut to 15 bytes; a sandbox may refuse it."""
    import ctypes  # noqa: PLC0415 - the first paint is made without it

    name = threading.current_thread().name.encode()[:_LENGTH]
    ctypes.PyDLL(None).prctl(_PR_SET_NAME, ctypes.c_char_p(name), 0, 0, 0)  # CDLL gives up the lock, for 5 ms at times


@cache
def share_arena() -> bool:
    """Let all threads allocate from one arena; returns whether the C library can, which only glibc does.

    glibc gives each of the first 8 threads for each CPU an arena of its own, so that threads need not wait for each
    other. Threads that hold the interpreter's lock while they allocate never wait, and each arena has holes of its own:
    arenas that are there when this is called stay, and later threads use them in turn, which at 224 CPUs took 26 MB.
    """
    import ctypes  # noqa: PLC0415 - as above

    tune = getattr(ctypes.PyDLL(None), "mallopt", None)
    return tune is not None and bool(tune(_ARENA_MAX, 1))


class NamedThread(threading.Thread):
    """A thread that has its name in the kernel before its target runs, and no arena of its own."""

    def start(self) -> None:
        """Start the thread; before the first one there is one arena."""
        share_arena()
        super().start()

    def run(self) -> None:
        """Name the thread, then run its target."""
        name_this_thread()
        super().run()
