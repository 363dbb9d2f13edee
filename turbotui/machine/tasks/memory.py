"""Sizes of sample rings: large enough for storms, within what this user may lock."""

from __future__ import annotations

import mmap
import resource
from typing import Final

from turbotui.machine.host import Host
from turbotui.machine.rights import resource_limit
from turbotui.machine.small_files import line_of
from turbotui.quantities.plain_numbers import whole_number

_PAGES_CPU: Final = 4_096  # 16 MiB: 700 ms of 200,000 switches a second at about 112 bytes each
_PAGES_ALL: Final = 16_384  # 64 MiB of the kernel's memory for the rings of all CPUs together
_PAGES_LEAST: Final = 32  # 128 KiB: 50 ms of 25,000 switches a second on one CPU
SHARE_OF_ENDS: Final = 4
"""The ratio of a CPU's ring to its ring of last counts, where 4 MiB hold 32,000 threads."""
_MLOCK: Final = "/proc/sys/kernel/perf_event_mlock_kb"
_IPC_LOCK: Final = 14  # CAP_IPC_LOCK


def pages_for(cpus: int) -> int:
    """Return the pages of each CPU's ring, a power of two, fewer for many CPUs."""
    share = max(_PAGES_LEAST, min(_PAGES_CPU, _PAGES_ALL // max(1, cpus)))
    return 1 << (share.bit_length() - 1)


def pages_of_ends(pages: int, rings: int) -> int:
    """Return the pages of each ring of last counts, beside that many rings of samples with `pages` pages."""
    share = max(1, min(pages // SHARE_OF_ENDS, _PAGES_ALL // max(1, rings)))
    return 1 << (share.bit_length() - 1)


def locks_freely(host: Host) -> bool:
    """Tell whether this user may lock unlimited memory."""
    return host.privileges().has(_IPC_LOCK) or _lockable() == resource.RLIM_INFINITY


def affordable(host: Host, pages: int, cpus: int, *, ends: bool) -> int:
    """Return at most `pages`, a power of two, that this user may lock in the rings of all CPUs.

    Rings that are refused all the same are made smaller (`TaskTracer`).

    Args:
        ends: whether each has a ring of last counts as well.
    """
    if locks_freely(host):
        return pages
    limit = _lockable()
    if (each := whole_number(line_of(host, _MLOCK))) is None:
        return pages
    # perf takes kernel.perf_event_mlock_kb for each CPU, then RLIMIT_MEMLOCK (perf_mmap(), kernel/events/core.c); each
    # ring has a page more than its data
    room = (each * 1024 + limit // max(1, cpus)) // mmap.PAGESIZE
    while pages > 1 and (pages + 1) + (pages // SHARE_OF_ENDS + 1) * ends > room:
        pages //= 2
    return pages


def _lockable() -> int:
    """Return the soft RLIMIT_MEMLOCK in bytes; 0 if it is unknown, so that only perf's own share counts."""
    limit = resource_limit(resource.RLIMIT_MEMLOCK)
    return 0 if limit is None else limit[0]
