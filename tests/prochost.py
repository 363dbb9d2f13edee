"""A machine made of a dict: paths to texts, with counted accesses and a clock that is moved by hand."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import HostError, HostKind, PerfAttr, Privileges
from turbotui.machine.machine import Machine
from turbotui.machine.platforms import platform_of
from turbotui.machine.topology import CpuPlace, Topology, topology_of

Content: TypeAlias = str | int | Callable[[], str]
"""A file's text; a callable is asked at every read; an int is the errno that opening or reading it gives."""


@dataclass
class ProcHost:
    files: dict[str, Content]
    kind: HostKind = HostKind.SIMULATED
    name: str = "dict"
    pins: bool = False
    clock_ns: int = 0
    read_costs_ns: int = 0
    limit: int = 10_000
    opens: int = 0
    preads: int = 0
    texts: int = 0
    descriptors: dict[int, str] = field(default_factory=dict)

    def read_text(self, path: str) -> str:
        self.texts += 1
        return self._content(path)

    def list_dir(self, path: str) -> tuple[str, ...]:
        prefix = path.rstrip("/") + "/"
        names = {name[len(prefix) :].partition("/")[0] for name in self.files if name.startswith(prefix)}
        if not names:
            raise HostError(errno.ENOENT, path)
        return tuple(sorted(names))

    def exists(self, path: str) -> bool:
        return path in self.files or any(name.startswith(path.rstrip("/") + "/") for name in self.files)

    def open_file(self, path: str) -> int:
        if len(self.descriptors) >= self.limit:
            raise HostError(errno.EMFILE, path)
        content = self.files.get(path, errno.ENOENT)
        if isinstance(content, int):
            raise HostError(content, path)
        self.opens += 1
        self.descriptors[self.opens] = path
        return self.opens

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        self.preads += 1
        path = self.descriptors[descriptor]
        if path not in self.files:
            raise HostError(errno.ENODEV, path)
        return self._content(path).encode()[offset : offset + size]

    def close(self, descriptor: int) -> None:
        del self.descriptors[descriptor]

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        raise HostError(errno.ENOENT, "perf_event_open")

    def read_counter(self, descriptor: int, size: int) -> bytes:
        raise HostError(errno.EBADF, "read_counter")

    def pin_this_thread(self, cpus: Sequence[int]) -> None:
        raise HostError(errno.EINVAL, "pin")

    def usable_cpus(self, online: str | None = None) -> frozenset[int] | None:
        return None

    def privileges(self) -> Privileges:
        return Privileges(uid=1000, capabilities=0, perf_paranoid=2, descriptors=(1024, 4096))

    def now_ns(self) -> int:
        return self.clock_ns

    def wall_ns(self) -> int:
        return self.clock_ns

    def remove(self, prefix: str) -> None:
        for path in [path for path in self.files if path.startswith(prefix)]:
            del self.files[path]

    def _content(self, path: str) -> str:
        self.clock_ns += self.read_costs_ns
        content = self.files.get(path, errno.ENOENT)
        if isinstance(content, int):
            raise HostError(content, path)
        return content if isinstance(content, str) else content()


def plain_topology(cpus: Iterable[int]) -> Topology:
    """One package, one die, a core and an L3 for all; CPU number = core id."""
    return topology_of(CpuPlace(cpu, package=0, die=0, l3=0, node=0, module=cpu, core=cpu) for cpu in cpus)


def machine_of(
    files: Mapping[str, Content], topology: Topology | None = None, model: CpuModel | None = None
) -> tuple[ProcHost, Machine]:
    host = ProcHost(dict(files))
    model = model or CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x8F)
    if topology is None:
        topology = plain_topology((0, 1))
    return host, Machine(host, topology, model, platform_of(model), host.privileges())
