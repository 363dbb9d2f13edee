"""The output of a command that runs apart from the terminal: read at once, and the newest part kept."""

from __future__ import annotations

import os
import re
import select
import threading
from collections import deque
from typing import Final

from turbotui.threads import NamedThread
from turbotui.untrusted import guarded, visible

LIMIT: Final = 16 << 20
"""The most bytes that are kept; older ones are dropped, and counted."""
_READ: Final = 1 << 16
_REST: Final = 0.2  # seconds for reading the rest of the pipe, whose other end other processes may hold
_SEQUENCES: Final = r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])"
"""Control sequences, operating system commands and escapes (ECMA-48, 5.3, 5.4 and 8.3.89)."""
_COLOUR: Final = re.compile(r"\x1b\[[0-9;:]*m")
_TAB: Final = 8


class CommandOutput:
    """A pipe for a command's output, and a thread that reads it from `start` to `finish`.

    Attributes:
        write_end: the descriptor that the command writes to; -1 after `start`.
        written: bytes so far.
        lost: bytes that were dropped before they were taken.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        # not a terminal, on which commands start pagers and move cursors
        self._pipe, self.write_end = os.pipe()
        self._ends, self._end = os.pipe()
        self._lock = threading.Lock()
        self._kept: deque[bytearray] = deque()
        self._size = 0
        self._taken = 0
        self.written = 0
        self.lost = 0
        self._thread = NamedThread(target=self._read, name="output", daemon=True)

    def start(self) -> None:
        """Begin to read, once the command has its end of the pipe."""
        os.close(self.write_end)
        self.write_end = -1
        self._thread.start()

    def finish(self) -> None:
        """Read the rest, without waiting for the pipe's end, which processes left by the command may hold open."""
        if self._thread.ident is not None:
            self._thread.join(_REST)
            if self._thread.is_alive():
                os.write(self._end, b"x")
                self._thread.join()

    def close(self) -> None:
        """Stop reading, and close every descriptor."""
        self.finish()
        for descriptor in (self._pipe, self.write_end, self._ends, self._end):
            if descriptor >= 0:
                os.close(descriptor)

    def tail(self, size: int = _READ) -> bytes:
        """Return at most `size` newest bytes."""
        with self._lock:
            return self._newest(size)

    def take(self) -> bytes:
        """Return the kept lines since the last call; an incomplete last line only after the end."""
        with self._lock:
            data = self._newest(self.written - self._taken)
            self.lost += self.written - self._taken - len(data)
            unfinished = len(data) - data.rfind(b"\n") - 1 if self._thread.is_alive() else 0
            self._taken = self.written - unfinished
            return data[: len(data) - unfinished]

    def _newest(self, size: int) -> bytes:
        lines: list[bytes] = []
        for chunk in reversed(self._kept):
            if size <= 0:
                break
            lines.append(bytes(chunk[-size:]))
            size -= len(chunk)
        return b"".join(reversed(lines))

    def _read(self) -> None:
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        poll.register(self._ends, select.POLLIN)
        while True:
            ready = dict(poll.poll())
            if self._pipe in ready:
                if not (data := os.read(self._pipe, _READ)):
                    return
                self._keep(data)
            elif self._ends in ready:
                return

    def _keep(self, data: bytes) -> None:
        with self._lock:
            self.written += len(data)
            if not self._kept or len(self._kept[-1]) >= _READ:
                self._kept.append(bytearray())
            self._kept[-1] += data
            self._size += len(data)
            while self._size - len(self._kept[0]) >= self._limit:
                self._size -= len(self._kept.popleft())


def text_lines(data: bytes, *, colours: bool = False) -> list[str]:
    """Convert output to lines that a screen may show, without overwritten text and escape sequences.

    Args:
        colours: whether to keep colours; all other control sequences are dropped or marked.
    """
    sequences = re.compile(_SEQUENCES)
    lines = []
    for line in data.replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape").split("\n"):
        last = line.rstrip("\r").rsplit("\r", 1)[-1] if "\r" in line else line
        if "\x1b" in last:
            last = sequences.sub(lambda match: match[0] if colours and _COLOUR.fullmatch(match[0]) else "", last)
        last = last.expandtabs(_TAB)
        lines.append(guarded(last) if colours else visible(last))
    if lines[-1] == "":
        lines.pop()
    return lines
