"""The C library's allocator, told that many threads here are not many threads that allocate at once."""

from __future__ import annotations

import ctypes
from typing import Final

_ARENA_MAX: Final = -8  # M_ARENA_MAX (mallopt(3), glibc's malloc.h)


def share_one_arena() -> bool:
    """Have all threads allocate from one arena, from now on.

    glibc gives each of the first 8 threads for each CPU an arena of its own, so that they need not wait for each
    other. Threads that hold the interpreter's lock while they allocate never would, and an arena is 20 kB resident.

    Returns:
        Whether the C library knows the setting; others than glibc do not.
    """
    tune = getattr(ctypes.CDLL(None), "mallopt", None)
    return tune is not None and bool(tune(_ARENA_MAX, 1))
