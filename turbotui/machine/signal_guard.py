"""Signals that the process gets while something runs: caught, handed on, and put back as they were."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from types import FrameType


@contextlib.contextmanager
def guarded_signals(calls: Mapping[signal.Signals, Callable[[int], None]]) -> Iterator[None]:
    """Call what is given for a signal instead of dying of it, while the block runs.

    On any other than the first thread nothing is caught: Python hands signals to the first one only.

    Signals are caught, not ignored: what is ignored would be ignored by a command too, across its exec. A SIGHUP that
    is ignored stays so: that is how nohup(1) asks for it.

    Args:
        calls: by signal; each is given the number.
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
