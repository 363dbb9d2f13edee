"""Measures the CPU time of one sample by the clocks of the reading threads."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from turbotui.machine.host import HostError, msr_device
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.signals import Behavior
from turbotui.sampling.answers import Answer, ReadRequest
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.limits import SHORTEST_INTERVAL
from turbotui.sampling.plan import make_plan
from turbotui.sampling.selection import default_columns
from turbotui.sampling.session import Session
from turbotui.sampling.workers import Worker
from turbotui.simulated import SimulatedHost, simulated_host
from turbotui.sources import SOURCES

_REGISTERS = 0x1000  # where those of Intel's processors are


@dataclass(frozen=True, slots=True)
class SampleCost:
    """Microseconds of CPU time for each CPU and sample."""

    name: str
    microseconds: float


def sample_costs(ticks: int) -> Iterator[SampleCost]:
    """Sample this machine's default columns as fast as allowed, and read the clocks of the reading threads."""
    machine = read_machine(LinuxHost())
    session = Session(machine, SOURCES, SHORTEST_INTERVAL, LinuxHost())
    columns = default_columns(session.catalog, session.capabilities, machine.topology, extras=True)
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


def register_cost(registers: int, rounds: int) -> float:
    """Return the microseconds of CPU time in which a worker's thread reads a number of registers, one pread(2) each.

    Files hold the registers of a simulated machine in place of the MSR device: all that a sample costs but the
    instruction itself.
    """
    with tempfile.TemporaryDirectory() as root:
        simulated = simulated_host("sapphire-2s")
        _copy_registers(simulated, 0, Path(root) / "dev/cpu/0/msr")
        machine = replace(read_machine(simulated, frozenset({0})), host=_Files(root))
        capabilities = probe_sources(machine, [source for source in SOURCES if source.id in ("msr", "msr-settings")])
        names = sorted(item.id for item in capabilities.signals.values() if item.behavior is not Behavior.CONSTANT)
        plan = make_plan(machine, capabilities, frozenset(names[:registers]))
        answered = threading.Event()

        def reply(_answer: Answer) -> None:
            answered.set()

        worker = Worker("registers")
        worker.start()
        clock = time.pthread_getcpuclockid(worker.ident or 0)
        used: list[int] = []
        for _ in range(rounds):
            before = time.clock_gettime_ns(clock)
            answered.clear()
            worker.ask(ReadRequest(plan.tasks[0], (), machine, reply))
            answered.wait()
            used.append(time.clock_gettime_ns(clock) - before)
        worker.end()
        worker.join()
    return sorted(used)[rounds // 2] / 1e3


class _Files(LinuxHost):
    """Registers as files of eight bytes each; in one file by address, as in the device, they would overlap."""

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        return super().read_at(descriptor, size, offset * 8)


def _copy_registers(host: SimulatedHost, cpu: int, file: Path) -> None:
    file.parent.mkdir(parents=True)
    device = host.open_file(msr_device(cpu))
    with file.open("wb") as copy:
        for address in range(_REGISTERS):
            try:
                word = host.read_at(device, 8, address)
            except HostError:
                continue  # the machine has no such register
            copy.seek(address * 8)
            copy.write(word)
    host.close(device)


def _clocks() -> dict[str, float]:
    return {
        thread.name: time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
        for thread in threading.enumerate()
        if thread.ident is not None
    }
