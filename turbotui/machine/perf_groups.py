"""Open groups of counters completely or not at all."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from turbotui.machine.host import Host, HostError, PerfAttr

_TOO_MANY: Final = (errno.EINVAL, errno.ENOSPC)  # of a sibling that finds no counter beside those before it


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


def open_in_parts(host: Host, attrs: Iterable[tuple[PerfAttr, bool]], target: int, first: int = 0) -> list[list[int]]:
    """Open a thread's counters, on any CPU, as one group, or as few groups as the kernel accepts.

    Args:
        host: this machine.
        attrs: of each counter, and whether it has to stay below the first one.
        target: the thread.
        first: further flags of group leaders.

    Raises:
        HostError: as perf_event_open(2); nothing stays open.
    """
    parts: list[list[int]] = [[]]

    def open_one(attr: PerfAttr) -> None:
        opened = parts[-1]
        asked = attr if opened else replace(attr, flags=attr.flags | first)
        opened.append(host.perf_event_open(asked, target, -1, opened[0] if opened else -1))

    try:
        for attr, bound in attrs:
            try:
                open_one(attr)
            except HostError as error:
                if not parts[-1] or bound or error.errno not in _TOO_MANY:
                    raise
                parts.append([])
                open_one(attr)
    except HostError:
        for opened in parts:
            close_all(host, opened)
        raise
    return parts
