"""A terminal that is in the dashboard's modes before Textual is there, and what was typed into it meanwhile."""

from __future__ import annotations

import errno
import termios
import tty
from typing import Final, Protocol, runtime_checkable

from turbotui.dataclass import dataclass

Modes = list[int | list[bytes | int]]
"""What termios.tcgetattr gives."""


@dataclass(slots=True)
class Handover:
    """State that the driver takes over from the opening.

    Attributes:
        modes: of the terminal as the shell gave it, to be restored; None where it has none.
        typed: bytes that were read and not acted on, in their order.
        taken: whether the driver has taken the terminal over, and restores it.
    """

    modes: Modes | None = None
    typed: bytes = b""
    taken: bool = False


@runtime_checkable
class HandedOver(Protocol):
    """An application whose terminal may be in its modes already.

    Attributes:
        handover: from the opening; None where there was none.
    """

    handover: Handover | None


_NO_QUEUE: Final = 99  # none of TCIFLUSH, TCOFLUSH, TCIOFLUSH
_INPUT: Final = termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR
_LOCAL: Final = termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG


def modes_of(descriptor: int) -> Modes | None:
    """The modes of a terminal, to be restored; None where it has none or is gone."""
    try:
        return termios.tcgetattr(descriptor)
    except termios.error:
        return None


def set_raw(descriptor: int) -> None:
    """Have every key come at once, unechoed and without being obeyed (termios(3)). What was typed stays.

    Raises:
        termios.error: the terminal is gone.
    """
    modes = termios.tcgetattr(descriptor)
    modes[tty.LFLAG] &= ~_LOCAL
    modes[tty.IFLAG] &= ~_INPUT
    modes[tty.CC][termios.VMIN] = 1
    termios.tcsetattr(descriptor, termios.TCSANOW, modes)


def wait_for_front(descriptor: int) -> None:
    """Go on only when the terminal is ours: the background's terminal is the shell's, with its modes.

    The kernel stops who asks for a change from the background (SIGTTOU), until `fg`. This change is none: there is
    no such queue. A SIGCONT whose handler runs on this thread ends the call (EINTR), in the background too.
    """
    while True:
        try:
            termios.tcflush(descriptor, _NO_QUEUE)
        except termios.error as error:
            if error.args[0] == errno.EINTR:
                continue
        return
