"""A host that delegates everything to another host; subclasses change some methods."""

from __future__ import annotations

import errno
from collections.abc import Sequence

from turbotui.machine.host import Host, HostError, HostKind, PerfAttr, Privileges, SuspendableHost, TimestampHost


class DelegatingHost:
    """A host that delegates to another host.

    Args:
        host: the other host.
    """

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
        """See `TimestampHost.read_tsc`.

        Raises:
            HostError: also ENOSYS if the other host cannot execute instructions.
        """
        if not isinstance(self._host, TimestampHost):
            raise HostError(errno.ENOSYS, "rdtsc")
        return self._host.read_tsc()

    def read_text(self, path: str) -> str:
        """See `Host.read_text`."""
        return self._host.read_text(path)

    def list_dir(self, path: str) -> tuple[str, ...]:
        """See `Host.list_dir`."""
        return self._host.list_dir(path)

    def exists(self, path: str) -> bool:
        """See `Host.exists`."""
        return self._host.exists(path)

    def open_file(self, path: str) -> int:
        """See `Host.open_file`."""
        return self._host.open_file(path)

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        """See `Host.read_at`."""
        return self._host.read_at(descriptor, size, offset)

    def open_msr(self, cpu: int) -> int:
        """See `Host.open_msr`."""
        return self._host.open_msr(cpu)

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        """See `Host.perf_event_open`."""
        return self._host.perf_event_open(attr, pid, cpu, group)

    def read_counter(self, descriptor: int, size: int) -> bytes:
        """See `Host.read_counter`."""
        return self._host.read_counter(descriptor, size)

    def close(self, descriptor: int) -> None:
        """See `Host.close`."""
        self._host.close(descriptor)

    def pin_this_thread(self, cpus: Sequence[int]) -> None:
        """See `Host.pin_this_thread`."""
        self._host.pin_this_thread(cpus)

    def usable_cpus(self) -> frozenset[int] | None:
        """See `Host.usable_cpus`."""
        return self._host.usable_cpus()

    def privileges(self) -> Privileges:
        """See `Host.privileges`."""
        return self._host.privileges()

    def now_ns(self) -> int:
        """See `Host.now_ns`."""
        return self._host.now_ns()

    def suspended_ns(self) -> int:
        """See `SuspendableHost.suspended_ns`; 0 if the other host's machine is never suspended."""
        return self._host.suspended_ns() if isinstance(self._host, SuspendableHost) else 0

    def wall_ns(self) -> int:
        """See `Host.wall_ns`."""
        return self._host.wall_ns()
