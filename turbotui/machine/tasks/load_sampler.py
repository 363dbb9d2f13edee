"""Samples of loads of all CPUs, from rings of their own, and only while somebody wants to know.

Each sample is an interrupt of its CPU; how many come is chosen with the events
(features/tasks/load_watch.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol, runtime_checkable

from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.machine.perf_groups import open_group
from turbotui.machine.perf_ring import Ring
from turbotui.machine.tasks.load_records import LoadCounts, LoadRecords

_PAGES: Final = 16  # 64 KiB: 1,638 samples, of which there are some hundreds between two looks


class LoadRing(Protocol):
    """What a sampling event has written."""

    def take(self) -> bytes:
        """All that is there now, whole records; their room is given back."""

    def close(self) -> None:
        """Give the memory back."""


@runtime_checkable
class SamplingHost(Protocol):
    """A host whose sampling events write no ring of the kernel's."""

    def open_records(self, descriptor: int) -> LoadRing:
        """What an opened event that samples writes.

        Raises:
            HostError: EBADF, EINVAL for an event that does not sample.
        """


class LoadSampler:
    """Loads of all threads of CPUs.

    Args:
        host: this machine.
        groups: by CPU the group that samples there, the event that samples last.

    Attributes:
        records: what was read.

    Raises:
        HostError: EACCES where whole CPUs may not be watched, EMFILE, EINVAL or ENODATA for what the PMU refuses.
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
        """Add up what has been written since the last call."""
        for ring in self._rings:
            block = ring.take()
            if block:
                self.records.read(block)

    def take(self) -> dict[int, LoadCounts]:
        """Loads of each thread since the last call."""
        self.drain()
        return self.records.take()

    def close(self) -> None:
        """Give every descriptor back."""
        for ring in self._rings:
            ring.close()
        for descriptor in reversed(self._descriptors):
            self._host.close(descriptor)
        self._rings, self._descriptors = [], []
