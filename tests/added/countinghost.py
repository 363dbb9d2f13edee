"""A host that counts what is asked of it, and runs out of descriptors where a test says so."""

from __future__ import annotations

import errno
from collections import Counter

from turbotui.machine.host import Host, HostError, PerfAttr


class CountingHost:
    """Passes everything on to another host.

    Attributes:
        calls: how often each call to the kernel was made.
        limit: perf counters that may be open at a time.
    """

    def __init__(self, host: Host, limit: int | None = None) -> None:
        self._host = host
        self.calls: Counter[str] = Counter()
        self.limit = limit
        self.attrs: list[tuple[PerfAttr, int, int]] = []
        self._open: set[int] = set()

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        self.calls["open"] += 1
        if self.limit is not None and len(self._open) >= self.limit:
            raise HostError(errno.EMFILE, f"perf_event_open(cpu={cpu})")
        result = self._host.perf_event_open(attr, pid, cpu, group)
        self._open.add(result)
        self.attrs.append((attr, cpu, group))
        return result

    def read_counter(self, descriptor: int, size: int) -> bytes:
        self.calls["read"] += 1
        return self._host.read_counter(descriptor, size)

    def close(self, descriptor: int) -> None:
        self._open.discard(descriptor)
        self._host.close(descriptor)

    def __getattr__(self, name: str) -> object:
        return getattr(self._host, name)
