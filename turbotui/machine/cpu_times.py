"""CPU times by /proc/stat (proc_stat(5)), which show whether other work disturbs a measurement."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host
from turbotui.machine.small_files import text_of
from turbotui.quantities.plain_numbers import whole_number, whole_numbers

PATH: Final = "/proc/stat"
_IDLE: Final = (3, 4)  # idle and iowait
_STEAL: Final = 7
_FIELDS: Final = 8  # user to steal: guest time is in user time already


@dataclass(frozen=True, slots=True)
class CpuTicks:
    """Ticks of one CPU since the start of the machine."""

    total: int
    idle: int  # without work
    stolen: int  # those in which the hypervisor ran others


def times_in(stat: bytes, word: bytes) -> tuple[int, int] | None:
    """All ticks and those without work in one row of /proc/stat; None if it has no such row.

    Asked for each busy CPU at every tick: no other row is parsed, and no object is made, since after a second's rest
    each new line of the cache counts.

    Args:
        word: the row's first, with the blank behind it.
    """
    start = stat.find(word)
    if start < 0:
        return None
    ticks = whole_numbers(stat[start: stat.find(b"\n", start)].split(None, _FIELDS + 1)[1: _FIELDS + 1])
    if len(ticks) < _FIELDS or None in ticks:
        return None
    numbers = cast("Sequence[int]", ticks)
    return sum(numbers), numbers[_IDLE[0]] + numbers[_IDLE[1]]


def _ticks(fields: Sequence[str]) -> CpuTicks | None:
    ticks = [number for number in whole_numbers(fields[:_FIELDS]) if number is not None]
    if len(ticks) < _FIELDS:  # kernels before 2.6.11 have no steal time
        return None
    return CpuTicks(sum(ticks), sum(ticks[at] for at in _IDLE), ticks[_STEAL])


def read_cpu_times(host: Host) -> Mapping[int, CpuTicks]:
    """Return the times of all online CPUs; empty if they cannot be read."""
    times = {}
    for line in text_of(host, PATH).splitlines():
        word, _, rest = line.partition(" ")
        cpu = whole_number(word[3:]) if word.startswith("cpu") else None
        if cpu is None:
            continue
        if (ticks := _ticks(rest.split())) is not None:
            times[cpu] = ticks
    return times


def busy_between(older: Mapping[int, CpuTicks], newer: Mapping[int, CpuTicks], cpus: Iterable[int]) -> float:
    """Return the average number of busy CPUs between two readings: 1.5 is one always, and another half the time."""
    return math.fsum(_share(older[cpu], newer[cpu], idle=True) for cpu in cpus if cpu in older and cpu in newer)


def stolen_between(older: Mapping[int, CpuTicks], newer: Mapping[int, CpuTicks], cpus: Iterable[int]) -> float:
    """Return the largest share of time, 0 to 1, that a hypervisor took from one of some CPUs between two readings."""
    return max((_share(older[cpu], newer[cpu], idle=False) for cpu in cpus if cpu in older and cpu in newer),
               default=0.0)


def _share(older: CpuTicks, newer: CpuTicks, *, idle: bool) -> float:
    total = newer.total - older.total
    if total <= 0:  # two readings within a tick of 1/USER_HZ, 10 ms; iowait may also fall (proc_stat(5))
        return 0.0
    share = (newer.idle - older.idle) / total if idle else (newer.stolen - older.stolen) / total
    return min(1.0, max(0.0, 1.0 - share if idle else share))
