"""Frames of a few CPUs with counts that a test writes down, and machines that are a few files and registers."""

from __future__ import annotations

import errno
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import HostError, HostKind, PerfAttr, Privileges
from turbotui.machine.machine import Machine
from turbotui.machine.platforms import platform_of
from turbotui.machine.topology import CpuPlace, Topology, topology_of
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.units import Unit
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.snapshot import Snapshot
from turbotui.sources.msr import Msr

SECOND = 1_000_000_000
WALL = 1_700_000_000 * SECOND  # 2023-11-14T22:13:20Z


def signal(name: SignalId, scope: Scope, reduce: Reduce, scale: float = 1.0, *,
           behavior: Behavior = Behavior.COUNTER, constant: Raw = None) -> Signal:
    return Signal(name, scope, Unit.COUNT, behavior, reduce, name, scale=scale, constant=constant)


class Script:
    """A machine whose counters gain what a test says, interval by interval."""

    def __init__(self, topology: Topology, signals: Sequence[Signal]) -> None:
        self.signals = {item.id: item for item in signals}
        source = Msr()  # its title and id stand beside reasons
        self.capabilities = Capabilities((source,), {}, self.signals, dict.fromkeys(self.signals, source), {})
        self._topology = topology
        self._totals: dict[SignalId, list[int]] = {
            item.id: [0] * len(topology.instances(item.scope)) for item in signals if item.behavior is Behavior.COUNTER
        }
        self._last: Snapshot | None = None
        self._at = SECOND

    def frame(self, gains: Mapping[SignalId, Sequence[Raw]], seconds: int = 1) -> Frame:
        """The next interval."""
        if self._last is None:
            self._last = self._snapshot({})
        self._at += seconds * SECOND
        older, self._last = self._last, self._snapshot(gains)
        return Frame(older, self._last, self.capabilities)

    def _snapshot(self, gains: Mapping[SignalId, Sequence[Raw]]) -> Snapshot:
        values: dict[SignalId, Sequence[Raw]] = {}
        for name, item in self.signals.items():
            row = gains.get(name)
            if item.behavior is Behavior.GAUGE and row is not None:
                values[name] = row
            elif item.behavior is Behavior.COUNTER:
                total = self._totals[name]
                for place, gain in enumerate(row or ()):
                    total[place] += gain if isinstance(gain, int) else 0
                values[name] = [None if row is not None and row[place] is None else count
                                for place, count in enumerate(total)]
        stamps = {name: [self._at] * len(row) for name, row in values.items()}
        return Snapshot(0 if self._last is None else self._last.seq + 1, WALL + self._at, self._at, self._topology,
                        values, stamps)


# two packages; core ids 0x0 and 0x1a in package 0, 0x0 again in package 1; siblings are 4 apart
SERVER = topology_of(
    CpuPlace(cpu, package, 0, package, package, -1, core)
    for cpu, package, core in ((0, 0, 0), (4, 0, 0), (1, 0, 26), (5, 0, 26), (2, 1, 0), (6, 1, 0)))
PAIR = topology_of([CpuPlace(cpu, 0, 0, 0, 0, -1, cpu) for cpu in (0, 1)])


@dataclass(eq=False)  # a machine is one by identity, as the real one is
class FilesHost:
    """Files, registers and CPUID leaves as a test writes them; everything else is absent.

    Attributes:
        files: path to content; bytes for those that are read in binary.
        registers: (cpu, address) to value.
        leaves: (leaf, subleaf) to EAX, EBX, ECX, EDX of every CPU.
        touched: every MSR device and perf counter that somebody tried to open.
        counts: whether perf counters can be opened.
        opened: the CPU and attributes of each that was.
    """

    files: dict[str, str | bytes] = field(default_factory=dict)
    registers: dict[tuple[int, int], int] = field(default_factory=dict)
    leaves: dict[tuple[int, int], tuple[int, int, int, int]] = field(default_factory=dict)
    touched: list[str] = field(default_factory=list)
    counts: bool = False
    opened: list[tuple[int, PerfAttr]] = field(default_factory=list)
    kind: HostKind = HostKind.RECORDED
    name: str = "files"
    pins: bool = False
    now: int = SECOND
    _open: dict[int, str | int] = field(default_factory=dict)
    _next: int = 3

    def read_text(self, path: str) -> str:
        content = self.files.get(path)
        if content is None:
            raise HostError(errno.ENOENT, path)
        return content if isinstance(content, str) else content.decode("latin-1")

    def list_dir(self, path: str) -> tuple[str, ...]:
        inside = {name[len(path) + 1:].split("/")[0] for name in self.files if name.startswith(f"{path}/")}
        if not inside:
            raise HostError(errno.ENOENT, path)
        return tuple(sorted(inside))

    def exists(self, path: str) -> bool:
        return path in self.files or any(name.startswith(f"{path}/") for name in self.files)

    def _keep(self, what: str | int) -> int:
        self._next += 1
        self._open[self._next] = what
        return self._next

    def open_file(self, path: str) -> int:
        if (device := re.fullmatch(r"/dev/cpu/(\d+)/msr", path)) is not None:
            cpu = int(device[1])
            self.touched.append(f"msr {cpu}")
            if not any(place == cpu for place, _address in self.registers):
                raise HostError(errno.ENOENT, path)
            return self._keep(cpu)
        if not (path.endswith("/cpuid") and self.leaves) and path not in self.files:
            raise HostError(errno.ENOENT, path)
        return self._keep(path)

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        held = self._open[descriptor]
        if isinstance(held, int):
            if (held, offset) not in self.registers:
                raise HostError(errno.EIO, f"MSR {offset:#x}")
            return self.registers[held, offset].to_bytes(8, "little")
        if held.endswith("/cpuid"):
            return struct.pack("<4I", *self.leaves.get((offset & 0xFFFFFFFF, offset >> 32), (0, 0, 0, 0)))
        content = self.files[held]
        return (content.encode() if isinstance(content, str) else content)[offset:offset + size]

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        self.touched.append(f"perf {cpu}")
        if not self.counts:
            raise HostError(errno.ENOENT, "perf_event_open")
        self.opened.append((cpu, attr))
        return self._keep("perf")

    def read_counter(self, descriptor: int, size: int) -> bytes:
        raise HostError(errno.EBADF, "read_counter")

    def close(self, descriptor: int) -> None:
        del self._open[descriptor]

    def pin_this_thread(self, cpus: Sequence[int]) -> None:
        return None

    def usable_cpus(self, online: str | None = None) -> frozenset[int] | None:
        return None

    def privileges(self) -> Privileges:
        return Privileges(0, (1 << 41) - 1, 2, (1024, 1024))

    def now_ns(self) -> int:
        return self.now

    def wall_ns(self) -> int:
        return WALL

    @property
    def open_descriptors(self) -> int:
        return len(self._open)


def machine_of(host: FilesHost, model: CpuModel, topology: Topology = SERVER) -> Machine:
    return Machine(host, topology, model, platform_of(model), host.privileges())


def intel(model: int, *flags: str, family: int = 6) -> CpuModel:
    return CpuModel(architecture="x86_64", vendor="GenuineIntel", family=family, model=model, stepping=1,
                    flags=frozenset({"tsc", "aperfmperf", "dtherm", "pts", *flags}))
