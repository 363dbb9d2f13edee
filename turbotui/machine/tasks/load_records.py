"""Records of sampled loads: the latency of each, and the level that served it; without input or output.

Layouts are those of uapi linux/perf_event.h (Linux 7.2): enum perf_event_type, union perf_mem_data_src.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import field
from enum import IntEnum
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.perf_records import HEADER, SAMPLE_KIND, WORD, RecordType

SAMPLE_TYPE: Final = 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
"""TID, TIME, WEIGHT, DATA_SRC: the fields of sampled loads.

Every kernel that measures loads knows WEIGHT, which has the cycles of the load alone. TIME, with a chosen clock, makes
each sample arrive at once: without it Intel's cores collect samples in a buffer that is emptied when full, and an
interval would have those of the one before (intel_pmu_large_pebs_flags, events/intel/core.c).
"""
SAMPLE: Final = struct.Struct("=IHHIIQQQ")
"""A whole record: type, misc, size, pid, tid, time, cycles, data source."""
_LOST: Final = int(RecordType.LOST)
_LOST_SAMPLES: Final = int(RecordType.LOST_SAMPLES)
_THROTTLE: Final = int(RecordType.THROTTLE)


class Served(IntEnum):
    """The level that served a load."""

    L1 = 0
    BUFFER = 1
    L2 = 2
    L3 = 3
    PEER = 4
    MEMORY = 5
    FAR = 6
    ELSE = 7


# union perf_mem_data_src: (first bit, bits); the values are those of PERF_MEM_* there
_LEVEL: Final = (5, 14)
_NUMBER: Final = (33, 4)
_REMOTE: Final = 37
_HOPS: Final = (43, 3)
_REGION: Final = (46, 5)
_LOAD: Final = 0x2  # PERF_MEM_OP_LOAD
_OP: Final = 0x1F
_NA: Final = 0x1  # PERF_MEM_OP_NA
_HIT, _MISS = 0x2, 0x4  # PERF_MEM_LVL_HIT, _MISS
_HOPS_0: Final = 1  # another core of this node
_OTHER_AGENT: Final = frozenset({4, 5, 6})  # PERF_MEM_REGION_O_IO, _O_SHARE, _O_NON_SHARE: another caching agent
_MMIO: Final = 7  # PERF_MEM_REGION_MMIO

_BY_NUMBER: Final = {
    # PERF_MEM_LVLNUM_*
    0x1: Served.L1, 0x7: Served.L1,  # L0 stands before L1 on Panther Cove
    0xC: Served.BUFFER,
    0x2: Served.L2, 0x5: Served.L2,  # L2 and its miss handling buffer
    0x3: Served.L3,
    0x4: Served.MEMORY, 0x6: Served.MEMORY,  # L4 and memory-side caches stand behind the memory's address
    0x9: Served.MEMORY, 0xD: Served.MEMORY, 0xE: Served.MEMORY,  # CXL, RAM, persistent memory
}
_BY_LEVEL: Final = (
    # PERF_MEM_LVL_*, for kernels before 4.14 and what has no number
    (0x0008, Served.L1), (0x0010, Served.BUFFER), (0x0020, Served.L2), (0x0040, Served.L3), (0x0080, Served.MEMORY),
    (0x0100 | 0x0200 | 0x0800, Served.FAR), (0x0400, Served.PEER),
)
_ANY_CACHE: Final = 0xB
_SAYS_NOTHING: Final = frozenset({0x0, 0xF})


def _bits(source: int, place: tuple[int, int]) -> int:
    return source >> place[0] & ((1 << place[1]) - 1)


def is_load(source: int) -> bool:
    """Tell whether a sample is of a load; AMD samples any instruction."""
    return source & _OP == _LOAD


def has_data_source(source: int) -> bool:
    """Tell whether the kernel tells what the instruction did."""
    return source & _OP not in (0, _NA)


def served_by(source: int) -> Served:
    """Return the level that served a load, by the kernel's union perf_mem_data_src."""
    level, number = _bits(source, _LEVEL), _bits(source, _NUMBER)
    if level & _MISS and not level & _HIT:
        return Served.ELSE  # the load missed the named level, and what served it is unknown
    if _bits(source, _REGION) == _MMIO:
        return Served.ELSE
    if source >> _REMOTE & 1:
        return Served.PEER if _bits(source, _HOPS) == _HOPS_0 else Served.FAR
    if _bits(source, _REGION) in _OTHER_AGENT:
        return Served.PEER
    if number in _BY_NUMBER:
        return _BY_NUMBER[number]
    if number == _ANY_CACHE or number in _SAYS_NOTHING:
        return next((served for bits, served in _BY_LEVEL if level & bits), Served.ELSE)
    return Served.ELSE


