"""Catches signals while a block runs, passes them on, and restores the handlers."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR2, signal.SIGALRM,
                 signal.SIGXCPU)
"""Signals that by default end a process that has done nothing wrong, SIGXCPU by `ulimit -t`: whoever has changed the
terminal restores it first. SIGUSR1 is not among them, because it ends an interval."""


@contextlib.contextmanager
def guarded_signals(calls: Mapping[signal.Signals, Callable[[int], None]]) -> Iterator[None]:
    """Call functions for signals instead of ending, while the block runs.

    On threads other than the first one nothing is caught, because Python delivers signals to the first thread only.

    Signals are caught and not ignored, because a command would inherit ignored ones across its exec. A SIGHUP that is
    already ignored stays so, as nohup(1) requires.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handler(call: Callable[[int], None]) -> Callable[[int, FrameType | None], None]:
        return lambda number, _frame: call(number)

    before = {
        number: signal.signal(number, handler(call))
        for number, call in calls.items()
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)
