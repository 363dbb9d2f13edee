"""CPU time of one sample, by the reading threads' own clocks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.sampling.limits import SHORTEST_INTERVAL
from turbotui.sampling.selection import default_columns
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES


@dataclass(frozen=True, slots=True)
class SampleCost:
    """Microseconds of CPU time for each CPU and sample."""

    name: str
    microseconds: float


def sample_costs(ticks: int) -> Iterator[SampleCost]:
    """Sample this machine's default columns as fast as allowed, and read the clocks of the reading threads."""
    machine = read_machine(LinuxHost())
    session = Session(machine, SOURCES, SHORTEST_INTERVAL, LinuxHost())
    columns = default_columns(session.catalog, session.census, machine.topology, extras=True)
    session.want(column.id for column in columns)
    done = threading.Event()
    marks: list[dict[str, float]] = []

    def count(frame: object) -> None:
        seq = getattr(frame, "seq", 0)
        if seq in (1, ticks):
            marks.append(_clocks())
        if seq >= ticks:
            done.set()

    session.start(count)
    done.wait(ticks * SHORTEST_INTERVAL * 4 + 10)
    session.stop()
    cpus = len(machine.topology.cpus)
    used = {name: marks[1][name] - marks[0].get(name, 0.0) for name in marks[1]}
    own = sum(value for name, value in used.items() if name.startswith("cpu"))
    shared = sum(value for name, value in used.items() if name == "shared")
    yield SampleCost("counters of the CPU itself", 1e6 * own / cpus / (ticks - 1))
    yield SampleCost("files that hold all CPUs, its share", 1e6 * shared / cpus / (ticks - 1))


def _clocks() -> dict[str, float]:
    return {
        thread.name: time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
        for thread in threading.enumerate()
        if thread.ident is not None
    }
