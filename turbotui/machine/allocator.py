"""Tunes the C library's allocator to this program: what freed blocks are returned."""

from __future__ import annotations

import ctypes
from typing import Final

from turbotui.threads import share_arena

_MMAP_THRESHOLD: Final = -3  # M_MMAP_THRESHOLD (mallopt(3), glibc malloc.h)
_LARGE: Final = 1 << 16  # 64 KiB: the text of /proc/interrupts is larger on machines with some hundred CPUs
_LARGE_OF_A_CPU: Final = 512
"""Bytes for each CPU of what is computed in a tick of up to 64 columns, again and again."""


def spare_memory(cpus: int = 1) -> bool:
    """Let all threads allocate from one arena, and return large blocks to the kernel when they are freed.

    The text of /proc/interrupts on a large machine would leave a hole of its size in the heap, which the next small
    block keeps there; glibc's own limit for large blocks rises with every freed one unless it is set. With many CPUs so
    low a limit would make the kernel clear 3,500 pages a second for the long integers of the past alone, which cost
    more than the arithmetic: the limit is above those of usual columns, and below those of thousands of uncore
    events, whose holes took 13 MB at 224 CPUs. It is for what hours leave: in the first 40 s of the dashboard at 224
    simulated CPUs it buys nothing (70.7 MB for 71.0, screen 5 91.9 and 90.0 for 91.8 and 90.3, November 2026); one
    arena is 70.7 for 72.8 there.

    Args:
        cpus: number of measured CPUs.

    Returns:
        Whether the C library supports the settings; only glibc does.
    """
    tune = getattr(ctypes.CDLL(None), "mallopt", None)
    return tune is not None and all([share_arena(), tune(_MMAP_THRESHOLD, max(_LARGE, _LARGE_OF_A_CPU * cpus))])


def return_free_pages() -> None:
    """Return the whole free pages between allocated blocks to the kernel (malloc_trim(3)), if the C library can.

    glibc alone returns only those at the end of its heap: after half an hour of keys 33 MB of 120 were holes.
    """
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(ctypes.c_size_t(0))
