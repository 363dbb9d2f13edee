"""Samples the loads of all CPUs with rings of their own, only while a column of them is shown.

Each sample interrupts its CPU; the rate is chosen with the events (features/tasks/load_watch.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol, runtime_checkable

from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.machine.perf_groups import open_group
from turbotui.machine.perf_ring import Ring
from turbotui.machine.tasks.load_records import LoadCounts, LoadRecords

_PAGES: Final = 16  # 64 KiB: 1,638 samples, of which some hundreds arrive between two polls


class LoadRing(Protocol):
    """The interface to the ring of a sampling event."""

    def take(self) -> bytes:
        """Consume and return all whole records."""

    def close(self) -> None:
        """Release the memory."""


@runtime_checkable
class SamplingHost(Protocol):
    """A host whose sampling events do not use rings of the kernel."""

    def open_records(self, descriptor: int) -> LoadRing:
        """Open the records of an opened sampling event.

        Raises:
            HostError: EBADF, EINVAL for an event that does not sample.
        """


class LoadSampler:
    """Samples the loads of all threads on CPUs.

    Args:
        groups: by CPU, the group that samples there, with the sampling event last.

    Raises:
        HostError: EACCES if whole CPUs may not be watched, EMFILE, or EINVAL or ENODATA if the PMU refuses.
    """

    def __init__(self, host: Host, groups: Iterable[tuple[int, Sequence[PerfAttr]]]) -> None:
        self._host = host
        self._descriptors: list[int] = []
        self._rings: list[LoadRing] = []
        self.records = LoadRecords()
        try:
            for cpu, attrs in groups:
                opened = open_group(host, attrs, -1, cpu)
                self._descriptors += opened
                self._rings.append(host.open_records(opened[-1]) if isinstance(host, SamplingHost)
                                   else Ring(opened[-1], _PAGES))
        except HostError:
            self.close()
            raise

    def drain(self) -> None:
        """Read the records since the last call."""
        for ring in self._rings:
            if block := ring.take():
                self.records.read(block)

    def take(self) -> dict[int, LoadCounts]:
        """Return the loads of each thread since the last call."""
        self.drain()
        return self.records.take()

    def close(self) -> None:
        """Close every descriptor."""
        for ring in self._rings:
            ring.close()
        for descriptor in reversed(self._descriptors):
            self._host.close(descriptor)
        self._rings, self._descriptors = [], []
