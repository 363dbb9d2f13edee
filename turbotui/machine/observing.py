"""Commands under observation: held until whatever counts them is open, then run, and waited for.

Every verb that runs a command does so by `observe`, and so all of them start it as a shell would, give signals the same
way, and tell its exit status alike.
"""

from __future__ import annotations

import contextlib
import select
import signal
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

from turbotui.machine.launching import Held, NotRunError
from turbotui.machine.signal_guard import guarded_signals

_FROM_THE_TERMINAL: Final = (signal.SIGINT, signal.SIGQUIT)  # which sends them to the command too
_TO_ONE_PROCESS: Final = (signal.SIGTERM, signal.SIGHUP)
_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GRACE: Final = 0.3  # seconds in which a command ends by the Ctrl-C that its terminal sent it too
_PATIENCE: Final = 2.0  # seconds in which a command ends by the signal that was passed on to it


def _now() -> float:
    """Seconds by a clock that a machine's sleep does not stop, as those of an interval (`sampling/suspensions.py`)."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Observation:
    """Commands that are held, then run while somebody counts them; made by `observe`.

    A context manager: on leaving it a command that was never let go ends without having run, one that still runs goes
    on, and signals are what they were. Where this process is killed, a held command ends too and a running one goes on.

    Attributes:
        commands: in the order given; `commands[0].pid` is what counters are opened for.
        signals: those that this process got since the commands were let go.
        seconds: how long the commands ran together, once all have ended.
    """

    def __init__(self, commands: Sequence[Held]) -> None:
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
        """Let the commands run.

        From then on SIGINT and SIGQUIT are the commands' own, for a terminal sends them to every process in front of
        it, and SIGTERM and SIGHUP are handed on; this process goes on until the commands have ended.

        Args:
            on_signal: called for SIGINT, SIGTERM and SIGHUP instead; see `end`.

        Raises:
            NotRunError: one of them cannot be run.
        """
        if on_signal is None:
            calls = dict.fromkeys(_FROM_THE_TERMINAL, self.signals.append) | dict.fromkeys(_TO_ONE_PROCESS, self.send)
        else:
            calls = dict.fromkeys(_ENDING, on_signal)
        self._guard.enter_context(guarded_signals(calls))
        self.begin()

    def begin(self) -> None:
        """Let the commands run, for a caller that catches signals by itself and hands them on with `end` or `send`.

        Raises:
            NotRunError: one of them cannot be run.
        """
        self._began = _now()
        try:
            for held in self.commands:
                held.go()
        except NotRunError:
            self.send(signal.SIGTERM)  # those that were let go would be observed by nobody
            raise
        finally:
            self.seconds = _now() - self._began

    @property
    def running(self) -> list[Held]:
        """The processes that have not ended."""
        return [held for held in self.commands if held.poll() is None]

    def wait(self, until: float | None = None, also: int | None = None) -> bool:
        """Wait until all have ended, at most until a time of `time.monotonic`; whether all have.

        Args:
            until: None: however long that takes.
            also: a descriptor; the wait ends when it can be read.
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
        """Hand a signal on to those that still run, and give them a little time to end by it.

        Args:
            number: of the signal. SIGINT may have reached them already, and they get a moment before it comes again.
            wait: spends at most so many seconds, and returns when a command has ended.
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
        """Hand a signal on to those that still run."""
        self.signals.append(number)
        for held in self.commands:
            held.send(number)


def observe(*commands: Sequence[str], output: int | None = None,
            prepare: Callable[[], None] | None = None, apart: bool = False) -> Observation:
    """Make commands that wait before their first instruction; call it before there are threads.

    Args:
        commands: the words of each.
        output: the descriptor that they write to; None for this process's own.
        prepare: called in each before it waits; a `TurbotuiError` of it keeps the command from being run.
        apart: see `Held`: for who keeps the terminal to himself.

    Example:
        with observe(["make", "-j8"]) as seen:
            counters = open_counters(seen.commands[0].pid)
            seen.run()
            while not seen.wait(time.monotonic() + 1.0):
                print(counters.read())
        sys.exit(seen.commands[0].status)
    """
    held: list[Held] = []
    with contextlib.ExitStack() as undo:
        for words in commands:
            held.append(Held(words, output, prepare, apart=apart))
            undo.callback(held[-1].close)
        undo.pop_all()
    return Observation(held)
