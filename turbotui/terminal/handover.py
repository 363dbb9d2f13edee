"""A terminal that is in the dashboard's modes before Textual starts, with the text typed meanwhile."""

from __future__ import annotations

import errno
import os
import termios
import tty
from dataclasses import field
from typing import Final, Protocol, runtime_checkable

from turbotui.dataclass import dataclass
from turbotui.terminal.sequences import InputSequences, escape_wait

Modes = list[int | list[bytes | int]]
"""The result of termios.tcgetattr."""


@dataclass(slots=True)
class Handover:
    """State that the driver takes over from the opening."""

    modes: Modes | None = None  # the terminal's modes as the shell set them, to be restored; None if it has none
    typed: tuple[str, ...] = ()  # keys that were read and not acted on, in order
    # the state of the input, in which a sequence may have begun
    sequences: InputSequences = field(default_factory=lambda: InputSequences(escape_wait(os.environ)))
    taken: bool = False  # whether the driver has taken the terminal over and will restore it
    stops: bool = False  # whether SIGTSTP came and the program did not stop yet


@runtime_checkable
class HandedOver(Protocol):
    """An application whose terminal may already be in its modes."""

    handover: Handover | None  # from the opening; None without one


LAST_ROW: Final = "\x1b[m\x1b[9999;1H\x1b[J"
"""Clears the last row and goes to its beginning, where the shell goes on if there is no alternate screen to leave."""
_NO_QUEUE: Final = 99  # none of TCIFLUSH, TCOFLUSH, TCIOFLUSH
_INPUT: Final = termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR
_LOCAL: Final = termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG


_LARGEST: Final = 1000
"""Columns or lines that are drawn at most. A wall of screens has fewer; COLUMNS=99999999 took all memory and no key."""


def bounded(size: tuple[int, int]) -> tuple[int, int]:
    """The part of a terminal that is drawn on, in columns and lines."""
    columns, lines = size
    return min(columns, _LARGEST), min(lines, _LARGEST)


def modes_of(descriptor: int) -> Modes | None:
    """The modes of a terminal, to be restored; None if it has none or is gone."""
    try:
        return termios.tcgetattr(descriptor)
    except termios.error:
        return None


def set_raw(descriptor: int) -> None:
    """Deliver every key at once, unechoed and uninterpreted (termios(3)); text typed before stays.

    Raises:
        termios.error: the terminal is gone.
    """
    modes = termios.tcgetattr(descriptor)
    modes[tty.LFLAG] &= ~_LOCAL
    modes[tty.IFLAG] &= ~_INPUT
    modes[tty.CC][termios.VMIN] = 1
    termios.tcsetattr(descriptor, termios.TCSANOW, modes)


def wait_for_front(descriptor: int) -> None:
    """Wait until this process is in the terminal's foreground, where it may read and change the modes.

    A SIGCONT whose handler runs on this thread ends the call (EINTR), in the background too.
    """
    while True:
        try:
            # the kernel stops a background process that asks for a change (SIGTTOU) until `fg`; this change changes
            # nothing, because there is no such queue
            termios.tcflush(descriptor, _NO_QUEUE)
        except termios.error as error:
            if error.args[0] == errno.EINTR:
                continue
        return