@dataclass(slots=True)
class LoadCounts:
    """Sampled loads of a thread."""

    served: list[int] = field(default_factory=lambda: [0] * len(Served))  # the number of loads by `Served`
    timed: int = 0  # the number of loads beyond L1 with a latency
    cycles: int = 0  # the sum of their cycles
    squares: int = 0  # the sum of the squares of their cycles

    def add(self, other: LoadCounts) -> None:
        """Add loads of another thread or time."""
        self.served = [number + more for number, more in zip(self.served, other.served, strict=True)]
        self.timed += other.timed
        self.cycles += other.cycles
        self.squares += other.squares

    @property
    def number(self) -> int:
        """The number of sampled loads."""
        return sum(self.served)

    def share(self, *which: Served) -> float | None:
        """Return the share of loads that these levels served; None without sampled loads."""
        number = self.number
        return sum(self.served[kind] for kind in which) / number if number else None

    @property
    def mean(self) -> float | None:
        """The mean cycles of loads that L1 did not serve; None without such samples."""
        return self.cycles / self.timed if self.timed else None

    @property
    def mean_error(self) -> float | None:
        """The standard error of `mean`; None with fewer than two loads."""
        if self.timed < 2:
            return None
        spread = max(0.0, self.squares - self.cycles * self.cycles / self.timed) / (self.timed - 1)
        return float((spread / self.timed) ** 0.5)

    def share_error(self, *which: Served) -> float | None:
        """Return the standard error of `share` by Agresti and Coull, which is not 0 for shares of 0 and 1."""
        if not (number := self.number):
            return None
        tilde = (sum(self.served[kind] for kind in which) + 2) / (number + 4)
        return float((tilde * (1 - tilde) / (number + 4)) ** 0.5)


class LoadRecords:
    """Adds up the records of rings, thread by thread.

    Attributes:
        threads: loads since the last `take`, by the number of the thread.
        samples: all samples, loads or not.
        with_source: samples for which the kernel tells what the instruction did.
        lost: records for which the ring had no room.
        throttled: how often the kernel throttled sampling.
        damaged: blocks that could not be parsed.
    """

    def __init__(self) -> None:
        self.threads: defaultdict[int, LoadCounts] = defaultdict(LoadCounts)
        self.samples = 0
        self.with_source = 0
        self.lost = 0
        self.throttled = 0
        self.damaged = 0
        self._known: dict[int, Served | None] = {}

    def take(self) -> dict[int, LoadCounts]:
        """Return the loads since the last call."""
        counts, self.threads = self.threads, defaultdict(LoadCounts)
        return counts

    def read(self, block: bytes) -> None:
        """Add the records of one ring."""
        at, end, known, threads = 0, len(block), self._known, self.threads
        while at + HEADER.size <= end:
            kind, _misc, size = HEADER.unpack_from(block, at)
            if size < HEADER.size or at + size > end:
                self.damaged += 1
                return
            if kind == SAMPLE_KIND:
                if size != SAMPLE.size:
                    self.damaged += 1
                    return
                tid, _time, cycles, source = SAMPLE.unpack_from(block, at)[4:]
                self.samples += 1
                if source not in known:
                    known[source] = self._look(source)
                served = known[source]
                self.with_source += has_data_source(source)
                if served is not None:
                    counts = threads[tid]
                    counts.served[served] += 1
                    if cycles and served is not Served.L1:
                        counts.timed += 1
                        counts.cycles += cycles
                        counts.squares += cycles * cycles
            elif kind in (_LOST, _LOST_SAMPLES) and size >= HEADER.size + (8 if kind == _LOST_SAMPLES else 16):
                self.lost += WORD.unpack_from(block, at + HEADER.size + (0 if kind == _LOST_SAMPLES else 8))[0]
            elif kind == _THROTTLE:
                self.throttled += 1
            at += size
        self.damaged += at != end

    def _look(self, source: int) -> Served | None:
        if len(self._known) > _MOST_SOURCES:
            self._known.clear()
        return served_by(source) if is_load(source) else None


_MOST_SOURCES: Final = 10_000  # cached meanings of words, of which a machine has a few dozen


def sample(pid: int, tid: int, time: int, cycles: int, source: int) -> bytes:
    """Make a record as the kernel writes it."""
    return SAMPLE.pack(SAMPLE_KIND, 2, SAMPLE.size, pid, tid, time, cycles, source)  # 2: PERF_RECORD_MISC_USER
