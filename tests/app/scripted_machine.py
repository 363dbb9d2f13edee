"""A scripted machine: real topology, capabilities, catalog and frames over counters that a formula moves, no thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from turbotui.app.sessions import CollectorSession
from turbotui.events.set_files import EventSet
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import HostError, HostKind, Privileges
from turbotui.machine.machine import Machine
from turbotui.machine.platforms import platform_of
from turbotui.machine.topology import CpuPlace, Topology, topology_of
from turbotui.quantities.added import AddedCounter, RegisterAt, parse_added
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.quantities.catalog.added import with_added
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import OwnCost
from turbotui.sampling.snapshot import Snapshot
from turbotui.sources.proc_stat import times_together
from turbotui.sources.source import Probe, Source

BASE_HZ = 2_000_000_000
TSC_HZ = 2_000_000_000
PRIVILEGES = Privileges(0, 0, 2, (1024, 4096))


class FakeHost:
    """Has a name, a kind and a kernel release; everything else is refused."""

    def __init__(self, name: str, kind: HostKind) -> None:
        self.name = name
        self.kind = kind
        self.pins = False

    def read_text(self, path: str) -> str:
        if path == "/proc/sys/kernel/osrelease":
            return "6.18.0\n"
        raise HostError(2, path)

    def list_dir(self, path: str) -> tuple[str, ...]:
        raise HostError(2, path)

    def exists(self, path: str) -> bool:
        return False

    def now_ns(self) -> int:
        return 0

    def open_file(self, path: str) -> int:
        raise HostError(2, path)

    def privileges(self) -> Privileges:
        return PRIVILEGES

    def __getattr__(self, name: str) -> object:
        raise AttributeError(f"the dashboard asked the host for {name}")


class FakeSource:
    """Stands in the capabilities; is never opened."""

    id = "scripted"
    title = "scripted"
    gives = "everything"
    shared = True


def build_topology(packages: int = 2, cores: int = 4, smt: int = 2, *, types: bool = False) -> Topology:
    """Packages of `cores` cores of `smt` CPUs, numbered as Linux does: all first siblings, then all second ones."""
    places = []
    total = packages * cores
    for package in range(packages):
        for core in range(cores):
            for sibling in range(smt):
                cpu = sibling * total + package * cores + core
                kind = ("P" if core < cores // 2 else "E") if types else None
                places.append(
                    CpuPlace(cpu=cpu, package=package, die=0, l3=package * cores, node=package, module=core,
                             core=core * 2, core_type=kind, smt=sibling)
                )
    return topology_of(places)


def _signal(name: SignalId, scope: Scope, unit: Unit, behavior: Behavior, reduce: Reduce, **more: object) -> Signal:
    return Signal(name, scope, unit, behavior, reduce, origin=f"scripted {name} of cpu {{cpu}}",
                  document="a script", **more)  # type: ignore[arg-type]


COUNTER, GAUGE, CONSTANT = Behavior.COUNTER, Behavior.GAUGE, Behavior.CONSTANT

SIGNALS: tuple[Signal, ...] = (
    _signal("tsc", Scope.CPU, Unit.CYCLE, COUNTER, Reduce.MEAN),
    _signal("aperf", Scope.CPU, Unit.CYCLE, COUNTER, Reduce.MEAN),
    _signal("mperf", Scope.CPU, Unit.CYCLE, COUNTER, Reduce.MEAN),
    _signal("instructions", Scope.CPU, Unit.COUNT, COUNTER, Reduce.MEAN),
    _signal("base_hz", Scope.SYSTEM, Unit.HERTZ, CONSTANT, Reduce.SAME, constant=BASE_HZ),
    _signal("cstate.core.c6", Scope.CORE, Unit.CYCLE, COUNTER, Reduce.MEAN),
    _signal("cstate.pkg.c6", Scope.PACKAGE, Unit.CYCLE, COUNTER, Reduce.MEAN),
    _signal("temp.core", Scope.CORE, Unit.CELSIUS, GAUGE, Reduce.MAX),
    _signal("temp.pkg", Scope.PACKAGE, Unit.CELSIUS, GAUGE, Reduce.MAX),
    _signal("energy.pkg", Scope.PACKAGE, Unit.JOULE, COUNTER, Reduce.SUM, scale=1e-3),
    _signal("limit.pkg.pl1", Scope.PACKAGE, Unit.WATT, GAUGE, Reduce.SUM),
    _signal("irq.total", Scope.CPU, Unit.COUNT, COUNTER, Reduce.SUM),
    _signal("cpufreq.hw_max", Scope.CPU, Unit.HERTZ, GAUGE, Reduce.MEAN),
    _signal("cpufreq.governor", Scope.CPU, Unit.TEXT, GAUGE, Reduce.SAME),
    *(
        _signal(f"stat.{word}", Scope.CPU, Unit.SECOND, COUNTER, Reduce.SUM, scale=0.01)
        for word in ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    ),
)

SIGNALS += tuple(times_together({signal.id: signal for signal in SIGNALS}).values())

GUEST_SIGNALS = frozenset({"tsc", "irq.total", *(signal.id for signal in SIGNALS if signal.id.startswith("stat."))})
"""What a virtual machine without counters offers."""


def load_of(cpu: int, tick: int) -> float:
    """Busy share of a CPU in the interval before a tick: CPU 3 always busiest, then falling with the number."""
    if cpu == 3:
        return 0.97
    return round(0.8 / (1 + cpu) + 0.02 * ((tick * 7 + cpu * 3) % 5), 4)


def clock_of(cpu: int, tick: int) -> float:
    """Hz while busy."""
    return 1.2e9 + 2.2e9 * load_of(cpu, tick)


@dataclass
class Script:
    """Moves the counters. `hole` names (signal, instance position) pairs that cannot be read."""

    topology: Topology
    load: Callable[[int, int], float] = load_of
    hole: frozenset[tuple[SignalId, int]] = frozenset()
    totals: dict[tuple[SignalId, int], float] = field(default_factory=dict)

    def _rate(self, name: SignalId, position: int, tick: int) -> float:
        """Raw units a second."""
        topology = self.topology
        if name.startswith("added."):
            return 1000.0
        scope = next(signal.scope for signal in SIGNALS if signal.id == name)
        cpus = topology.instances(scope)[position].cpus
        loads = [self.load(cpu, tick) for cpu in cpus]
        mean = sum(loads) / len(loads)
        match name:
            case "tsc":
                return TSC_HZ
            case "mperf":
                return TSC_HZ * mean
            case "aperf":
                return clock_of(cpus[0], tick) * mean
            case "instructions":
                return clock_of(cpus[0], tick) * mean * 1.5
            case "cstate.core.c6" | "cstate.pkg.c6":
                return TSC_HZ * max(0.0, 1 - max(loads)) * 0.8
            case "energy.pkg":
                return (40 + 12 * sum(loads)) * 1000
            case "irq.total":
                return 100 + 900 * mean
            case "stat.user":
                return 80 * mean
            case "stat.system":
                return 20 * mean
            case "stat.idle":
                return 100 * (1 - mean)
        return 0.0

    def _gauge(self, name: SignalId, position: int, tick: int) -> Raw:
        if name == "cpufreq.governor":
            return "performance"
        if name == "cpufreq.hw_max":
            return 3_500_000_000
        if name == "limit.pkg.pl1":
            return 350
        scope = next(signal.scope for signal in SIGNALS if signal.id == name)
        cpus = self.topology.instances(scope)[position].cpus
        return round(38 + 55 * max(self.load(cpu, tick) for cpu in cpus))

    def snapshot(self, tick: int, seconds: float, signals: Mapping[SignalId, Signal]) -> Snapshot:
        """The machine after `tick` intervals."""
        values: dict[SignalId, list[Raw]] = {}
        stamps: dict[SignalId, list[int]] = {}
        now = round(tick * seconds * 1e9) + 1_000_000
        for name, signal in signals.items():
            if signal.behavior is CONSTANT or signal.made_of:
                continue
            row: list[Raw] = []
            for position in range(len(self.topology.instances(signal.scope))):
                if signal.behavior is COUNTER:
                    key = (name, position)
                    if tick:
                        self.totals[key] = self.totals.get(key, 0.0) + self._rate(name, position, tick) * seconds
                    row.append(round(self.totals.get(key, 0.0)))
                else:
                    row.append(self._gauge(name, position, tick))
                if (name, position) in self.hole:
                    row[-1] = None
            values[name] = row
            stamps[name] = [now] * len(row)
        return Snapshot(seq=tick, wall_ns=now, started_ns=now, topology=self.topology, values=values, stamps=stamps,
                        span_ns=900_000, busy_ns=500_000)


class FakeSession:
    """A session whose ticks the test triggers."""

    def __init__(self, topology: Topology | None = None, *, kind: HostKind = HostKind.SIMULATED, name: str = "scripted",
                 signals: Iterable[SignalId] | None = None, script: Script | None = None) -> None:
        self.topology = topology or build_topology()
        wanted = {signal.id for signal in SIGNALS} if signals is None else set(signals)
        known = {signal.id: signal for signal in SIGNALS if signal.id in wanted}
        missing = {
            signal.id: Unavailable(Reason.VIRTUALISED, f"{signal.id} is not offered to this virtual machine")
            for signal in SIGNALS
            if signal.id not in wanted
        }
        missing["energy.ram"] = Unavailable(Reason.NO_DRIVER, "no powercap driver", "modprobe intel_rapl_msr")
        source = FakeSource()
        self.capabilities = Capabilities((source,), {"scripted": Probe({**known, **missing})}, known,  # type: ignore[arg-type]
                                         dict.fromkeys(known, source), missing)  # type: ignore[arg-type]
        model = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=143,
                         name="Intel(R) Xeon(R) Platinum 8480+")
        self.machine = Machine(FakeHost(name, kind), self.topology, model, platform_of(model),  # type: ignore[arg-type]
                               PRIVILEGES)
        self.catalog: Catalog = catalog_for(known)
        self.latest: Frame | None = None
        self.added: tuple[AddedCounter, ...] = ()
        self.find_sets: Callable[[], Mapping[str, EventSet]] = dict
        self.texts: dict[ColumnId, str] = {}
        self.interval = 1.0
        self.script = script or Script(self.topology)
        self.wanted: frozenset[ColumnId] = frozenset()
        self.also: frozenset[SignalId] = frozenset()
        self.ended = 0
        self.stopped = False
        self._on_frame: Callable[[Frame], None] | None = None
        self._older: Snapshot | None = None
        self._tick = 0

    def start(self, on_frame: Callable[[Frame], None], *, intervals: int | None = None,
              on_end: Callable[[], None] | None = None) -> None:
        self._on_frame = on_frame

    @property
    def started(self) -> bool:
        """Whether the dashboard takes frames."""
        return self._on_frame is not None

    def present(self, how: Callable[[CounterColumn], CounterColumn]) -> None:
        self.catalog = self.catalog.mapped(how)

    def want(self, columns: Iterable[ColumnId]) -> None:
        self.wanted = frozenset(columns)

    def read_also(self, sources: Sequence[Source], signals: frozenset[SignalId]) -> None:
        self.also = signals

    def add_all(self, text: str) -> tuple[CounterColumn, ...]:
        """Known at once; the scripted machine has every register below 0x1000, and nothing else to add."""
        counter = parse_added(text)
        if isinstance(counter.place, RegisterAt) and counter.place.address < 0x1000:
            signal = _signal(counter.signal, counter.scope, Unit.COUNT, COUNTER, Reduce.MEAN)
            capabilities, source = self.capabilities, self.capabilities.sources[0]
            self.capabilities = replace(capabilities, signals={**capabilities.signals, signal.id: signal},
                                        provider={**capabilities.provider, signal.id: source})
        self.added = (*self.added, counter)
        self.texts[counter.name] = text
        self._keep()
        return (self.catalog.by_id[self.added[-1].name],)

    def typed(self) -> tuple[str, ...]:
        return tuple(self.texts.values())

    def by_hand(self) -> tuple[tuple[ColumnId, str], ...]:
        return tuple((counter.name, str(counter.place)) for counter in self.added)

    def remove(self, name: ColumnId) -> None:
        self.texts.pop(name, None)
        self.added = tuple(counter for counter in self.added if counter.name != name)
        self._keep()

    def _keep(self) -> None:
        columns = with_added(catalog_for(self.capabilities.signals).columns, self.added)
        self.catalog = Catalog(columns, {column.id: column for column in columns})

    def end_interval(self) -> None:
        self.ended += 1

    def set_interval(self, seconds: float) -> None:
        self.interval = seconds

    @property
    def collector(self) -> CollectorSession | None:
        """None, because tests need no other process."""

    def set_tcc(self, degrees: int | None) -> None:
        self.machine = replace(self.machine, tcc=degrees)

    def stop(self) -> None:
        self.stopped = True

    def own_cost(self) -> OwnCost:
        return OwnCost(0.7, 41_000_000, 0.9, 0, 0)

    def frame(self) -> Frame:
        """The next frame."""
        newer = self.script.snapshot(self._tick, self.interval, self.capabilities.signals)
        made = Frame(self._older, newer, self.capabilities)
        self._older = newer
        self._tick += 1
        self.latest = made
        return made

    def tick(self, times: int = 1) -> None:
        """Hand over the next frames, as the sampler's thread would."""
        for _ in range(times):
            frame = self.frame()
            assert self._on_frame is not None, "the dashboard has not started the session"
            self._on_frame(frame)
