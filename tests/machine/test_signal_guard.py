"""Signals are handed on while a block runs, and everything is as it was after it."""

from __future__ import annotations

import os
import signal

import pytest

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
