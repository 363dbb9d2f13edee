"""A machine of a few lines for tests of perf and MSR sources: scripted files, registers, counters and errors."""

from __future__ import annotations

import errno
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import CAP_PERFMON, CAP_SYS_RAWIO, HostError, HostKind, PerfAttr, Privileges
from turbotui.machine.machine import Machine
from turbotui.machine.platform_features import FeatureSet
from turbotui.machine.platforms import Platform, platform_of
from turbotui.machine.topology import CpuPlace, topology_of

_GROUP = 1 << 3  # PERF_FORMAT_GROUP
ROOT = Privileges(0, 1 << CAP_PERFMON | 1 << CAP_SYS_RAWIO, 2, (1024, 1024))
GUEST = CpuModel(architecture="x86_64", vendor="AuthenticAMD", family=26, model=2, hypervisor=True)
SAPPHIRE_RAPIDS = CpuModel(
    architecture="x86_64",
    vendor="GenuineIntel",
    family=6,
    model=0x8F,
    flags=frozenset({"tsc", "aperfmperf", "dtherm", "pts"}),
)


@dataclass
class _Counter:
    attr: PerfAttr
    cpu: int
    leader: int
    members: list[int]
    opened_ns: int


@dataclass
class FakeHost:
    """Everything a test wants to say is a field; `now` moves by hand.

    Attributes:
        files: path to text, or to the errno that opening gives.
        registers: (cpu, address) to value, or to a negative errno that reading gives. An absent one is EIO.
        msr: errno that opening an MSR device gives, 0 for none.
        counters: (type, config) to counts a second, or to a negative errno that opening gives. An absent one is ENOENT.
        leaves: CPUID leaf to EAX, EBX, ECX, EDX, for a file /dev/cpu/N/cpuid.
        lonely: (type, config) of counters that open alone but not as siblings.
        running: share of the time that counters run.
        turns: the same by CPU, where it is another: 0 for counters that wait all the time.
        dead: CPUs that went offline: MSRs give ENXIO, counters stand still, opening gives ENODEV.
        limit: how many descriptors may be open.
    """

    files: dict[str, str | int] = field(default_factory=dict)
    registers: dict[tuple[int, int], int] = field(default_factory=dict)
    msr: int = 0
    counters: dict[tuple[int, int], float] = field(default_factory=dict)
    leaves: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)
    lonely: set[tuple[int, int]] = field(default_factory=set)
    running: float = 1.0
    turns: dict[int, float] = field(default_factory=dict)
    dead: dict[int, int] = field(default_factory=dict)
    limit: int = 1000
    now: int = 1_000_000_000
    open: dict[int, str | int | _Counter] = field(default_factory=dict)
    opens: list[tuple[int, int, int]] = field(default_factory=list)
    read_error: int = 0
    truncate: int | None = None

    kind = HostKind.SIMULATED
    name = "fake"
    pins = False

    def advance(self, seconds: float) -> None:
        self.now += round(seconds * 1e9)

    def kill(self, cpu: int) -> None:
        self.dead[cpu] = self.now

    def read_text(self, path: str) -> str:
        content = self.files.get(path, errno.ENOENT)
        if isinstance(content, int):
            raise HostError(content, path)
        return content

    def list_dir(self, path: str) -> tuple[str, ...]:
        inside = {name[len(path) + 1 :].split("/")[0] for name in self.files if name.startswith(path + "/")}
        if not inside:
            raise HostError(errno.ENOENT, path)
        return tuple(sorted(inside))

    def exists(self, path: str) -> bool:
        return path in self.files or any(name.startswith(path + "/") for name in self.files)

    def _keep(self, what: str | int | _Counter) -> int:
        if len(self.open) >= self.limit:
            raise HostError(errno.EMFILE, str(what))
        descriptor = max(self.open, default=2) + 1
        self.open[descriptor] = what
        return descriptor

    def open_file(self, path: str) -> int:
        if (device := re.fullmatch(r"/dev/cpu/(\d+)/msr", path)) is None:
            self.read_text(path)
            return self._keep(path)
        if self.msr:
            raise HostError(self.msr, path)
        if int(device[1]) in self.dead:
            raise HostError(errno.ENXIO, path)
        return self._keep(int(device[1]))

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        held = self.open[descriptor]
        if isinstance(held, str) and held.endswith("/cpuid"):
            return struct.pack("<4I", *self.leaves.get(offset, (0, 0, 0, 0)))
        if isinstance(held, str):
            return self.read_text(held).encode("latin-1")[offset : offset + size]
        assert isinstance(held, int)
        if held in self.dead:
            raise HostError(errno.ENXIO, "msr")
        value = self.registers.get((held, offset), -errno.EIO)
        if value < 0:
            raise HostError(-value, f"MSR {offset:#x}")
        return value.to_bytes(8, "little")

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        key = (attr.type, attr.config)
        rate = self.counters.get(key, -errno.ENOENT)
        if rate < 0:
            raise HostError(int(-rate), "perf")
        if cpu in self.dead:
            raise HostError(errno.ENODEV, "perf")
        if group >= 0 and key in self.lonely:
            raise HostError(errno.EINVAL, "perf")
        descriptor = self._keep(_Counter(attr, cpu, group, [], self.now))
        leader = self.open[group if group >= 0 else descriptor]
        assert isinstance(leader, _Counter)
        leader.members.append(descriptor)
        self.opens.append((cpu, attr.type, attr.config))
        return descriptor

    def read_counter(self, descriptor: int, size: int) -> bytes:
        if self.read_error:
            raise HostError(self.read_error, "read")
        leader = self.open[descriptor]
        assert isinstance(leader, _Counter)
        now = min(self.now, self.dead.get(leader.cpu, self.now))
        enabled = now - leader.opened_ns
        share = self.turns.get(leader.cpu, self.running)
        values = []
        for member in leader.members if leader.attr.read_format & _GROUP else [descriptor]:
            counter = self.open[member]
            assert isinstance(counter, _Counter)
            rate = self.counters[counter.attr.type, counter.attr.config]
            values.append(int(rate * enabled * share / 1e9))
        words = (len(values), enabled, int(enabled * share), *values)
        if not leader.attr.read_format & _GROUP:
            words = (*values, enabled, int(enabled * share))
        data = struct.pack(f"={len(words)}Q", *words)
        if len(data) > size:
            raise HostError(errno.ENOSPC, "read")
        return data if self.truncate is None else data[: self.truncate]

    def close(self, descriptor: int) -> None:
        closed = self.open.pop(descriptor)
        leader = self.open.get(closed.leader) if isinstance(closed, _Counter) else None
        if isinstance(leader, _Counter):
            leader.members.remove(descriptor)

    def pin_this_thread(self, cpus: Sequence[int]) -> None:
        raise HostError(errno.EINVAL, "pin")

    def usable_cpus(self, online: str | None = None) -> frozenset[int] | None:
        return None

    def privileges(self) -> Privileges:
        return ROOT

    def now_ns(self) -> int:
        return self.now

    def wall_ns(self) -> int:
        return self.now


