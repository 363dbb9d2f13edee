"""Two processes that do nothing but switch: a byte goes to and fro over two pipes, both on one CPU."""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from typing import Final

_WARM: Final = 200  # round trips before the clocks are read


@dataclass(frozen=True, slots=True)
class Rally:
    """What a number of round trips took; each is two switches.

    Attributes:
        wall: seconds from the first to the last.
        used: CPU seconds of both processes, which other work on the CPU does not lengthen.
        switches: of both processes, as getrusage(2) counts them.
    """

    wall: float
    used: float
    switches: int


def rally(trips: int, cpu: int) -> Rally:
    """Play; the caller stays on the CPU afterwards."""
    os.sched_setaffinity(0, {cpu})
    to_child, from_parent = os.pipe()
    to_parent, from_child = os.pipe()
    child = os.fork()
    if not child:
        for _ in range(_WARM + trips):
            os.read(to_child, 1)
            os.write(from_child, b"x")
        os._exit(0)
    for _ in range(_WARM):
        os.write(from_parent, b"x")
        os.read(to_parent, 1)
    began, used = time.perf_counter(), time.process_time()
    for _ in range(trips):
        os.write(from_parent, b"x")
        os.read(to_parent, 1)
    wall, used = time.perf_counter() - began, time.process_time() - used
    _pid, _status, other = os.wait4(child, 0)
    share = trips / (trips + _WARM)
    switches = (other.ru_nvcsw + other.ru_nivcsw) * 2
    return Rally(wall, used + (other.ru_utime + other.ru_stime) * share, round(switches * share))


def main() -> int:
    """Play once, and print wall seconds, CPU seconds and switches."""
    parser = argparse.ArgumentParser(prog="python -m turbotui.bench.ping_pong", description=__doc__)
    parser.add_argument("--trips", type=int, default=20_000)
    parser.add_argument("--cpu", type=int, default=min(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    found = rally(arguments.trips, arguments.cpu)
    print(found.wall, found.used, found.switches)
    return 0


if __name__ == "__main__":
    sys.exit(main())
