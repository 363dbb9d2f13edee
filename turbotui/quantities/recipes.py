"""Which events count floating-point operations and memory accesses, by microarchitecture: a table.

Raw codes are umask << 8 | event, as perf's `cpu/config=.../` takes them (Intel perfmon tables, AMD Processor
Programming References, Arm Neoverse Technical Reference Manuals; the i7-3770K's as in the paper's table 1).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from turbotui.quantities.precision import Precision
from turbotui.quantities.signals import SignalId


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a core PMU.

    Attributes:
        key: the word that terms and deltas use.
        config: raw code.
        name: the maker's name.
        counters: general counters it takes: two where the kernel pairs them (AMD's wide increments).
        config1: second word (Intel OFFCORE_RESPONSE).
        optional: whether a machine of this recipe may lack it (ENOENT, or 0 for ever).
    """

    key: str
    config: int
    name: str
    counters: int = 1
    config1: int = 0
    optional: bool = False

    @property
    def perf(self) -> str:
        """As `perf stat -e` takes it, without the PMU: "config=0x1c7"."""
        return f"config={self.config:#x}" + (f",config1={self.config1:#x}" if self.config1 else "")


@dataclass(frozen=True, slots=True)
class Term:
    """A share of a sum: weight times the event's count.

    Attributes:
        event: key of an `Event`.
        weight: flops, accesses or bytes of one count.
        precision: of the flops, None where the event does not tell.
        per_vector: whether the weight is for 128 bits of vector length and grows with it (Arm SCALE events).
    """

    event: str
    weight: float
    precision: Precision | None = None
    per_vector: bool = False


