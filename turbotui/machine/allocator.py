"""The C library's allocator, told what it cannot know: which threads allocate at once, and which blocks come and go."""

from __future__ import annotations

import ctypes
from typing import Final

_ARENA_MAX: Final = -8  # M_ARENA_MAX (mallopt(3), glibc malloc.h)
_MMAP_THRESHOLD: Final = -3  # M_MMAP_THRESHOLD
_LARGE: Final = 1 << 16  # 64 KiB: the text of /proc/interrupts is larger on machines with some hundred CPUs
_LARGE_OF_MANY: Final = 1 << 20
_MANY: Final = 192
"""CPUs from which on what is worked out of a tick is itself of hundreds of KiB, again and again."""


def spare_memory(cpus: int = 1) -> bool:
    """Have all threads allocate from one arena, and give large blocks back to the kernel when they are freed.

    glibc gives each of the first 8 threads for each CPU an arena of its own, so that they need not wait for each
    other. Threads that hold the interpreter's lock while they allocate never would, and an arena is 20 kB resident.
    The text of /proc/interrupts on a large machine would leave a hole of its size in the heap, where the next small
    block makes it stay; glibc's own limit for large blocks rises with every one that is freed, unless it is set.
    With many CPUs a limit so low would have the kernel clear 3,500 pages a second for the long integers of the past
    alone, which cost more than the arithmetic: there it is higher, and that text is still above it.

    Args:
        cpus: that are measured.

    Returns:
        Whether the C library knows the settings; others than glibc do not.
    """
    tune = getattr(ctypes.CDLL(None), "mallopt", None)
    large = _LARGE_OF_MANY if cpus >= _MANY else _LARGE
    return tune is not None and all([tune(_ARENA_MAX, 1), tune(_MMAP_THRESHOLD, large)])
