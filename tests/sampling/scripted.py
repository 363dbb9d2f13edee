"""A scripted machine for the sampler: CPUs that come and go, and sources that answer, wait, fail or crash as told."""

from __future__ import annotations

import errno
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from moved_clock import MovedClock
from patience import PATIENCE

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import HostError, HostKind, PerfAttr, Privileges
from turbotui.machine.machine import Machine
from turbotui.machine.platforms import platform_of
from turbotui.machine.topology import CpuPlace, Topology, read_topology
from turbotui.quantities.columns import Category, CounterColumn
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Unavailable
from turbotui.quantities.units import Unit
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.snapshot import Snapshot
from turbotui.sources.source import CpuGone, Probe, Reader, SharedReader

CPUS = "/sys/devices/system/cpu"
_TOPOLOGY = re.compile(rf"{CPUS}/cpu(\d+)/topology/(physical_package_id|die_id|core_id)")
MODEL = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x8F)
_ONLINE = 3
"""The descriptor of the list of online CPUs."""


def place(cpu: int, package: int = 0, core: int | None = None, die: int = 0, l3: int = 0) -> CpuPlace:
    """A CPU, by default in a core of its own in package 0."""
    return CpuPlace(cpu, package, die, l3, package, -1, cpu if core is None else core)


class FakeHost:
    """A host of four CPUs, two packages of two cores by default; the test advances `now`.

    Attributes:
        online: CPUs; change it to plug and unplug.
        usable: the affinity of this process.
        limit: soft RLIMIT_NOFILE.
        clock: the clock of samplers of this host; it moves by itself, and `now` does not.
        pinned: CPUs that threads were pinned to, in order.
    """

    kind = HostKind.SIMULATED
    name = "fake"

    def __init__(self, places: Iterable[CpuPlace] = (), *, pins: bool = True) -> None:
        self.places = {cpu_place.cpu: cpu_place for cpu_place in places or [place(cpu, cpu // 2) for cpu in range(4)]}
        self.online: set[int] = set(self.places)
        self.usable: frozenset[int] | None = None
        self.limit = 1024
        self.clock = MovedClock()
        self.now = 1_000_000_000
        self.pinned: list[int] = []
        self.pins = pins
        self.known_online: list[str | None] = []  # what those who asked for the usable CPUs had read

    def read_text(self, path: str) -> str:
        if path == f"{CPUS}/online":
            return ",".join(map(str, sorted(self.online))) + "\n"
        if path in {f"{CPUS}/present", f"{CPUS}/possible"}:
            return ",".join(map(str, sorted(self.places))) + "\n"
        match = _TOPOLOGY.fullmatch(path)
        if match is not None and int(match[1]) in self.online:
            item = self.places[int(match[1])]
            value = {"physical_package_id": item.package, "die_id": item.die, "core_id": item.core}[match[2]]
            return f"{value}\n"
        raise HostError(errno.ENOENT, path)

    def list_dir(self, path: str) -> tuple[str, ...]:
        if path == CPUS:
            return tuple(f"cpu{cpu}" for cpu in sorted(self.places))
        raise HostError(errno.ENOENT, path)

    def exists(self, path: str) -> bool:
        return False

    def open_file(self, path: str) -> int:
        if path != f"{CPUS}/online":
            raise HostError(errno.ENOENT, path)
        return _ONLINE

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        if descriptor != _ONLINE:
            raise HostError(errno.EBADF, str(descriptor))
        return self.read_text(f"{CPUS}/online").encode()[offset : offset + size]

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        raise HostError(errno.ENOENT, "perf")

    def read_counter(self, descriptor: int, size: int) -> bytes:
        raise HostError(errno.EBADF, str(descriptor))

    def close(self, descriptor: int) -> None:
        if descriptor != _ONLINE:
            raise HostError(errno.EBADF, str(descriptor))

    def pin_this_thread(self, cpus: Sequence[int]) -> None:
        if not set(cpus) & self.online:
            raise HostError(errno.EINVAL, f"CPUs {cpus}")
        self.pinned += cpus

    def usable_cpus(self, online: str | None = None) -> frozenset[int] | None:
        self.known_online.append(online)
        return self.usable

    def privileges(self) -> Privileges:
        return Privileges(0, 0, 2, (self.limit, self.limit))

    def now_ns(self) -> int:
        return self.now

    def wall_ns(self) -> int:
        return self.now


def machine_of(host: FakeHost, cpus: frozenset[int] | None = None) -> Machine:
    """The machine that `read_machine` would find."""
    return Machine(host, read_topology(host, cpus), MODEL, platform_of(MODEL), host.privileges())


def counter(name: str, scope: Scope = Scope.CPU, reduce: Reduce = Reduce.SUM, *, width_bits: int = 64,
            wrap_seconds: float = 0.0, running: str = "", enabled: str = "",
            behavior: Behavior = Behavior.COUNTER, readers: tuple[int, ...] = ()) -> Signal:
    """A signal of plain counts."""
    return Signal(name, scope, Unit.COUNT, behavior, reduce, f"register {name} of cpu{{cpu}}", width_bits=width_bits,
                  wrap_seconds=wrap_seconds, running=running, enabled=enabled, readers=readers)


def column(name: str, needs: Sequence[str], scope: Scope = Scope.CPU) -> CounterColumn:
    """The increase of the one signal, or the ratio of two, in percent."""
    def compute(row: object) -> float | None:
        from turbotui.sampling.row_inputs import RowInputs  # noqa: PLC0415 - only its type

        assert isinstance(row, RowInputs)
        result = [row.delta(signal) for signal in needs]
        if len(result) == 1 or result[0] is None:
            return result[0]
        return None if not result[1] else 100.0 * result[0] / result[1]

    return CounterColumn(name, "", 0, tuple(needs), compute, "a / b", "Help.", "none", category=Category.OTHER,
                         scope=scope)


@dataclass
class FakeSource:
    """Signals whose values a function of CPU and signal gives.

    Attributes:
        script: the raw value; may raise what a reader raises, or anything else.
        gates: CPUs whose readers wait for the event before they answer.
        adjustable: readers can change what they return.
        opened: (CPU, wanted) of every opening.
        closed: CPUs of every closing.
        reads: CPUs of every read, in order.
        each: descriptors of each reader.
        on_read: called on the reading thread before each read.
        unsure: positions at which the next reading of all CPUs lacks a part.
    """

    offer: Sequence[Signal]
    script: Callable[[int, SignalId], Raw]
    id: str = "fake"
    title: str = "fake source"
    gives: str = "numbers"
    shared: bool = False
    counts_from_open: bool = False
    adjustable: bool = False
    each: int = 1
    gates: dict[int, threading.Event] = field(default_factory=dict)
    opened: list[tuple[int, frozenset[SignalId]]] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)
    absent: Mapping[SignalId, Unavailable] = field(default_factory=dict)
    on_read: Callable[[], None] | None = None
    unsure: Mapping[SignalId, frozenset[int]] = field(default_factory=dict)

    def note_read(self, cpu: int) -> None:
        self.reads.append(cpu)
        if self.on_read is not None:
            self.on_read()
        gate = self.gates.get(cpu)
        if gate is not None:
            assert gate.wait(PATIENCE), "the test never opened this gate"

    def probe(self, machine: Machine) -> Probe:
        return Probe({signal.id: signal for signal in self.offer} | dict(self.absent))

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        return self.each * readers

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        host = machine.host
        assert isinstance(host, FakeHost)
        if cpu not in host.online:
            raise CpuGone(f"cpu {cpu}")
        self.opened.append((cpu, wanted))
        return FakeAdjustable(self, cpu, wanted) if self.adjustable else FakeReader(self, cpu, wanted)

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:
        self.opened.append((-1, wanted))
        return FakeShared(self, machine.topology, wanted)


class FakeReader:
    """Reads one CPU of a `FakeSource`."""

    def __init__(self, source: FakeSource, cpu: int, wanted: frozenset[SignalId]) -> None:
        self.source, self.cpu = source, cpu
        self.signals = tuple(sorted(wanted))

    def read(self) -> Sequence[Raw]:
        self.source.note_read(self.cpu)
        return [self.source.script(self.cpu, name) for name in self.signals]

    def close(self) -> None:
        self.source.closed.append(self.cpu)


class FakeAdjustable(FakeReader):
    """A reader that has everything open."""

    def choose(self, wanted: frozenset[SignalId]) -> bool:
        self.signals = tuple(sorted(wanted))
        return True


class FakeShared:
    """Reads every CPU of a `FakeSource` at once."""

    def __init__(self, source: FakeSource, topology: Topology, wanted: frozenset[SignalId]) -> None:
        self.source, self.topology = source, topology
        self.signals = tuple(sorted(wanted))

    def read(self) -> Sequence[Sequence[Raw]]:
        self.source.note_read(-1)
        return [[self.source.script(cpu, name) for cpu in self.topology.cpus] for name in self.signals]

    @property
    def unsure(self) -> Mapping[SignalId, frozenset[int]]:
        return self.source.unsure

    def close(self) -> None:
        self.source.closed.append(-1)


def capabilities_of(*signals: Signal, missing: Mapping[SignalId, Unavailable] | None = None,
                    source: FakeSource | None = None) -> Capabilities:
    """Capabilities of these signals, all from one source."""
    item = source or FakeSource(signals, lambda _cpu, _name: None)
    return Capabilities((item,), {}, {signal.id: signal for signal in signals}, {signal.id: item for signal in signals},
                        missing or {})


def snapshot(topology: Topology, values: Mapping[SignalId, Sequence[Raw]], stamps: Mapping[SignalId, Sequence[int]],
             *, seq: int = 0, late: Iterable[int] = (), failed: Iterable[int] = (),
             fresh: Mapping[SignalId, frozenset[int]] | None = None,
             unsure: Mapping[SignalId, frozenset[int]] | None = None,
             failures: Mapping[tuple[str, int], str] | None = None) -> Snapshot:
    """A snapshot as the assembler would make it."""
    return Snapshot(seq, 0, seq * 1_000_000_000 + 1, topology, values, stamps, frozenset(late), frozenset(failed),
                    fresh=fresh or {}, unsure=unsure or {}, failures=failures or {})
