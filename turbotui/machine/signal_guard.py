"""Catches signals while a block runs, passes them on, and restores the handlers.

What a signal means is the same for every verb. One of `ENDING` ends the program with `signal_status`, after it has
written what it had begun: either where the program is, by an exception (`ended_by_signals`, around every verb), or
where the verb's work ends (`ending_signals`). Ctrl-C is also how people end what has no end of its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Final

from turbotui.errors import SignalledError, signal_status
from turbotui.threads import NamedThread

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR2, signal.SIGALRM,
                 signal.SIGXCPU)
"""Signals that by default end a process that has done nothing wrong, SIGXCPU by `ulimit -t`: whoever has changed the
terminal restores it first. SIGUSR1 is not among them, because it ends an interval."""
WORK_ENDING: Final = tuple(number for number in ENDING if number is not signal.SIGQUIT)
"""Those by which a verb without the terminal ends its work; SIGQUIT is for a core dump of what it does now."""
_AGAIN: Final = 0.01  # seconds until a signal whose exception Python dropped is raised again, by SIGALRM
_LOOK: Final = signal.SIGURG  # interrupts what the first thread waits for; without a handler it would be ignored
_AGAIN_SOON: Final = 0.05  # seconds until a first thread that has not looked for signals is interrupted again
SIGNAL_PATIENCE: Final = 1.0  # seconds; a signal is often sent twice at once, by the terminal and by sudo(8)


@contextlib.contextmanager
def guarded_signals(calls: Mapping[signal.Signals, Callable[[int], object]]) -> Iterator[None]:
    """Call functions for signals instead of ending, while the block runs.

    On threads other than the first one nothing is caught, because Python delivers signals to the first thread
    only.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handler(call: Callable[[int], object]) -> Callable[[int, FrameType | None], object]:
        return lambda number, _frame: call(number)

    # caught, not ignored: a command would inherit ignored signals across its exec. A SIGHUP that is already ignored
    # stays so, as nohup(1) requires.
    before = {number: signal.signal(number, handler(call)) for number, call in calls.items()
              if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN}
    try:
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """End with `SignalledError` by a signal that nobody in the block handles; SIGINT remains `KeyboardInterrupt`.

    Python drops what is raised where a weak reference or an object is cleared. That signal is raised again after it.
    """
    lost = 0

    def end(number: int) -> None:
        raise SignalledError(lost or number)

    def note(dropped: sys.UnraisableHookArgs) -> None:
        nonlocal lost
        if isinstance(dropped.exc_value, SignalledError):
            lost = dropped.exc_value.number
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)  # a thread or a raise here could meet what is being cleared
        else:
            before(dropped)

    before, sys.unraisablehook = sys.unraisablehook, note
    try:
        with guarded_signals(dict.fromkeys(set(WORK_ENDING) - {signal.SIGINT}, end)):
            try:
                yield
            finally:
                if lost:
                    signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        sys.unraisablehook = before


@contextlib.contextmanager
def noticed_signals() -> Iterator[None]:
    """Have signals handled at once while the block runs, whatever the first thread waits for.

    Python looks for signals and then waits: one that comes between the two, or to another thread, would wait as long.
    A thread learns of each by a pipe (signal.set_wakeup_fd) and interrupts the first one until that has looked. A
    command that is to be held must have been forked before.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    first = threading.get_ident()
    looked = threading.Lock()  # unlocked by the handler; an event has a lock that the interrupted code may hold
    came, coming = os.pipe()
    os.set_blocking(coming, False)

    def look(_number: int) -> None:
        with contextlib.suppress(RuntimeError):  # unlocked already
            looked.release()

    def interrupt() -> None:
        while numbers := os.read(came, 64):
            if set(numbers) != {_LOOK}:
                looked.acquire(blocking=False)
                signal.pthread_kill(first, _LOOK)
                while not looked.acquire(timeout=_AGAIN_SOON):
                    signal.pthread_kill(first, _LOOK)

    thread = NamedThread(target=interrupt, name="signals", daemon=True)
    with guarded_signals({_LOOK: look}):
        thread.start()  # first: where no thread can be had, nothing is left set
        before = signal.set_wakeup_fd(coming, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            os.close(coming)
            thread.join()
            os.close(came)


class EndedWork:
    """By which signal work was ended, if by any.

    Attributes:
        number: the first signal that came; 0 for none.
    """

    def __init__(self) -> None:
        self.number = 0

    @property
    def status(self) -> int:
        """The exit status of work without an end of its own: Ctrl-C is how people end it."""
        return signal_status(self.number) if self.number not in (0, signal.SIGINT) else 0


@contextlib.contextmanager
def ending_signals(
    stop: Callable[[], object], others: Mapping[signal.Signals, Callable[[int], object]] | None = None,
    patience: float = SIGNAL_PATIENCE,
) -> Iterator[EndedWork]:
    """End the work of a block by a signal; one that comes while it does not end, ends the program where it is.

    Args:
        stop: asks the work to end; called once.
        others: what other signals do meanwhile, each called with its number.
        patience: seconds in which another signal is taken for the same one.

    Raises:
        SignalledError: by a later signal.
    """
    ended = EndedWork()
    began = 0.0

    def call(number: int) -> None:
        nonlocal began
        if not ended.number:
            ended.number, began = number, time.monotonic()
            stop()
        elif time.monotonic() - began > patience:
            raise SignalledError(number)

    with guarded_signals({**dict.fromkeys(WORK_ENDING, call), **(others or {})}), noticed_signals():
        yield ended
