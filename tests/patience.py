"""How long tests wait for what must come: only a failure takes so long, so a busy machine is no failure."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, ParamSpec

PATIENCE: Final = float(os.environ.get("TURBOTUI_TEST_PATIENCE", "240"))
"""Seconds; less than pytest's faulthandler_timeout, so that a test says what it waited for.

`.ci/mutants --promises`, where failing is what is waited for, makes it shorter."""
ENDED_BY_THE_TEST: Final = 3600.0
"""Nominal seconds of intervals that a test ends itself.

A reading may take half of an interval before it counts as late, and the model of a large machine took more than 30 s
where twenty busy threads shared two CPUs.
"""
_P = ParamSpec("_P")
_TRIES: Final = 4


def least_disturbed(test: Callable[_P, None]) -> Callable[_P, None]:
    """Run a test of the real kernel's counters again while it fails, up to four runs: one has to be undisturbed.

    For claims about readings of a program that runs beside the test. Where this machine stops the test for a second
    between two readings, the kernel has counted on, and samples that nobody took are lost: no tolerance covers that.
    Files that the test makes are there again in the next run.
    """
    @functools.wraps(test)
    def judged(*args: _P.args, **kwargs: _P.kwargs) -> None:
        before: list[str] = []
        while True:
            try:
                return test(*args, **kwargs)
            except AssertionError as failed:
                if len(before) == _TRIES - 1:
                    failed.add_note("\n".join(["The runs before:", *before]))
                    raise
                before.append(str(failed))

    return judged


def but_for_missed_deadlines(errors: str) -> list[str]:
    """Return the lines of stderr, but for what a busy machine adds: that readings took longer than an interval."""
    return [line for line in errors.splitlines() if not re.search("deadlines? (was|were) missed|came too late", line)]


def until_gone(pid: int) -> None:
    """Wait until a process has ended, whether or not it was waited for."""
    end = time.monotonic() + PATIENCE
    while not is_gone(pid):
        assert time.monotonic() < end, f"process {pid} does not end"
        time.sleep(0.001)


def is_gone(pid: int) -> bool:
    """Whether a process has ended, whether or not it was waited for (proc_pid_stat(5))."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(") ")[2][:1] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def until_listening(path: Path, process: subprocess.Popen[Any]) -> None:
    """Wait until a collector listens at a socket's path, which it then shows."""
    while not path.exists():
        assert process.poll() is None, process.stderr.read() if process.stderr else b""
        time.sleep(0.01)
