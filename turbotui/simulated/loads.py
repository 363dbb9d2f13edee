"""Samples of loads on a simulated machine, as the kernel's records, from the loads of the model's work.

The level that serves a load follows from the misses of its kind of work, the latency from `LATENCY`. The levels of
successive samples are spread evenly (multiples of the golden ratio), so that the shares of n samples are nearer to the
truth than n drawn ones would be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import PerfAttr
from turbotui.machine.tasks.load_records import sample
from turbotui.simulated.basis import CPU_WORK, KINDS, Form
from turbotui.simulated.shapes import Isa
from turbotui.simulated.threads import Threads, process_of
from turbotui.simulated.workloads import Workload

if TYPE_CHECKING:
    from turbotui.simulated.model import Model

LATENCY: Final[Mapping[str, int]] = {"L1": 5, "L2": 15, "L3": 70, "memory": 420, "far": 730}
"""Core cycles of a load, by the level that serves it."""
FAR: Final = 0.2
"""The share of another package's memory in the loads served by memory, if there is another package."""
TAGGED: Final = 16
"""Loads of which an Intel core samples one, because it follows one load at a time."""
_GOLDEN: Final = (math.sqrt(5.0) - 1.0) / 2.0
_PLASTIC: Final = 0.7548776662466927  # the first samples of different CPUs are spread evenly, too
_PRECISE: Final = 0b11 << 15
_MOST: Final = 5_000  # samples of one CPU between two reads, which is what the ring holds
NOTHING_TOLD: Final = 1 | 1 << 5 | 1 << 19 | 1 << 24 | 1 << 26 | 0xF << 33
"""PERF_MEM_NA of the kernel's perf_event.h: the data source of imprecise samples and of other than loads."""
_LOAD, _STORE, _HIT = 2, 4, 2 << 5
_WORDS: Final[Mapping[Isa, Mapping[str, int]]] = {
    # the kernel's words: pebs_data_source (arch/x86/events/intel/ds.c, Skylake and later), g_zen4_data_src (amd/ibs.c)
    Isa.INTEL: {
        "L1": _LOAD | _HIT | 0x008 << 5 | 0x1 << 33, "L2": _LOAD | _HIT | 0x020 << 5 | 0x2 << 33,
        "L3": _LOAD | _HIT | 0x040 << 5 | 0x3 << 33, "memory": _LOAD | _HIT | 0x080 << 5 | 0xD << 33,
        "far": _LOAD | _HIT | 1 << 37 | 0xD << 33,
    },
    Isa.AMD: {
        "L1": _LOAD | _HIT | 0x008 << 5 | 0x1 << 33, "L2": _LOAD | _HIT | 0x020 << 5 | 0x2 << 33,
        "L3": _LOAD | _HIT | 0x040 << 5 | 0x3 << 33, "memory": _LOAD | _HIT | 0x080 << 5 | 0xD << 33,
        "far": _LOAD | _HIT | 0x100 << 5 | 0xD << 33 | 1 << 37 | 2 << 43,
    },
}


def served(work: Workload, packages: int) -> dict[str, float]:
    """Return the share of a kind of work's loads that each level serves; the shares add up to 1."""
    far = FAR if packages > 1 else 0.0
    beyond = work.llc_misses / work.loads
    return {"L1": 1.0 - work.l1_misses / work.loads, "L2": (work.l1_misses - work.l2_misses) / work.loads,
            "L3": (work.l2_misses - work.llc_misses) / work.loads, "memory": beyond * (1.0 - far), "far": beyond * far}


@dataclass(slots=True)
class _Stream:
    kind: int  # of work
    form: Form  # the count of the sampled event
    # levels that serve, each with the end of its part of 1; "" for operations that are no loads
    levels: Sequence[tuple[str, float]]
    done: int  # the number of samples taken
    base: float  # the count when sampling began


class SimulatedLoads:
    """The ring of an event that samples loads on one CPU."""

    def __init__(self, model: Model, threads: Threads, attr: PerfAttr, cpu: int) -> None:
        self._model = model
        self._threads = threads
        self._cpu = cpu
        self._period = attr.sample_period
        shape = model.shape
        self._ibs = shape.isa is Isa.AMD
        if self._ibs:
            self._period &= ~0xF  # perf_ibs_init
        self._words = _WORDS[shape.isa] if self._ibs or bool(attr.flags & _PRECISE) else {}
        kind_of_core = shape.core_types[model.layout.places[cpu].type]
        with model.lock:
            now = model.now()
            self._streams = []
            for kind in range(KINDS):
                threads.follow(kind, now)
                work = kind_of_core.works[kind]
                each = work.ipc * kind_of_core.ipc * (1.0 if self._ibs else work.loads / TAGGED)
                form = ((CPU_WORK + kind, each),)
                self._streams.append(_Stream(kind, form, _levels(work, shape.packages, all_ops=self._ibs), 0,
                                             model.cpu[cpu].value(form, now)))

    def take(self) -> bytes:
        """Return the records since the last read."""
        with self._model.lock:
            now = self._model.now()
            return b"".join(part for stream in self._streams for part in self._records(stream, now))

    def close(self) -> None:
        """Do nothing: no descriptor is open."""

    def _records(self, stream: _Stream, now: float) -> list[bytes]:
        due = int((self._model.cpu[self._cpu].value(stream.form, now) - stream.base) / self._period)
        if due <= stream.done:
            return []
        pid = process_of(stream.kind)
        tid = pid + self._threads.owner(stream.kind, self._cpu)
        time = round(now * 1e9)
        records = [sample(pid, tid, time, *self._load(stream, number))
                   for number in range(max(stream.done, due - _MOST), due)]
        stream.done = due
        return records

    def _load(self, stream: _Stream, number: int) -> tuple[int, int]:
        """Return latency and data source of a sample."""
        part = ((number + 0.5) * _GOLDEN + self._cpu * _PLASTIC) % 1.0
        level = next((level for level, up_to in stream.levels if part < up_to), "")
        if level not in self._words:
            return 0, _STORE | NOTHING_TOLD & ~0x1F if level == "store" and self._words else NOTHING_TOLD
        cycles = 0 if self._ibs and level == "L1" else LATENCY[level]  # DcMissLat counts misses only
        return cycles, self._words[level]


def _levels(work: Workload, packages: int, *, all_ops: bool) -> list[tuple[str, float]]:
    shares = served(work, packages)
    if all_ops:
        shares = {**{level: share * work.loads for level, share in shares.items()}, "store": work.stores}
    total, levels = 0.0, []
    for level, share in shares.items():
        total += share
        levels.append((level, total))
    if not all_ops:
        levels[-1] = levels[-1][0], 1.0
    return levels