@dataclass(frozen=True, slots=True)
class Width:
    """Instructions of one width, for the mean width of an access.

    Attributes:
        event: key of an `Event`.
        bytes: of a register; 0 for scalars of unknown precision.
        name: "scalar", "SSE", "AVX", "AVX-512", "NEON".
        per_vector: whether bytes is for 128 bits of vector length.
    """

    event: str
    bytes: int
    name: str
    per_vector: bool = False


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to count on one family of cores.

    Attributes:
        slug: the word of its signals: "roofline.SLUG.EVENT".
        name: microarchitectures.
        pmu: sysfs names of the core PMU, the first that exists.
        events: in the order in which they are put into sets.
        flops: terms of the floating-point operations; empty where the core has no such event.
        accesses: terms of loads and stores.
        widths: instructions by width.
        exact_bytes: terms of bytes, where the core counts them (optional events first to be tried).
        counters: general counters that all machines of the recipe have with SMT on.
        overlap: whether instructions and cycles need a general counter each.
        note: what the numbers are not.
        source: the document.
        unverified: what of it no document here confirms; "" where all of it is confirmed. No recipe was run on its
            hardware yet.
        signals: key and signal of each event.
        optional: keys of the events that a machine of this recipe may lack.
    """

    slug: str
    name: str
    pmu: tuple[str, ...]
    events: tuple[Event, ...]
    flops: tuple[Term, ...]
    accesses: tuple[Term, ...]
    widths: tuple[Width, ...]
    counters: int
    note: str
    source: str
    exact_bytes: tuple[Term, ...] = ()
    overlap: bool = False
    unverified: str = ""
    signals: tuple[tuple[str, SignalId], ...] = field(init=False, repr=False, compare=False)
    optional: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # asked for every CPU in every interval
        names = tuple((event.key, f"roofline.{self.slug}.{event.key.replace(' ', '_')}") for event in self.events)
        object.__setattr__(self, "signals", names)
        object.__setattr__(self, "optional", frozenset(event.key for event in self.events if event.optional))

    @property
    def separates_precision(self) -> bool:
        """Whether flops can be told apart by precision."""
        return bool(self.flops) and all(term.precision is not None for term in self.flops)


_D, _S = Precision.DOUBLE, Precision.SINGLE
_CORE: Final = ("cpu", "cpu_core")
_ATOM: Final = ("cpu", "cpu_atom")
_ARM_PMU: Final = ("armv8_pmuv3_0", "armv8_pmuv3", "armv9_pmuv3_0")

_INTEL_LOADS: Final = Event("loads", 0x81D0, "MEM_INST_RETIRED.ALL_LOADS")
_INTEL_STORES: Final = Event("stores", 0x82D0, "MEM_INST_RETIRED.ALL_STORES")
_LOADS_STORES: Final = (Term("loads", 1), Term("stores", 1))

IVY_BRIDGE: Final = Recipe(
    slug="ivybridge",
    name="Intel Sandy Bridge and Ivy Bridge",
    pmu=_CORE,
    events=(
        Event("scalar single", 0x2010, "FP_COMP_OPS_EXE.SSE_SCALAR_SINGLE"),
        Event("sse single", 0x4010, "FP_COMP_OPS_EXE.SSE_PACKED_SINGLE"),
        Event("avx single", 0x0111, "SIMD_FP_256.PACKED_SINGLE"),
        Event("avx double", 0x0211, "SIMD_FP_256.PACKED_DOUBLE"),
        Event("scalar double", 0x8010, "FP_COMP_OPS_EXE.SSE_SCALAR_DOUBLE"),
        Event("sse double", 0x1010, "FP_COMP_OPS_EXE.SSE_PACKED_DOUBLE"),
        Event("loads", 0x81D0, "MEM_UOPS_RETIRED.ALL_LOADS"),
        Event("stores", 0x82D0, "MEM_UOPS_RETIRED.ALL_STORES"),
    ),
    flops=(
        Term("scalar double", 1, _D), Term("sse double", 2, _D), Term("avx double", 4, _D),
        Term("scalar single", 1, _S), Term("sse single", 4, _S), Term("avx single", 8, _S),
    ),
    accesses=_LOADS_STORES,
    widths=(
        Width("scalar double", 8, "scalar"), Width("scalar single", 4, "scalar"),
        Width("sse double", 16, "SSE"), Width("sse single", 16, "SSE"),
        Width("avx double", 32, "AVX"), Width("avx single", 32, "AVX"),
    ),
    counters=4,
    note="executed, not retired: operations issued again after a miss in L1 count again",
    source="Antao et al., table 1; Intel perfmon, ivybridge",
)

HASWELL: Final = Recipe(
    slug="haswell",
    name="Intel Haswell",
    pmu=_CORE,
    events=(
        Event("avx instructions", 0x07C6, "AVX_INSTS.ALL"),
        Event("loads", 0x81D0, "MEM_UOPS_RETIRED.ALL_LOADS"),
        Event("stores", 0x82D0, "MEM_UOPS_RETIRED.ALL_STORES"),
    ),
    flops=(),
    accesses=_LOADS_STORES,
    widths=(),
    counters=4,
    note="this core has no event that counts floating-point operations",
    source="Intel perfmon, haswell",
)

_FP_ARITH: Final = (
    ("scalar double", 0x01, 1, _D, 8, "scalar"),
    ("sse double", 0x04, 2, _D, 16, "SSE"),
    ("avx double", 0x10, 4, _D, 32, "AVX"),
    ("avx512 double", 0x40, 8, _D, 64, "AVX-512"),
    ("scalar single", 0x02, 1, _S, 4, "scalar"),
    ("sse single", 0x08, 4, _S, 16, "SSE"),
    ("avx single", 0x20, 8, _S, 32, "AVX"),
    ("avx512 single", 0x80, 16, _S, 64, "AVX-512"),
)
"""FP_ARITH_INST_RETIRED, event 0xC7: umask, flops of a count (a fused instruction counts twice), bytes, width."""

BROADWELL_ON: Final = Recipe(
    slug="broadwell",
    name="Intel Broadwell to Granite Rapids, P cores",
    pmu=_CORE,
    events=(
        *(Event(key, umask << 8 | 0xC7, f"FP_ARITH_INST_RETIRED, umask {umask:#04x}", optional="avx512" in key)
          for key, umask, *_ in _FP_ARITH),
        _INTEL_LOADS,
        _INTEL_STORES,
    ),
    flops=tuple(Term(key, flops, precision) for key, _, flops, precision, _, _ in _FP_ARITH),
    accesses=_LOADS_STORES,
    widths=tuple(Width(key, size, name) for key, _, _, _, size, name in _FP_ARITH),
    counters=4,
    note="without x87, half precision and AMX",
    source="Intel perfmon, broadwell to graniterapids",
)

INTEL_E: Final = Recipe(
    slug="crestmont",
    name="Intel Sierra Forest and Grand Ridge, E cores",
    pmu=_ATOM,
    events=(
        Event("flops double", 0x01C8, "FP_FLOPS_RETIRED.FP64"),
        Event("flops single", 0x02C8, "FP_FLOPS_RETIRED.FP32"),
        _INTEL_LOADS,
        _INTEL_STORES,
        Event("scalar single", 0x01C7, "FP_INST_RETIRED.32B_SP"),
        Event("scalar double", 0x02C7, "FP_INST_RETIRED.64B_DP"),
        Event("sse single", 0x04C7, "FP_INST_RETIRED.128B_SP"),
        Event("sse double", 0x08C7, "FP_INST_RETIRED.128B_DP"),
        Event("avx double", 0x20C7, "FP_INST_RETIRED.256B_DP"),
    ),
    flops=(Term("flops double", 1, _D), Term("flops single", 1, _S)),
    accesses=_LOADS_STORES,
    widths=(
        Width("scalar single", 4, "scalar"), Width("scalar double", 8, "scalar"), Width("sse single", 16, "SSE"),
        Width("sse double", 16, "SSE"), Width("avx double", 32, "AVX"),
    ),
    counters=8,
    note="the events name no 256-bit single instructions, so the mean width may be too small",
    source="Intel perfmon, sierraforest and grandridge",
)
CLIENT_E: Final = replace(
    INTEL_E, slug="client-e", name="E cores of Intel Meteor Lake and later", pmu=("cpu_atom",),
    source="Intel perfmon, meteorlake and lunarlake, cpu_atom",
    unverified="FP_INST_RETIRED, from which the width of an access is made, is listed for the server parts only",
)

GRACEMONT: Final = Recipe(
    slug="gracemont",
    name="Intel Gracemont, also the E cores of Alder Lake and Raptor Lake",
    pmu=_ATOM,
    events=(_INTEL_LOADS, _INTEL_STORES),
    flops=(),
    accesses=_LOADS_STORES,
    widths=(),
    counters=4,
    note="this core has no event that counts floating-point operations",
    source="Intel perfmon, alderlake, cpu_atom",
)

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
    accesses=_LOADS_STORES,
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
    accesses=_LOADS_STORES,
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
    accesses=_LOADS_STORES,
    widths=_AMD_MIX,
    counters=6,
    overlap=True,
    note=_AMD_NOTE,
    source="AMD PPR, family 1Ah",
)

_ARM_FLOPS: Final = (
    Event("scale flops", 0x80C0, "FP_SCALE_OPS_SPEC"),
    Event("fixed flops", 0x80C1, "FP_FIXED_OPS_SPEC"),
)
_ARM_BYTES: Final = (
    Event("scale bytes", 0x80DA, "LDST_SCALE_BYTES_SPEC", optional=True),
    Event("fixed bytes", 0x80DB, "LDST_FIXED_BYTES_SPEC", optional=True),
)
_ARM_MEMORY: Final = (
    Event("loads", 0x0070, "LD_SPEC"),
    Event("stores", 0x0071, "ST_SPEC"),
)
_ARM_EXACT: Final = (Term("scale bytes", 1, per_vector=True), Term("fixed bytes", 1))
_ARM_NOTE: Final = "all counts are speculative"

NEOVERSE: Final = Recipe(
    slug="neoverse",
    name="Arm Neoverse N2, V1 and V2",
    pmu=_ARM_PMU,
    events=(
        *_ARM_FLOPS, *_ARM_BYTES, *_ARM_MEMORY,
        Event("vector instructions", 0x8005, "ASE_INST_SPEC"),
        Event("sve instructions", 0x8006, "SVE_INST_SPEC"),
        Event("scalar instructions", 0x0075, "VFP_SPEC"),
    ),
    flops=(Term("scale flops", 1, per_vector=True), Term("fixed flops", 1)),
    accesses=_LOADS_STORES,
    exact_bytes=_ARM_EXACT,
    widths=(
        Width("scalar instructions", 0, "scalar"), Width("vector instructions", 16, "NEON"),
        Width("sve instructions", 16, "SVE", per_vector=True),
    ),
    counters=6,
    note=f"precision cannot be told apart; {_ARM_NOTE}",
    source="Arm Architecture Reference Manual DDI 0487, D14; Neoverse N2, V1, V2 Technical Reference Manuals",
)
NEOVERSE_LATER: Final = replace(
    NEOVERSE, slug="neoverse-later", name="Arm Neoverse N3 and V3",
    source="Arm Architecture Reference Manual DDI 0487, D14",
    unverified="these cores are taken to count as N2 and V2 do: no table of theirs was read",
)
OLYMPUS: Final = Recipe(
    slug="olympus",
    name="NVIDIA Olympus",
    pmu=_ARM_PMU,
    events=(
        Event("scale double", 0x80C6, "FP_DP_SCALE_OPS_SPEC"),
        Event("fixed double", 0x80C7, "FP_DP_FIXED_OPS_SPEC"),
        Event("scale single", 0x80C4, "FP_SP_SCALE_OPS_SPEC"),
        Event("fixed single", 0x80C5, "FP_SP_FIXED_OPS_SPEC"),
        *_ARM_BYTES, *_ARM_MEMORY,
        Event("vector instructions", 0x8005, "ASE_INST_SPEC"),
        Event("sve instructions", 0x8006, "SVE_INST_SPEC"),
        Event("scalar instructions", 0x0075, "VFP_SPEC"),
    ),
    flops=(
        Term("scale double", 1, _D, per_vector=True), Term("fixed double", 1, _D),
        Term("scale single", 1, _S, per_vector=True), Term("fixed single", 1, _S),
    ),
    accesses=_LOADS_STORES,
    exact_bytes=_ARM_EXACT,
    widths=NEOVERSE.widths,
    counters=6,
    note=f"half precision is not counted in; {_ARM_NOTE}",
    source="linux tools/perf/pmu-events/arch/arm64, nvidia olympus",
)
NEOVERSE_N1: Final = Recipe(
    slug="neoverse-n1",
    name="Arm Neoverse N1",
    pmu=_ARM_PMU,
    events=(
        Event("scalar instructions", 0x0075, "VFP_SPEC"),
        Event("vector instructions", 0x0074, "ASE_SPEC"),
        *_ARM_MEMORY,
    ),
    flops=(),
    accesses=_LOADS_STORES,
    widths=(Width("scalar instructions", 0, "scalar"), Width("vector instructions", 16, "NEON")),
    counters=6,
    note=f"this core counts floating-point instructions, not operations; {_ARM_NOTE}",
    source="Neoverse N1 Technical Reference Manual",
)

RECIPES: Final = (
    IVY_BRIDGE, HASWELL, BROADWELL_ON, INTEL_E, CLIENT_E, GRACEMONT, ZEN2_ZEN3, ZEN4, ZEN5, NEOVERSE, NEOVERSE_LATER,
    OLYMPUS, NEOVERSE_N1,
)
