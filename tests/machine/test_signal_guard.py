"""Signals are passed on while a block runs, and the handlers are restored afterwards."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import turbotui
from turbotui.machine.signal_guard import guarded_signals


def test_signals_are_handed_on_and_put_back_whatever_happens() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    came: list[int] = []

    def interrupted() -> None:
        with guarded_signals({signal.SIGUSR1: came.append}):
            os.kill(os.getpid(), signal.SIGUSR1)
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert came == [signal.SIGUSR1]
    assert signal.getsignal(signal.SIGUSR1) is before


def test_a_hangup_that_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    came: list[int] = []
    try:
        with guarded_signals({signal.SIGHUP: came.append}):
            os.kill(os.getpid(), signal.SIGHUP)
        assert came == []
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_nobody_else_catches_signals() -> None:
    """A driver of the terminal keeps its own while it lives; a launched command gets back what Python took."""
    home = Path(turbotui.__file__).parent
    found = {path.relative_to(home).as_posix() for path in home.rglob("*.py") if "signal.signal(" in path.read_text()}
    assert found == {"machine/signal_guard.py", "machine/launching.py", "opening/terminal.py", "terminal/driver.py"}
