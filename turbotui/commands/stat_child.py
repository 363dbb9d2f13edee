"""Command mode of `turbotui stat`: the counters from a command's start to its end (turbostat-spec 1.10)."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from turbotui.commands.stat_streams import warn
from turbotui.machine.host import HostError
from turbotui.machine.linux import LinuxHost

_POSSIBLE = 8192  # CPU numbers end here (turbostat-spec 1.5); the kernel takes what of a mask exists


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


def _start(words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the command; on a thread of its own, whose CPUs it inherits: those of the first one are the process's."""
    try:
        LinuxHost().pin_this_thread(range(_POSSIBLE))
    except HostError as error:
        warn(f"the command keeps turbotui's own CPUs: {error}")
    return subprocess.Popen(words)  # noqa: S603 - running it is what was asked for


def run_command(words: Sequence[str]) -> Ended:
    """Run a command on any CPU and wait for it."""
    with _patient(), ThreadPoolExecutor(1) as starter:
        started = time.monotonic()
        try:
            process = starter.submit(_start, words).result()
        except OSError as error:
            warn(f"{words[0]}: {error.strerror or error}")
            return Ended(error.errno or 1, time.monotonic() - started)
        code = process.wait()
        return Ended(-code if code < 0 else code, time.monotonic() - started)