@dataclass
class SlowHost(FakeHost):
    """A host on which a thread may lose its CPU before it reads a counter, or after that.

    Attributes:
        pauses: seconds of these, the next one last; 1 us where there are none.
    """

    pauses: list[float] = field(default_factory=list)

    def pause(self) -> None:
        self.advance(1e-6 if not self.pauses else self.pauses.pop())

    def read_counter(self, descriptor: int, size: int) -> bytes:
        self.pause()
        result = super().read_counter(descriptor, size)
        self.pause()
        return result


def pmu_files(name: str, type_: int, files: Mapping[str, str]) -> dict[str, str | int]:
    """The sysfs tree of a PMU; `files` are relative to its folder."""
    base = f"/sys/bus/event_source/devices/{name}"
    return {f"{base}/type": f"{type_}\n", **{f"{base}/{path}": text for path, text in files.items()}}


def machine(
    host: FakeHost,
    model: CpuModel = GUEST,
    places: Sequence[CpuPlace] = (),
    *,
    features: FeatureSet | None = None,
    privileges: Privileges = ROOT,
) -> Machine:
    """A machine of two cores in one package unless `places` says otherwise."""
    placed = places or [CpuPlace(cpu, 0, 0, 0, 0, 0, cpu) for cpu in (0, 1)]
    platform = platform_of(model) if features is None else Platform(True, "TEST", features)
    return Machine(host, topology_of(placed), model, platform, privileges)


def place(cpu: int, package: int, core: int, die: int = 0, smt: int = 0) -> CpuPlace:
    """A CPU whose node is its package and whose module is its core."""
    return CpuPlace(cpu, package, die, package, package, core, core, None, smt)
