"""Command mode of `turbotui stat`: the counters from a command's start to its end (turbostat-spec 1.10)."""

from __future__ import annotations

import os
import signal
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass

from turbotui.commands.stat_streams import warn
from turbotui.machine.launching import Held, NotRunError
from turbotui.machine.signal_guard import guarded_signals


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


def _patient() -> AbstractContextManager[None]:
    """SIGINT and SIGQUIT are the command's."""
    return guarded_signals(dict.fromkeys((signal.SIGINT, signal.SIGQUIT), lambda _number: None))


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
