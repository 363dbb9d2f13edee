"""Let a program mark its own regions for a counting tool: `with turbotui.region("solve"): ...`.

The file stands alone: a program without turbotui in its environment may carry a copy. The counting tool, or a user with
    --regions, names a FIFO in TURBOTUI_REGIONS; without the variable a region does nothing and costs less than a
    microsecond. A mark is one line of one write(2), shorter than PIPE_BUF, so that lines of several threads and
    processes do not mix (pipe(7)). The FIFO never blocks: marks that do not fit are lost, and the next mark says how
    many. The program also opens the FIFO for reading, so that the end of the reader raises no SIGPIPE (fifo(7),
    "opening a FIFO for read and write").
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final

VARIABLE: Final = "TURBOTUI_REGIONS"
"""Environment variable with the FIFO's path."""
LONGEST_NAME: Final = 128
"""Bytes of a name; longer names are cut."""


class _Writer:
    """The FIFO of one process, open as long as somebody reads it."""

    def __init__(self, path: str) -> None:
        self._descriptor = -1  # nobody counts any more
        self._lost = 0
        with contextlib.suppress(OSError, ValueError):
            if stat.S_ISFIFO(os.stat(path).st_mode):  # marks are written neither to a file nor to a device
                descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
                if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                    self._descriptor = descriptor
                else:
                    os.close(descriptor)

    def write(self, kind: str, name: bytes) -> None:
        """Write a mark, or count it as lost."""
        if self._descriptor < 0:
            return
        head = f"{kind} {time.monotonic_ns()} {os.getpid()} {threading.get_native_id()} {self._lost} "
        try:
            os.write(self._descriptor, head.encode() + name + b"\n")
        except OSError:
            self._lost += 1
        else:
            self._lost = 0


class _Region(AbstractContextManager[None]):
    """A region that is counted; it may be entered again, also by several threads at once."""

    def __init__(self, writer: _Writer, name: str) -> None:
        self._writer = writer
        clean = "".join(letter if letter.isprintable() else "?" for letter in name).strip() or "?"
        self._name = clean.encode("utf-8", "replace")[:LONGEST_NAME]

    def __enter__(self) -> None:
        self._writer.write("B", self._name)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self._writer.write("E", self._name)


class _Uncounted(AbstractContextManager[None]):
    """A region that is not counted."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        pass


_UNCOUNTED: Final = _Uncounted()
_path: Final = os.environ.get(VARIABLE, "")
_writer: Final = _Writer(_path) if _path else None


def region(name: str) -> AbstractContextManager[None]:
    """A region of this program, for `turbotui roofline`, `tasks` and `topdown` with a command or with --regions.

    Regions may be nested and be open in several threads at once. Without a counting tool nothing happens.

    Args:
        name: shown to people; at most 128 bytes.

    Example:
        import turbotui

        with turbotui.region("solve"):
            solve()
    """
    return _UNCOUNTED if _writer is None else _Region(_writer, name)
