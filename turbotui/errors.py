"""Errors that reach a user, with the exit status of the program for each.

Every message is one sentence that says what failed, on what, why, and what to do. The exit statuses are part of the
command line's contract (README, "Exit status").
"""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], most: int = 5) -> str:
    """Return a sentence's end that suggests the most similar names, or "" if no name is similar.

    The dashes of options make no two of them similar.
    """
    import difflib  # noqa: PLC0415 - where a word is wrong

    lower = {item.lower().lstrip("-"): item for item in known}
    close = difflib.get_close_matches(name.lower().lstrip("-"), lower, n=most)
    return f"; did you mean {', '.join(lower[item] for item in close)}?" if close else ""


def nearest_or_all(name: str, known: Iterable[str]) -> str:
    """Return a sentence's end that suggests the most similar names, or lists all if no name is similar."""
    names = tuple(known)
    return nearest(name, names, 3) or f"; there are {', '.join(names)}"


def signal_status(number: int) -> int:
    """The exit status of a program that a signal ended: 128 and the signal's number, as shells have it."""
    return 128 + number


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
        number: the signal.
    """

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.exit_status = signal_status(number)


class SignalledError(SystemExit):
    """A signal ends the program where it is; `SystemExit`, so that nothing but the program's end handles it.

    Args:
        number: the signal.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.exit_status = signal_status(number)
        super().__init__(self.exit_status)


def ending_behind(error: BaseException) -> KeyboardInterrupt | SignalledError | None:
    """The exception of a signal, of which Python 3.11 made an error: a RuntimeError if it came in a __set_name__."""
    cause = error.__cause__
    return cause if isinstance(cause, (KeyboardInterrupt, SignalledError)) else None


class InternalError(TurbotuiError):
    """A fault of turbotui itself; the terminal is restored and the place is named."""

    exit_status = 70  # EX_SOFTWARE of sysexits.h
