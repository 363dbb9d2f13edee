"""Errors that reach a user, with the exit status of the program for each.

Every message is one sentence that says what failed, on what, why, and what to do. The exit statuses are part of the
command line's contract (README, "Exit status").
"""

from __future__ import annotations


class TurbotuiError(Exception):
    """An error whose message the user has to see; the program ends with `exit_status`."""

    exit_status = 1


class UsageError(TurbotuiError):
    """A word of the command line that is not understood or does not exist here."""

    exit_status = 2


class MachineError(TurbotuiError):
    """The machine (or the recorded or simulated one) cannot be read at all."""

    exit_status = 3


class TerminalError(TurbotuiError):
    """There is no terminal, or it cannot show the dashboard."""

    exit_status = 4


class StoppedError(TurbotuiError):
    """A signal ended the work early.

    Args:
        message: what the early end leaves behind.
        number: the signal; the exit status is 128 plus the signal, as in shells.
    """

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.exit_status = 128 + number


class InternalError(TurbotuiError):
    """A fault of turbotui itself; the terminal is restored and the place is named."""

    exit_status = 70  # EX_SOFTWARE of sysexits.h
