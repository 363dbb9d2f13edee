"""Compares the CPU time of `turbotui stat` with that of the C turbostat (Debian: linux-cpupower) in one run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

OURS: tuple[str, ...] = (sys.executable, "-m", "turbotui", "stat")
THEIRS = "turbostat"


@dataclass(frozen=True, slots=True)
class TextCost:
    """The cost of a program with text output.

    Attributes:
        name: of the program.
        start_ms: milliseconds of CPU time until its first interval begins, and to end.
        interval_ms: milliseconds of CPU time for each interval.
        refused: its last words if it does not run here, else "".
    """

    name: str
    start_ms: float
    interval_ms: float
    refused: str = ""


def text_costs(seconds: float, intervals: int) -> Iterator[TextCost]:
    """Measure turbostat and turbotui, each with its own default columns, then turbotui with turbostat's.

    turbostat has no column of a register or PMU that it does not know on a processor; turbotui may.

    Args:
        seconds: length of an interval.
        intervals: how many are measured, beyond the one of the start.
    """
    if shutil.which(THEIRS) is None:
        yield TextCost(THEIRS, 0.0, 0.0, "it is not installed (Debian: apt install linux-cpupower)")
    else:
        yield _cost(THEIRS, (THEIRS,), seconds, intervals)
    yield _cost("turbotui stat", OURS, seconds, intervals)
    columns = _columns_of_turbostat()
    if columns:
        yield _cost(f"turbotui stat, turbostat's {columns.count(',') + 1} columns", (*OURS, "--show", columns), seconds,
                    intervals)


def _columns_of_turbostat() -> str:
    """Return the titles of turbostat's default columns, joined by commas; "" if it does not run."""
    if shutil.which(THEIRS) is None:
        return ""
    ran = subprocess.run((THEIRS, "--quiet", "--interval", "0.1", "--num_iterations", "1"), capture_output=True,  # noqa: S603 - as below
                         text=True, check=False, stdin=subprocess.DEVNULL)
    return ",".join(ran.stdout.partition("\n")[0].split())


def _cost(name: str, command: Sequence[str], seconds: float, intervals: int) -> TextCost:
    words = [*command, "--quiet", "--interval", f"{seconds:g}", "--num_iterations"]
    short, refused = _cpu_seconds([*words, "1"])
    if refused:
        return TextCost(name, 0.0, 0.0, refused)
    long, refused = _cpu_seconds([*words, str(1 + intervals)])
    each = (long - short) / intervals
    return TextCost(name, 1e3 * (short - each), 1e3 * each, refused)


def _cpu_seconds(words: Sequence[str]) -> tuple[float, str]:
    """Return user and system time of a program (wait4(2)), and its last output if it failed."""
    with tempfile.TemporaryFile() as errors, subprocess.Popen(  # noqa: S603 - the two programs that are compared
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
    ) as process:
        _pid, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        last = errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
    failed = f"status {process.returncode}: {last}" if process.returncode else ""
    return usage.ru_utime + usage.ru_stime, failed
