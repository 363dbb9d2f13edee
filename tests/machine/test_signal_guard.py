"""Signals are passed on while a block runs, and the handlers are restored afterwards."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import weakref
from pathlib import Path

import pytest
from patience import PATIENCE

import turbotui
from turbotui.commands.intervals import IntervalOutput
from turbotui.errors import SignalledError
from turbotui.machine.observing import observe
from turbotui.machine.signal_guard import ended_by_signals, ending_signals, guarded_signals, noticed_signals


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


def test_a_signal_whose_exception_python_drops_is_raised_again() -> None:
    hook = sys.unraisablehook

    def work() -> None:
        thing = type("Thing", (), {})()
        reference = weakref.ref(thing, lambda _gone: signal.raise_signal(signal.SIGUSR2))
        with ended_by_signals():
            del thing
            assert reference() is None
            threading.Event().wait(PATIENCE)  # which the signal ends

    with pytest.raises(SignalledError) as ended:
        work()
    assert ended.value.number == signal.SIGUSR2
    assert sys.unraisablehook is hook


def test_work_is_asked_once_to_end_and_its_status_is_the_first_signal_s() -> None:
    asked: list[int] = []
    with ending_signals(lambda: asked.append(1)) as ended:
        assert (ended.number, ended.status) == (0, 0)
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGHUP):  # a terminal and sudo(8) send the same at once
            signal.raise_signal(number)
    assert (asked, ended.status) == ([1], 143)
    with ending_signals(lambda: None) as ended:
        signal.raise_signal(signal.SIGINT)
    assert (ended.number, ended.status) == (signal.SIGINT, 0)


@pytest.mark.parametrize("wait", ["lock", "epoll"])
def test_a_signal_that_ends_no_wait_is_handled_at_once(wait: str) -> None:
    """By the kernel's choice of another thread, which ends no wait of the first: as if it had come just before."""
    waited, wake = os.pipe()
    over = threading.Lock()
    over.acquire()
    came: list[int] = []

    def handle(number: int) -> None:
        came.append(number)
        if len(came) == 3:
            over.release()
            os.write(wake, b"x")

    def elsewhere() -> None:
        for times in range(3):
            if not given_up.is_set():
                signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
            while len(came) == times and not given_up.wait(0.001):
                pass

    given_up = threading.Event()
    thread = threading.Thread(target=elsewhere)
    with guarded_signals({signal.SIGUSR1: handle}), noticed_signals(), select.epoll() as poll:
        poll.register(waited, select.EPOLLIN)
        thread.start()
        ended = over.acquire(timeout=PATIENCE) if wait == "lock" else poll.poll(PATIENCE)
        given_up.set()
        thread.join()
    assert ended
    assert came == [signal.SIGUSR1] * 3
    assert signal.set_wakeup_fd(-1) == -1
    os.close(waited)
    os.close(wake)


def test_every_verb_that_waits_notices_signals() -> None:
    """Work that ends by a signal, output until SIGINT, and a command under observation."""
    before = threading.active_count()

    def threads() -> list[str]:
        return [thread.name for thread in threading.enumerate()[before:]]

    with ending_signals(lambda: None):
        assert threads() == ["signals"]
    with IntervalOutput(None).until_interrupted():
        assert threads() == ["signals"]
    with observe(["true"]) as seen:
        seen.run()
        assert threads() == ["signals"]
        seen.wait()
    assert threads() == []


def test_work_that_does_not_end_is_ended_by_another_signal() -> None:
    def work() -> None:
        with ending_signals(lambda: None, patience=-1.0):
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGUSR2)

    with pytest.raises(SignalledError) as left:
        work()
    assert left.value.exit_status == 140


def test_nobody_else_catches_signals() -> None:
    """A driver of the terminal keeps its own while it lives; a launched command gets back what Python took."""
    home = Path(turbotui.__file__).parent
    result = {path.relative_to(home).as_posix() for path in home.rglob("*.py") if "signal.signal(" in path.read_text()}
    assert result == {"machine/signal_guard.py", "machine/launching.py", "opening/terminal.py", "terminal/driver.py"}
