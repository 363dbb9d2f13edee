"""Command mode of `turbotui stat`: the counters from a command's start to its end (turbostat-spec 1.10)."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from turbotui.commands.stat_streams import warn
from turbotui.machine.launching import Held, NotRunError


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended.

    Attributes:
        status: what turbostat would return for it: its exit status, the number of the signal that killed it, or the
            errno of a failed exec.
        seconds: how long it ran.
    """

    status: int
    seconds: float


@contextmanager
def _patient() -> Iterator[None]:
    """SIGINT and SIGQUIT are the command's.

    They are caught, not ignored: what is ignored would be ignored by the command too, across its exec.
    """
    before = {number: signal.signal(number, lambda _number, _frame: None)
              for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_held(held: Held) -> Ended:
    """Let a command run, and wait for it."""
    with _patient():
        started = time.monotonic()
        try:
            held.go()
        except NotRunError as error:
            warn(f"{held.name}: {os.strerror(error.number)}")
            return Ended(error.number, time.monotonic() - started)
        code = held.wait()
        return Ended(-code if code < 0 else code, time.monotonic() - started)
