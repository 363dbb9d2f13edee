"""What holds for every test."""

from __future__ import annotations

import gc
import os
import signal
import statistics
import sys
import time
from pathlib import Path

import pytest
from hypothesis import settings

# what every folder's tests share, and the screens' tests, is found whatever pytest's import mode is
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "app")]

# Images of containers often forbid bytecode. Then each of the programs that tests start, and each of xdist's processes,
# compiles all of turbotui anew: more than half of what `turbotui stat` costs.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    sys.dont_write_bytecode = False

# how long an example takes says something of what else the machine does, and nothing of the code
settings.register_profile("turbotui", deadline=None, database=None)
settings.register_profile("thorough", deadline=None, database=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "turbotui"))

# A suite that a shell began in the background, or nohup(1), ignores these, and what is ignored stays so across exec:
# the programs of tests could not be interrupted. What is caught is as usual in them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda _number, _frame: None)

# what tests start is looked at by nobody who could end the tour
os.environ["TURBOTUI_TOUR"] = "0"

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


_WAITING = ("e2e", "guest", "bed")
"""Folders whose tests wait minutes for terminals and emulated machines: begun first, they end while others compute."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that wait longest; the order within a folder stays (xdist: --no-loadscope-reorder)."""
    here = Path(__file__).parent
    items.sort(key=lambda item: item.path.relative_to(here).parts[0] not in _WAITING)


def pytest_collection_finish() -> None:
    """Have the garbage collector leave alone what was imported: to look through it again and again takes a tenth."""
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers() -> int:
    """Two workers more than there are CPUs for `-n auto`: at any time some wait for a terminal, a machine or a pilot.

    With one more, workers waited for half of the seconds of their tests, and CPUs for a quarter of the suite's.
    """
    return len(os.sched_getaffinity(0)) + 2
