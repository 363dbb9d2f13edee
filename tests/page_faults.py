"""A program's function that takes page faults which are counted everywhere: `touch(pages)`."""

from __future__ import annotations

from typing import Final

TOUCH: Final = """
import mmap

def touch(pages):
    for _ in range(pages // 500):
        area = mmap.mmap(-1, 500 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        area.madvise(mmap.MADV_NOHUGEPAGE)
        for place in range(0, 500 * mmap.PAGESIZE, mmap.PAGESIZE):
            area[place] = 1
        area.close()
"""
"""Pages are small ones, and 500 of them at a time, so that each is a fault of its own."""
