"""Measures the memory of a simulated machine's model, which a real machine does not need."""

from __future__ import annotations

import multiprocessing
import threading
import tracemalloc
from pathlib import Path

from turbotui import simulated
from turbotui.machine.cpulist import parse_cpu_set
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.sampling.frame import Frame
from turbotui.sampling.selection import default_columns
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES

_FRAMES = 3  # after which everything that is read has been opened
_INTERVAL = 0.5
_PATIENCE = 60.0


def model_megabytes(machine: str, cpus: str) -> float:
    """Return the megabytes that the model's code allocates while its default columns are read.

    Args:
        machine: name of the simulated machine.
        cpus: the CPUs that are watched, "" for all.
    """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (machine, cpus))


def _measured(name: str, cpus: str) -> float:
    tracemalloc.start()
    chosen = parse_cpu_set(cpus) if cpus else None
    machine = read_machine(simulated.simulated_host(name), chosen)
    session = Session(machine, SOURCES, _INTERVAL, LinuxHost(), chosen)
    columns = default_columns(session.catalog, session.capabilities, machine.topology, extras=True)
    session.want(column.id for column in columns)
    done = threading.Event()

    def count(frame: Frame) -> None:
        if frame.seq >= _FRAMES:
            done.set()

    session.start(count)
    done.wait(_PATIENCE)
    model = tracemalloc.Filter(inclusive=True, filename_pattern=str(Path(simulated.__file__).parent / "*"))
    traces = tracemalloc.take_snapshot().filter_traces([model]).traces
    session.stop()
    return sum(trace.size for trace in traces) / 1e6
