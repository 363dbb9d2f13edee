"""A pseudo-terminal around an opening that runs in this process, on the tests' first thread or another one."""

from __future__ import annotations

import os
import select
import termios
from collections.abc import Iterator
from contextlib import contextmanager

from patience import PATIENCE

from turbotui.opening.terminal import OpeningTerminal


class Screen:
    """The other end of the terminal of an opening."""

    def __init__(self, size: tuple[int, int] = (80, 24), theme: str | None = None) -> None:
        self.master, self.slave = os.openpty()
        termios.tcsetwinsize(self.slave, (size[1], size[0]))
        self.before = termios.tcgetattr(self.slave)
        self.terminal = OpeningTerminal(self.slave, self.slave, theme, {})
        self.output = b""

    def type(self, text: bytes) -> None:
        """Type keys, whether or not they are read."""
        os.write(self.master, text)

    def until(self, what: bytes) -> bytes:
        """Read output until it contains `what`; returns all output read so far."""
        while what not in self.output:
            ready, _, _ = select.select([self.master], [], [], PATIENCE)
            assert ready, f"{what!r} never came: {self.output[-500:]!r}"
            self.output += os.read(self.master, 1 << 16)
        return self.output

    @property
    def restored(self) -> bool:
        """Whether the terminal has the modes that it had before."""
        return termios.tcgetattr(self.slave)[:4] == self.before[:4]


@contextmanager
def a_screen(size: tuple[int, int] = (80, 24)) -> Iterator[Screen]:
    """A screen whose descriptors are closed at the end."""
    screen = Screen(size)
    try:
        yield screen
    finally:
        os.close(screen.master)
        os.close(screen.slave)
