"""A small machine measured once: files, registers and counters before and after, and the frame between.

Everything between is the product's: sources, capabilities, plan, a worker's reading, assembly, frame, catalog.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fakehost import FakeHost, machine
from rowinputs import Row

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.topology import CpuPlace
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.quantities.columns import CounterColumn, Value
from turbotui.quantities.scope import SYSTEM_ROW, RowId, cpu_row
from turbotui.sampling.answers import ReadRequest
from turbotui.sampling.assembly import Assembler, Tick
from turbotui.sampling.capabilities import Capabilities, probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.liveness import Liveness
from turbotui.sampling.plan import make_plan
from turbotui.sampling.selection import signals_of
from turbotui.sampling.workers import Worker
from turbotui.sampling.wraps import WrapCounter
from turbotui.sources import SOURCES

__all__ = ["SECONDS", "Given", "Measured", "Row", "energy_pmu", "file_counters", "gauges", "measure",
           "own_registers", "pmu", "registers", "texts"]

SECONDS = 2.0
"""Length of every interval here: a rate that forgets to divide by it is wrong by half."""

Texts = Mapping[str, str | int]


@dataclass(frozen=True)
class Given:
    """The values of a machine at the start, and their changes at the end.

    Attributes:
        registers, later_registers: address to value, on every CPU.
        own_registers, later_own: (CPU, address) to value, where CPUs differ.
        counters: (perf type, config) to counts a second.
        leaves: CPUID leaf to its four registers.
        cost_ns: time that each read takes.
    """

    files: Texts = field(default_factory=dict)
    later_files: Texts = field(default_factory=dict)
    registers: Mapping[int, int] = field(default_factory=dict)
    later_registers: Mapping[int, int] = field(default_factory=dict)
    own_registers: Mapping[tuple[int, int], int] = field(default_factory=dict)
    later_own: Mapping[tuple[int, int], int] = field(default_factory=dict)
    counters: Mapping[tuple[int, int], float] = field(default_factory=dict)
    leaves: Mapping[int, tuple[int, int, int, int]] = field(default_factory=dict)
    cost_ns: int = 0

    def __or__(self, other: Given) -> Given:
        """Both together; the second wins."""
        return Given(
            {**self.files, **other.files},
            {**self.later_files, **other.later_files},
            {**self.registers, **other.registers},
            {**self.later_registers, **other.later_registers},
            {**self.own_registers, **other.own_registers},
            {**self.later_own, **other.later_own},
            {**self.counters, **other.counters},
            {**self.leaves, **other.leaves},
            max(self.cost_ns, other.cost_ns),
        )


class SlowHost(FakeHost):
    """A fake host whose reads take time."""

    cost_ns = 0

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        self.now += self.cost_ns
        return super().read_at(descriptor, size, offset)


@dataclass(frozen=True)
class Measured:
    """One interval of a machine."""

    frame: Frame
    capabilities: Capabilities
    catalog: Catalog

    def column(self, name: str) -> CounterColumn:
        return self.catalog.by_id[name]

    def cell(self, name: str, row: RowId = SYSTEM_ROW) -> Value:
        return self.frame.cell(self.column(name), row)

    def cpu(self, name: str, cpu: int = 0) -> Value:
        return self.cell(name, cpu_row(cpu))

    def provider(self, name: str) -> str:
        """Id of the source of the column's first signal."""
        return self.capabilities.provider[self.column(name).needs[0]].id


def measure(model: CpuModel, given: Given, places: Sequence[CpuPlace] = ()) -> Measured:
    """Measure one interval of every column that the machine offers."""
    host = SlowHost(files=dict(given.files), counters=dict(given.counters), leaves=dict(given.leaves))
    host.cost_ns = given.cost_ns
    here = machine(host, model, places)
    cpus = here.topology.cpus
    _set(host, cpus, given.registers, given.own_registers)
    capabilities = probe_sources(here, SOURCES)
    catalog = catalog_for(capabilities.signals)
    plan = make_plan(here, capabilities, signals_of(catalog.columns, capabilities))
    assert not plan.dropped
    assembler = Assembler(here.topology, capabilities, plan, WrapCounter(), Liveness())
    worker = Worker("test")
    work = ReadRequest(tuple(task for tasks in plan.tasks.values() for task in tasks), plan.shared, here, print)
    snapshots = []
    for seq in range(2):
        if seq:
            host.now += round(SECONDS * 1e9)
            host.files.update(given.later_files)
            _set(host, cpus, given.later_registers, given.later_own)
        started = host.now
        answer = worker._serve(work)
        assert not answer.failures
        assert not answer.gone
        snapshots.append(assembler.assemble((answer,), Tick(seq, host.wall_ns(), started, frozenset(), 0, 0)))
    return Measured(Frame(snapshots[0], snapshots[1], capabilities), capabilities, catalog)


def _set(host: FakeHost, cpus: Sequence[int], values: Mapping[int, int], own: Mapping[tuple[int, int], int]) -> None:
    for address, value in values.items():
        for cpu in cpus:
            host.registers[cpu, address] = value
    host.registers.update(own)


def registers(rates: Mapping[int, float], start: int = 1_000_000, bits: int = 64) -> Given:
    """Counters in registers that grow by a rate."""
    later = {address: (start + round(rate * SECONDS)) % (1 << bits) for address, rate in rates.items()}
    return Given(registers=dict.fromkeys(rates, start), later_registers=later)


def own_registers(rates: Mapping[tuple[int, int], float], start: int = 1_000_000) -> Given:
    """Counters in registers that grow by a rate, each on its own CPU: (CPU, address) to rate."""
    later = {place: start + round(rate * SECONDS) for place, rate in rates.items()}
    return Given(own_registers=dict.fromkeys(rates, start), later_own=later)


def gauges(values: Mapping[int, int]) -> Given:
    """Registers that stay as they are."""
    return Given(registers=dict(values))


def pmu(name: str, kind: int, events: Mapping[str, tuple[int, float]], more: Mapping[str, str] | None = None) -> Given:
    """A PMU whose events (name to config and counts a second) are described in sysfs."""
    base = f"/sys/bus/event_source/devices/{name}"
    files: dict[str, str | int] = {f"{base}/type": f"{kind}\n", f"{base}/format/event": "config:0-63\n"}
    for event, (config, _) in events.items():
        files[f"{base}/events/{event}"] = f"event={config:#x}\n"
    files |= {f"{base}/{path}": text for path, text in (more or {}).items()}
    return Given(files=files, counters={(kind, config): rate for config, rate in events.values()})


def energy_pmu(name: str, kind: int, watts: Mapping[str, tuple[int, float]], cpumask: str) -> Given:
    """A RAPL PMU in the kernel's unit of 2^-32 J."""
    scale = 2.0**-32
    more = {"cpumask": f"{cpumask}\n"}
    for event in watts:
        more |= {f"events/{event}.unit": "Joules\n", f"events/{event}.scale": "2.3283064365386962890625e-10\n"}
    return pmu(name, kind, {event: (config, watt / scale) for event, (config, watt) in watts.items()}, more)


def file_counters(rates: Mapping[str, float], start: int = 1000) -> Given:
    """Files with a count that grows by a rate."""
    return Given(
        files=dict.fromkeys(rates, f"{start}\n"),
        later_files={path: f"{start + round(rate * SECONDS)}\n" for path, rate in rates.items()},
    )


def texts(files: Mapping[str, str | int]) -> Given:
    """Files that stay as they are."""
    return Given(files=dict(files))


