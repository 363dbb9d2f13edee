"""Run commands under observation: hold them until their counters are open, let them run, and wait for them.

Every verb that runs a command uses `observe`. All of them therefore start commands as a shell would, deliver signals in
the same way, and report exit statuses alike.
"""

from __future__ import annotations

import contextlib
import select
import signal
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

from turbotui.machine.launching import HeldCommand, NotRunError
from turbotui.machine.signal_guard import guarded_signals, noticed_signals

_FROM_THE_TERMINAL: Final = (signal.SIGINT, signal.SIGQUIT)  # which sends them to the command too
PASSED_ON: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2)
"""Signals to this process alone, which a command gets too."""
_ENDING: Final = (signal.SIGINT, *PASSED_ON)
_GRACE: Final = 0.3  # seconds for a command to end by the Ctrl-C that its terminal also sent to it
_PATIENCE: Final = 2.0  # seconds for a command to end by a signal that was passed on to it


def _now() -> float:
    """Seconds on a clock that continues during a suspend, as those of an interval do (`sampling/suspensions.py`)."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Observation:
    """Commands that are held, then run while they are counted; created by `observe`.

    A context manager. On exit, a command that was never started ends without having run, a running one continues, and
    signal handlers are restored. If this process is killed, a held command ends too, and a running one continues.

    Attributes:
        commands: in the order given; counters are opened for `commands[0].pid`.
        signals: signals that this process received since the start of the commands.
        seconds: run time of the commands together, once all have ended.
    """

    def __init__(self, commands: Sequence[HeldCommand]) -> None:
        self.commands = tuple(commands)
        self.signals: list[int] = []
        self.seconds = 0.0
        self._began = 0.0
        self._over = False
        self._guard = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self._guard.close()
        for held in self.commands:
            held.close()

    def run(self, on_signal: Callable[[int], None] | None = None) -> None:
        """Start the commands.

        From then on SIGINT and SIGQUIT are left to the commands, because a terminal sends these signals to every
        process in the foreground, and SIGTERM, SIGHUP and SIGUSR2 are passed on. This process continues until the
        commands have ended.

        Args:
            on_signal: called for SIGINT and those that are passed on instead.

        Raises:
            NotRunError: a command cannot be run.
        """
        if on_signal is None:
            calls = dict.fromkeys(_FROM_THE_TERMINAL, self.signals.append) | dict.fromkeys(PASSED_ON, self.send)
        else:
            calls = dict.fromkeys(_ENDING, on_signal)
        self._guard.enter_context(guarded_signals(calls))
        self._guard.enter_context(noticed_signals())
        self.begin()

    def begin(self) -> None:
        """Start the commands for a caller that handles signals itself and passes them on with `end` or `send`.

        Raises:
            NotRunError: a command cannot be run.
        """
        self._began = _now()
        try:
            for held in self.commands:
                held.go()
        except NotRunError:
            self.send(signal.SIGTERM)  # commands that were started would run unobserved
            raise
        finally:
            self.seconds = _now() - self._began

    @property
    def ended_by(self) -> int:
        """The first signal that this process received since the start of the commands; 0 for none."""
        return self.signals[0] if self.signals else 0

    @property
    def running(self) -> list[HeldCommand]:
        """The processes that have not ended."""
        return [held for held in self.commands if held.poll() is None]

    def wait(self, until: float | None = None, also: int | None = None) -> bool:
        """Wait until all have ended, or until a time on `time.monotonic`; returns whether all have ended.

        Args:
            until: None for no limit.
            also: a descriptor whose readability also ends the wait.
        """
        for held in self.running:
            poll = select.poll()
            poll.register(held.descriptor, select.POLLIN)
            if also is not None:
                poll.register(also, select.POLLIN)
            poll.poll(None if until is None else max(0.0, until - time.monotonic()) * 1e3)
        if self.running:
            return False
        if not self._over:
            self._over = True
            self.seconds = _now() - self._began
        return True

    def end(self, number: int, wait: Callable[[float], object]) -> None:
        """Pass a signal on to the running commands, and give them a little time to end.

        Args:
            number: of the signal. SIGINT may have reached them already, so they get a moment before it is sent again.
            wait: waits for a number of seconds, and returns early when a command has ended.
        """
        if number == signal.SIGINT:
            self._await(_GRACE, wait)
        self.send(number)
        self._await(_PATIENCE, wait)

    def _await(self, seconds: float, wait: Callable[[float], object]) -> None:
        until = time.monotonic() + seconds
        while self.running and (left := until - time.monotonic()) > 0:
            wait(left)

    def send(self, number: int) -> None:
        """Pass a signal on to the running commands."""
        self.signals.append(number)
        for held in self.commands:
            held.send(number)


def observe(*commands: Sequence[str], output: int | None = None,
            prepare: Callable[[], None] | None = None, apart: bool = False) -> Observation:
    """Create commands that wait before their first instruction; call it before other threads exist.

    Args:
        output: the descriptor to which they write; None for this process's own.
        prepare: called in each before it waits; a `TurbotuiError` from it keeps the command from running.
        apart: for callers that keep the terminal for themselves.

    Example:
        with observe(["make", "-j8"]) as seen:
            counters = open_counters(seen.commands[0].pid)
            seen.run()
            while not seen.wait(time.monotonic() + 1.0):
                print(counters.read())
        sys.exit(seen.commands[0].status)
    """
    held: list[HeldCommand] = []
    with contextlib.ExitStack() as undo:
        for words in commands:
            held.append(HeldCommand(words, output, prepare, apart=apart))
            undo.callback(held[-1].close)
        undo.pop_all()
    return Observation(held)
