"""A host that delegates everything to another host, whose subclasses change some methods, and one that restricts it."""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence

from turbotui.machine.host import (
    ChainHost,
    Host,
    HostError,
    HostKind,
    PerfAttr,
    Privileges,
    SuspendableHost,
    TimestampHost,
)


class DelegatingHost:
    """A host that delegates to another host."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def kind(self) -> HostKind:
        """Same as of the other host."""
        return self._host.kind

    @property
    def name(self) -> str:
        """Same as of the other host."""
        return self._host.name

    @property
    def pins(self) -> bool:
        """Same as of the other host."""
        return self._host.pins

    def read_tsc(self) -> int:
        """Fails with ENOSYS if the other host cannot execute instructions."""
        if not isinstance(self._host, TimestampHost):
            raise HostError(errno.ENOSYS, "rdtsc")
        return self._host.read_tsc()

    def time_chains(self, cpu: int) -> tuple[int, Sequence[int], int]:
        """Fails with ENOSYS if the other host cannot execute instructions."""
        if not isinstance(self._host, ChainHost):
            raise HostError(errno.ENOSYS, "chains of instructions")
        return self._host.time_chains(cpu)

    def read_text(self, path: str) -> str:
        return self._host.read_text(path)

    def list_dir(self, path: str) -> tuple[str, ...]:
        return self._host.list_dir(path)

    def exists(self, path: str) -> bool:
        return self._host.exists(path)

    def open_file(self, path: str) -> int:
        return self._host.open_file(path)

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        return self._host.read_at(descriptor, size, offset)

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        return self._host.perf_event_open(attr, pid, cpu, group)

    def read_counter(self, descriptor: int, size: int) -> bytes:
        return self._host.read_counter(descriptor, size)

    def close(self, descriptor: int) -> None:
        self._host.close(descriptor)

    def pin_this_thread(self, cpus: Sequence[int]) -> None:
        self._host.pin_this_thread(cpus)

    def usable_cpus(self, online: str | None = None) -> frozenset[int] | None:
        return self._host.usable_cpus(online)

    def privileges(self) -> Privileges:
        return self._host.privileges()

    def now_ns(self) -> int:
        return self._host.now_ns()

    def suspended_ns(self) -> int:
        """Time asleep; 0 if the other host's machine is never suspended."""
        return self._host.suspended_ns() if isinstance(self._host, SuspendableHost) else 0

    def wall_ns(self) -> int:
        return self._host.wall_ns()


_MSR_DEVICE = r"(?a)/dev/(?:cpu/\d+/msr|msr\d+)\Z"


class RestrictedHost(DelegatingHost):
    """A host that delegates to another one, but never opens MSR devices or perf events.

    Refusals are ECANCELED, which no device returns by itself, so that no reason names a wrong remedy.
    """

    def __init__(self, host: Host, *, msr: bool, perf: bool) -> None:
        super().__init__(host)
        self._msr = msr
        self._perf = perf

    def open_file(self, path: str) -> int:
        """An MSR device fails with ECANCELED under --no-msr."""
        if not self._msr and re.match(_MSR_DEVICE, path):
            raise HostError(errno.ECANCELED, f"{path} (--no-msr)")
        return self._host.open_file(path)

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        """Fails with ECANCELED under --no-perf."""
        if not self._perf:
            raise HostError(errno.ECANCELED, "perf_event_open (--no-perf)")
        return self._host.perf_event_open(attr, pid, cpu, group)
