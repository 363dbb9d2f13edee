"""What holds for every test."""

from __future__ import annotations

import signal
import statistics
import sys
import time
from pathlib import Path

import pytest
from hypothesis import settings

# what every folder's tests share, and the screens' tests, is found whatever pytest's import mode is
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "ui")]

# how long an example takes says something of what else the machine does, and nothing of the code
settings.register_profile("turbotui", deadline=None)
settings.load_profile("turbotui")

# A suite that a shell began in the background, or nohup(1), ignores these, and what is ignored stays so across exec:
# the programs of tests could not be interrupted. What is caught is as usual in them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda _number, _frame: None)

_LOOKS, _REST = 5, 0.02
_EVERY = 20.0  # seconds for which a look holds
_MOST = 0.006  # of the pilot's 20 ms: more than that is work


class _Idle:
    """How much CPU time a thread needs on this machine to do nothing for 20 ms, looked at now and then."""

    def __init__(self) -> None:
        self.looked = -_EVERY
        self.seconds = 0.0

    def look(self) -> float:
        if time.monotonic() - self.looked >= _EVERY:
            self.looked = time.monotonic()
            costs = []
            for _ in range(_LOOKS):
                before = time.process_time()
                time.sleep(_REST)
                costs.append(time.process_time() - before)
            self.seconds = statistics.median(costs)
        return self.seconds


@pytest.fixture(scope="session")
def idle() -> _Idle:
    return _Idle()


@pytest.fixture(autouse=True)
def _the_pilot_knows_what_idle_is_here(idle: _Idle, monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual's pilot goes on when a program uses less than 1 ms of CPU time in 20 ms, or after a second.

    On a virtual machine whose host is busy, waking up alone costs that, and every key would take two seconds.
    """
    waiting = sys.modules.get("textual._wait")
    if waiting is not None:
        usual = vars(waiting)["SLEEP_IDLE"]
        monkeypatch.setattr(waiting, "SLEEP_IDLE", min(_MOST, max(usual, 4 * idle.look())))
