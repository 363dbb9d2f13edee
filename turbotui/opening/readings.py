"""Readings of this machine that take a millisecond, before anything is probed."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.untrusted import decoded, one_line

_READ: Final = 4096  # bytes of /proc/cpuinfo: the first CPU names the model


@dataclass(frozen=True, slots=True)
class Glance:
    """One reading.

    Attributes:
        name: of the machine.
        kernel: its release.
        model: of the first CPU, "" where it is not told.
        loads: the load averages of 1, 5 and 15 minutes; empty where they are not told.
        tasks: runnable and existing tasks, as "3/412"; "" likewise.
        memory_kib: available and total memory in KiB; None likewise.
        ticks: by CPU: busy and all time since boot, in clock ticks.
    """

    name: str
    kernel: str
    model: str = ""
    loads: tuple[float, ...] = ()
    tasks: str = ""
    memory_kib: tuple[int, int] | None = None
    ticks: Mapping[int, tuple[int, int]] = field(default_factory=dict)


def read_glance(proc: str = "/proc") -> Glance:
    """Read what is cheap. A file that is not there, or says something else, leaves its part empty.

    Args:
        proc: where proc(5) is mounted.
    """
    words = _text(f"{proc}/loadavg").split()
    memory = dict(line.split(":", 1) for line in _text(f"{proc}/meminfo").splitlines()[:8] if ":" in line)
    try:
        loads = tuple(float(word) for word in words[:3])
        free, total = (int(memory[name].split()[0]) for name in ("MemAvailable", "MemTotal"))
        available: tuple[int, int] | None = (free, total)
    except (ValueError, KeyError, IndexError):
        loads, available = (), None
    names = (line.partition(":")[2] for line in _text(f"{proc}/cpuinfo", _READ).splitlines()
             if line.startswith("model name"))
    return Glance(one_line(socket.gethostname()), one_line(os.uname().release), one_line(next(names, "")), loads,
                 words[3] if len(words) > 3 else "", available, _ticks(_text(f"{proc}/stat")))


def busy(older: Glance, newer: Glance) -> dict[int, float | None]:
    """Percent of the time between two readings in which each CPU of the newer one was not idle; None: unknown."""
    found: dict[int, float | None] = {}
    for cpu, (used, whole) in newer.ticks.items():
        before = older.ticks.get(cpu)
        passed = 0 if before is None else whole - before[1]
        found[cpu] = min(100.0, max(0.0, 100.0 * (used - before[0]) / passed)) if before and passed > 0 else None
    return found


def _ticks(stat: str) -> dict[int, tuple[int, int]]:
    """Busy and all time of each CPU (proc_stat(5)): neither idle nor waiting for io; guest time is in user time."""
    found = {}
    for line in stat.splitlines():
        name, *fields = line.split()[:9]
        if not name.startswith("cpu"):
            break
        if name[3:].isdecimal() and len(fields) > 4 and all(field.isdecimal() for field in fields):
            times = [int(field) for field in fields]
            found[int(name[3:])] = sum(times) - times[3] - times[4], sum(times)
    return found


def _text(path: str, most: int = 1 << 20) -> str:
    try:
        with open(path, "rb", buffering=0) as file:
            return decoded(file.read(most) or b"")
    except OSError:
        return ""
