"""Readings of this machine that take a millisecond and need no probing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.uname import own_uname
from turbotui.untrusted import decoded, one_line

_READ: Final = 4096  # bytes of /proc/cpuinfo: the first CPU names the model


@dataclass(frozen=True, slots=True)
class OpeningReading:
    """One reading."""

    name: str  # of the machine
    kernel: str  # its release
    model: str = ""  # of the first CPU; "" if unknown
    loads: tuple[float, ...] = ()  # the load averages of 1, 5 and 15 minutes; empty if unknown
    tasks: str = ""  # runnable and existing tasks, such as "3/412"; "" if unknown
    memory_kib: tuple[int, int] | None = None  # available and total memory in KiB; None if unknown
    # busy and total time since boot by CPU, in clock ticks
    ticks: Mapping[int, tuple[int, int]] = field(default_factory=dict)


def read_opening(proc: str = "/proc") -> OpeningReading:
    """Read cheap values; a file that is missing or malformed leaves its part empty."""
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
    return OpeningReading(
        one_line(own_uname().nodename), one_line(own_uname().release), one_line(next(names, "")), loads,
        words[3] if len(words) > 3 else "", available, _ticks(_text(f"{proc}/stat")))


def busy(older: OpeningReading, newer: OpeningReading) -> dict[int, float | None]:
    """Percent of the time between two readings in which each CPU of the newer one was not idle; None if unknown."""
    shares: dict[int, float | None] = {}
    for cpu, (used, whole) in newer.ticks.items():
        before = older.ticks.get(cpu)
        passed = 0 if before is None else whole - before[1]
        shares[cpu] = min(100.0, max(0.0, 100.0 * (used - before[0]) / passed)) if before and passed > 0 else None
    return shares


def _ticks(stat: str) -> dict[int, tuple[int, int]]:
    """Busy and total time of each CPU (proc_stat(5)): neither idle nor iowait; user time contains guest time."""
    ticks = {}
    for line in stat.splitlines():
        name, *fields = line.split()[:9]
        if not name.startswith("cpu"):
            break
        if name[3:].isdecimal() and len(fields) > 4 and all(field.isdecimal() for field in fields):
            times = [int(field) for field in fields]
            ticks[int(name[3:])] = sum(times) - times[3] - times[4], sum(times)
    return ticks


def _text(path: str, most: int = 1 << 20) -> str:
    try:
        with open(path, "rb", buffering=0) as file:
            return decoded(file.read(most) or b"")
    except OSError:
        return ""
