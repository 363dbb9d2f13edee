"""Open groups of counters completely or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turbotui.machine.host import Host, HostError, PerfAttr


def open_group(host: Host, attrs: Iterable[PerfAttr], target: int, cpu: int) -> list[int]:
    """Open counters as one group led by the first.

    Raises:
        HostError: as perf_event_open(2); nothing stays open.
    """
    opened: list[int] = []
    try:
        for attr in attrs:
            opened.append(host.perf_event_open(attr, target, cpu, opened[0] if opened else -1))
    except HostError:
        close_all(host, opened)
        raise
    return opened


def close_all(host: Host, descriptors: Sequence[int]) -> None:
    """Close what was opened, the leader last."""
    for descriptor in reversed(descriptors):
        host.close(descriptor)
