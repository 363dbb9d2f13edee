"""Two processes on one CPU that only switch, by passing a byte to and fro over two pipes."""

from __future__ import annotations

import argparse
import os
import resource
import struct
import sys
import time
from dataclasses import dataclass
from typing import Final

_WARM: Final = 0.4  # seconds of play before the clocks are read: a watcher needs 0.2 s to see what tasks these are
_REST: Final = 1e-4  # seconds between two bytes of that time, so that rings have room for what counts
_MARK: Final = b"m"  # the byte at which the other process reads its clock
_ANSWER: Final = struct.Struct("dq")


@dataclass(frozen=True, slots=True)
class Rally:
    """The cost of a number of round trips, of two switches each.

    Attributes:
        wall: seconds from the first to the last.
        used: CPU seconds of both processes, which other work on the CPU does not lengthen.
        switches: of both processes, as getrusage(2) counts them.
    """

    wall: float
    used: float
    switches: int


def rally(trips: int, cpu: int) -> Rally:
    """Run the round trips; the caller stays pinned to the CPU afterwards."""
    os.sched_setaffinity(0, {cpu})
    to_child, from_parent = os.pipe()
    to_parent, from_child = os.pipe()
    child = os.fork()
    if not child:
        os.close(from_parent)
        _return_every_byte(to_child, from_child)
        os._exit(0)
    warm = time.perf_counter() + _WARM
    while time.perf_counter() < warm:
        os.write(from_parent, b"x")
        os.read(to_parent, 1)
        time.sleep(_REST)
    os.write(from_parent, _MARK)
    os.read(to_parent, 1)
    began, used, switches = time.perf_counter(), time.process_time(), _switches()
    for _ in range(trips):
        os.write(from_parent, b"x")
        os.read(to_parent, 1)
    wall, used, switches = time.perf_counter() - began, time.process_time() - used, _switches() - switches
    os.close(from_parent)
    other, others = _ANSWER.unpack(os.read(to_parent, _ANSWER.size))
    os.waitpid(child, 0)
    return Rally(wall, used + other, switches + others)


def _return_every_byte(come: int, go: int) -> None:
    """Return bytes until the other end closes, then report the time since the mark."""
    used, switches = 0.0, 0
    while byte := os.read(come, 1):
        if byte == _MARK:
            used, switches = time.process_time(), _switches()
        os.write(go, byte)
    os.write(go, _ANSWER.pack(time.process_time() - used, _switches() - switches))


def _switches() -> int:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw + usage.ru_nivcsw


def main() -> int:
    """Run once, and print wall seconds, CPU seconds and switches."""
    parser = argparse.ArgumentParser(prog="python -m bench.ping_pong", description=__doc__)
    parser.add_argument("--trips", type=int, default=20_000)
    parser.add_argument("--cpu", type=int, default=min(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    rally_cost = rally(arguments.trips, arguments.cpu)
    print(rally_cost.wall, rally_cost.used, rally_cost.switches)
    return 0


if __name__ == "__main__":
    sys.exit(main())
