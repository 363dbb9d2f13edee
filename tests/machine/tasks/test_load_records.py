"""Records of sampled loads: the kernel's words for the serving level, and invalid bytes."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.machine.tasks.load_records import (
    SAMPLE,
    LoadCounts,
    LoadRecords,
    Served,
    has_data_source,
    is_load,
    sample,
    served_by,
)
from turbotui.quantities.by_key import total_of

HIT, MISS = 2 << 5, 4 << 5
REM, NUM = 1 << 37, 33


def level(bit: int, number: int, more: int = 0) -> int:
    """A load that hit a level: PERF_MEM_LVL_* and PERF_MEM_LVLNUM_*."""
    return 2 | HIT | bit << 5 | number << NUM | more


@pytest.mark.parametrize(("word", "served"), [
    # Linux 7.2 arch/x86/events/intel/ds.c, pebs_data_source and its patches
    (level(0x08, 1), Served.L1),
    (level(0x10, 0xC), Served.BUFFER),
    (level(0x20, 2), Served.L2),
    (level(0x40, 3), Served.L3),
    (level(0x400, 3, REM), Served.FAR),  # 0x08 of Sandy Bridge
    (level(0x80, 0xD), Served.MEMORY),
    (level(0x100, 0xD, REM), Served.FAR),
    (level(0, 0xE), Served.MEMORY),  # 0x08 of Skylake with persistent memory
    (level(0, 4), Served.MEMORY),  # without: L4
    (level(0, 0xD, REM), Served.FAR),  # 0x0b of Skylake
    (level(0, 0xB, REM), Served.FAR),  # 0x0c, 0x0d of Skylake: another package's cache
    (2 | MISS | 3 << NUM, Served.ELSE),  # 0x00: unknown, L3 missed
    (level(0x1000, 0xF), Served.ELSE),  # I/O
    (level(0x2000, 0xF), Served.ELSE),  # uncached
    (level(0, 5), Served.L2),  # 0x06 of Lion Cove: L2's miss handling buffer
    (level(0, 6), Served.MEMORY),  # 0x10 of Lion Cove: memory-side cache
    (2 | MISS | 0x40 << 5 | 3 << NUM, Served.ELSE),  # 0x0f of Lion Cove
    (level(0, 7), Served.L1),  # 0x01 of Panther Cove: L0
    (level(0x40, 3, 2 << 46), Served.L3),  # offcore module response: local shared cache
    (level(0x40, 3, 5 << 46), Served.PEER),  # another caching agent's
    (level(0x40 | 0x400, 3, 2 << 46 | REM), Served.FAR),
    (level(0, 0xD, 7 << 46), Served.ELSE),  # MMIO
    (level(0x80, 0xD, 8 << 46), Served.MEMORY),
    # arch/x86/events/amd/ibs.c, g_data_src and g_zen4_data_src
    (level(0x40 | 0x400, 0xB, 1 << 43), Served.L3),  # Zen to Zen 3: L3, or a cache of this complex
    (level(0x800, 0xB, REM | 2 << 43), Served.FAR),
    (level(0x400, 0xB, REM | 1 << 43), Served.PEER),  # Zen 4: another complex of this node
    (level(0, 9), Served.MEMORY),  # CXL
    (level(0, 9, REM | 2 << 43), Served.FAR),
    (level(0x1000, 0xA), Served.ELSE),
    (level(0x2000, 8), Served.ELSE),
    (2 | 1 << 5 | 0xF << NUM, Served.ELSE),  # not available
    # kernels before 4.14 had no numbers
    (level(0x08, 0), Served.L1),
    (level(0x80, 0), Served.MEMORY),
])
def test_the_kernels_words_for_what_served_a_load(word: int, served: Served) -> None:
    assert is_load(word)
    assert served_by(word) is served


@pytest.mark.parametrize(("word", "load", "with_source"), [(0, False, False), (1, False, False), (2, True, True),
                                                           (4, False, True), (8, False, True)])
def test_only_loads_are_loads(word: int, load: bool, with_source: bool) -> None:
    assert (is_load(word), has_data_source(word)) == (load, with_source)


def test_means_and_shares_of_known_loads() -> None:
    records = LoadRecords()
    block = b"".join([
        sample(7, 8, 1, 5, level(0x08, 1)), sample(7, 8, 2, 5, level(0x08, 1)),
        sample(7, 8, 3, 100, level(0x80, 0xD)), sample(7, 8, 4, 300, level(0x100, 0xD, REM)),
        sample(7, 9, 5, 0, level(0x08, 1)), sample(7, 9, 6, 0, 4), sample(7, 9, 7, 0, 1),
    ])
    records.read(block)
    assert (records.samples, records.with_source) == (7, 6)
    found = records.take()
    assert found[8].number == 4
    assert found[8].mean == 200.0  # L1's are not in it
    assert found[8].mean_error == pytest.approx(100.0)  # sqrt(((100-200)^2 + (300-200)^2) / (2-1)) / sqrt(2)
    assert [found[8].share(one) for one in (Served.L1, Served.MEMORY, Served.FAR, Served.L2)] == [0.5, 0.25, 0.25, 0.0]
    assert (found[9].number, found[9].mean, found[9].share(Served.L1)) == (1, None, 1.0)
    assert records.take() == {}


def test_what_was_lost_and_held_back_is_reported() -> None:
    records = LoadRecords()
    records.read(struct.pack("=IHHQQ", 2, 0, 24, 1, 40) + struct.pack("=IHHQ", 13, 0, 16, 2)
                 + struct.pack("=IHHQQQ", 5, 0, 32, 0, 0, 0))
    assert (records.lost, records.throttled, records.damaged, records.samples) == (42, 1, 0, 0)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_called_damaged(block: bytes) -> None:
    records = LoadRecords()
    records.read(block)
    assert records.damaged or not block or records.samples * SAMPLE.size <= len(block)
    assert records.damaged in (0, 1)


_WORDS = st.sampled_from([level(0x08, 1), level(0x20, 2), level(0x80, 0xD), level(0, 0xD, REM), 2, 1, 4])
_SAMPLES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5_000), _WORDS), max_size=40)


@given(_SAMPLES, st.integers(0, 40))
def test_loads_of_parts_are_those_of_the_whole(samples: list[tuple[int, int, int]], cut: int) -> None:
    records = LoadRecords()
    parts: list[dict[int, LoadCounts]] = []
    for some in (samples[:cut], samples[cut:]):
        records.read(b"".join(sample(tid, tid, 0, cycles, word) for tid, cycles, word in some))
        parts.append(records.take())
    whole = total_of(LoadCounts(), (counts for part in parts for counts in part.values()))
    loads = [(cycles, served_by(word)) for _tid, cycles, word in samples if is_load(word)]
    assert whole.number == len(loads)
    beyond = [cycles for cycles, served in loads if served is not Served.L1 and cycles]
    assert whole.mean == (pytest.approx(math.fsum(beyond) / len(beyond)) if beyond else None)
    if loads:
        assert sum(whole.share(served) or 0.0 for served in Served) == pytest.approx(1.0)
        assert all(0.0 < (whole.share_error(served) or 0.0) < 0.5 for served in Served)
    else:
        assert whole.share(Served.L1) is None
