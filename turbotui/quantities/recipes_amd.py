"""Recipes of AMD's cores. Raw codes are umask << 8 | event (AMD Processor Programming References)."""

from __future__ import annotations

from typing import Final

from turbotui.quantities.precision import Precision
from turbotui.quantities.recipes import LOADS_STORES, Event, Recipe, Term, Width

_D, _S = Precision.DOUBLE, Precision.SINGLE

_AMD_MEMORY: Final = (
    Event("loads", 0x0529, "LS_DISPATCH, loads and load-op-stores"),
    Event("stores", 0x0629, "LS_DISPATCH, stores and load-op-stores"),
)
_AMD_WIDTHS: Final = (
    Event("ops scalar", 0x0408, "FP_OPS_RETIRED_BY_WIDTH, scalar"),
    Event("ops 128", 0x0808, "FP_OPS_RETIRED_BY_WIDTH, 128 bits"),
    Event("ops 256", 0x1008, "FP_OPS_RETIRED_BY_WIDTH, 256 bits"),
    Event("ops 512", 0x2008, "FP_OPS_RETIRED_BY_WIDTH, 512 bits"),
)
_AMD_MIX: Final = (
    Width("ops scalar", 0, "scalar"), Width("ops 128", 16, "SSE"), Width("ops 256", 32, "AVX"),
    Width("ops 512", 64, "AVX-512"),
)
_AMD_NOTE: Final = "loads and stores are counted at dispatch: speculative ones and replays count too"

ZEN2_ZEN3: Final = Recipe(
    slug="zen2",
    name="AMD Zen 2 and Zen 3",
    pmu=("cpu",),
    events=(Event("flops", 0x0F03, "RETIRED_SSE_AVX_FLOPS, all", counters=2), *_AMD_MEMORY),
    flops=(Term("flops", 1),),
    accesses=LOADS_STORES,
    widths=(),
    counters=6,
    overlap=True,
    note=f"neither precision nor width can be told apart: the width of an access must be given; {_AMD_NOTE}",
    source="AMD PPR, families 17h and 19h",
)
ZEN4: Final = Recipe(
    slug="zen4",
    name="AMD Zen 4",
    pmu=("cpu",),
    # 0x1f would add bfloat16 multiply-accumulates, which no roof here is made of
    events=(Event("flops", 0x0F03, "RETIRED_SSE_AVX_FLOPS, all but bfloat16", counters=2), *_AMD_MEMORY, *_AMD_WIDTHS),
    flops=(Term("flops", 1),),
    accesses=LOADS_STORES,
    widths=_AMD_MIX,
    counters=6,
    overlap=True,
    note=f"precision cannot be told apart: scalars are taken for doubles; {_AMD_NOTE}",
    source="AMD PPR, family 19h models 10h and above",
)
ZEN5: Final = Recipe(
    slug="zen5",
    name="AMD Zen 5",
    pmu=("cpu",),
    events=(
        Event("scalar double", 0x8F03, "RETIRED_SSE_AVX_FLOPS, scalar double, all operations", counters=2),
        Event("packed double", 0xAF03, "RETIRED_SSE_AVX_FLOPS, packed double, all operations", counters=2),
        Event("scalar single", 0x4F03, "RETIRED_SSE_AVX_FLOPS, scalar single, all operations", counters=2),
        Event("packed single", 0x6F03, "RETIRED_SSE_AVX_FLOPS, packed single, all operations", counters=2),
        *_AMD_MEMORY,
        *_AMD_WIDTHS,
    ),
    flops=(
        Term("scalar double", 1, _D), Term("packed double", 1, _D), Term("scalar single", 1, _S),
        Term("packed single", 1, _S),
    ),
    accesses=LOADS_STORES,
    widths=_AMD_MIX,
    counters=6,
    overlap=True,
    note=_AMD_NOTE,
    source="AMD PPR, family 1Ah",
)
