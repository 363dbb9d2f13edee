"""What a core does in a cycle, by microarchitecture, and the spec sheets of whole chips: tables for theoretical roofs.

Everything here is theory: design limits that documents state, none of it measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypedDict


@dataclass(frozen=True, slots=True)
class Core:
    """Design limits of one core.

    Attributes:
        name: microarchitecture.
        widths: ((name, bits), ...) of vector registers in ascending order, without scalar.
        units: arithmetic units that work on registers of that many bits, as {bits: (add, mul, fma)} instructions each
            cycle; scalar under 0. add and mul are those issued together when half of the instructions are either.
        fused: whether there is a fused multiply-add.
        load: bytes loaded each cycle by {bits}, scalar doubles under 0; only the widths that are surely so.
        store: bytes stored each cycle, likewise.
        both: bytes each cycle of 2 loads : 1 store, likewise.
        l2: bytes each cycle between L1 and L2; None where no document here says.
        l3: likewise for L3.
        l2_shared: bytes each cycle of an L2 that several cores share, all of them together; None for a core's own.
        source: the document.
    """

    name: str
    widths: tuple[tuple[str, int], ...]
    units: Mapping[int, tuple[int, int, int]]
    load: Mapping[int, int]
    store: Mapping[int, int]
    both: Mapping[int, int]
    source: str
    l2: int | None = None
    l3: int | None = None
    l2_shared: int | None = None

    @property
    def fused(self) -> bool:
        """Whether there is a fused multiply-add."""
        return any(fma for _, _, fma in self.units.values())


_AVX: Final = (("SSE", 128), ("AVX", 256))
_AVX512: Final = (*_AVX, ("AVX-512", 512))
_NEON: Final = (("NEON", 128),)


def _same(count: tuple[int, int, int], *bits: int) -> Mapping[int, tuple[int, int, int]]:
    """The same number of instructions at every width and for scalars."""
    return MappingProxyType(dict.fromkeys((0, *bits), count))


def _halved(pipes: int) -> Mapping[int, tuple[int, int, int]]:
    """Pipes of 128 bits that add, multiply and fuse: half as many instructions of 256 bits."""
    full, half = (pipes,) * 3, (pipes // 2,) * 3
    return MappingProxyType({0: full, 128: full, 256: half})


class _Ports(TypedDict):
    load: Mapping[int, int]
    store: Mapping[int, int]
    both: Mapping[int, int]


_TWO_LOADS: Final = _Ports(load={0: 16, 128: 32, 256: 32}, store={0: 16, 128: 32, 256: 32},
                           both={0: 24, 128: 48, 256: 48})
"""Two loads and two stores of 16 bytes each cycle."""

_INTEL_GUIDE: Final = "Intel 64 and IA-32 Architectures Optimization Reference Manual"
_AMD_GUIDE: Final = "AMD Software Optimization Guide, family"
_ARM_GUIDE: Final = "Arm Software Optimization Guide"

CORES: Final[Mapping[str, Core]] = MappingProxyType(
    {
        core.name: core
        for core in (
            # One ADD and one MUL port of 256 bits; two 16-byte load ports and one 16-byte store port.
            Core("Ivy Bridge", _AVX, _same((1, 1, 0), 128, 256),
                 load={0: 16, 128: 32, 256: 32}, store={0: 8, 128: 16, 256: 16}, both={0: 24, 128: 48, 256: 48},
                 l2=32, l3=32, source=f"{_INTEL_GUIDE}, Sandy Bridge; L2 and L3 are design limits"),
            # Two FMA units of 256 bits; one of them adds. Two 32-byte loads and one 32-byte store.
            Core("Haswell", _AVX, _same((1, 2, 2), 128, 256), load={256: 64}, store={256: 32}, both={256: 96}, l2=64,
                 source=f"{_INTEL_GUIDE}, Haswell"),
            Core("Skylake", _AVX, _same((2, 2, 2), 128, 256), load={256: 64}, store={256: 32}, both={256: 96}, l2=64,
                 source=f"{_INTEL_GUIDE}, Skylake"),
            # Ports 0 and 1 together and port 5: two FMA units of 512 bits, as most parts have.
            Core("Skylake and Ice Lake server", _AVX512, _same((2, 2, 2), 128, 256, 512),
                 load={512: 128}, store={512: 64}, both={512: 192}, l2=64,
                 source=f"{_INTEL_GUIDE}, Skylake server; parts with two 512-bit FMA units"),
            Core("Golden Cove server", _AVX512, _same((2, 2, 2), 128, 256, 512),
                 load={512: 128}, store={512: 64}, both={512: 192}, l2=64, source=f"{_INTEL_GUIDE}, Golden Cove"),
            # Three 32-byte loads; two stores where both go to one line.
            Core("Golden Cove", _AVX, _same((2, 2, 2), 128, 256),
                 load={256: 96}, store={256: 64}, both={256: 144}, l2=64, source=f"{_INTEL_GUIDE}, Golden Cove"),
            # AVX-512 on ports 0 and 1 together only; two stores where both go to one line.
            Core("Sunny Cove", _AVX512,
                 MappingProxyType({0: (2, 2, 2), 128: (2, 2, 2), 256: (2, 2, 2), 512: (1, 1, 1)}),
                 load={512: 128}, store={512: 64}, both={512: 192}, l2=64,
                 source=f"{_INTEL_GUIDE}, Ice Lake client; one 512-bit FMA unit"),
            # Two FMA and two ADD pipes of 256 bits, three loads, two stores; between L1 and L2 lies one more level.
            Core("Lion Cove", _AVX, _same((2, 2, 2), 128, 256),
                 load={256: 96}, store={256: 64}, both={256: 144}, source=f"{_INTEL_GUIDE}, Lion Cove"),
            # E cores: pipes of 128 bits, so that a 256-bit instruction is two. Two loads and two stores of 16 bytes; a
            # core takes no more from L2 than its load ports do, and four cores share one.
            Core("Gracemont", _AVX, _halved(2), **_TWO_LOADS, l2=32, l2_shared=64,
                 source=f"{_INTEL_GUIDE}, Gracemont; an L2 gives its four cores 64 bytes a cycle together"),
            Core("Crestmont", _AVX, _halved(2), **_TWO_LOADS, l2=32, l2_shared=64,
                 source=f"{_INTEL_GUIDE}, Crestmont; an L2 gives its cores 64 bytes a cycle together"),
            # Four such pipes, three loads, two stores.
            Core("Skymont", _AVX, _halved(4),
                 load={0: 24, 128: 48, 256: 48}, store={0: 16, 128: 32, 256: 32}, both={128: 72, 256: 72}, l2=48,
                 l2_shared=128, source="Intel, Lunar Lake architecture (Computex 2024), Skymont; stores by Chips and "
                 "Cheese, Skymont, for want of a document of the maker"),
            # The same widths; no document states what its L2 gives.
            Core("Darkmont", _AVX, _halved(4),
                 load={0: 24, 128: 48, 256: 48}, store={0: 16, 128: 32, 256: 32}, both={128: 72, 256: 72},
                 source="Intel perfmon, clearwaterforest: four vector ports (FP_VINT_UOPS_EXECUTED.P0 to .P3); loads "
                 "and stores are taken to be Skymont's, for want of a document of the maker"),
            # Two FMA and two ADD pipes of 256 bits.
            Core("Zen 2 and Zen 3", _AVX, _same((2, 2, 2), 128, 256),
                 load={256: 64}, store={256: 32}, both={256: 96}, l2=32, l3=32,
                 source=f"{_AMD_GUIDE} 17h models 30h and above, family 19h"),
            # 512-bit registers over 256-bit pipes: half the instructions.
            Core("Zen 4", _AVX512, MappingProxyType({0: (2, 2, 2), 128: (2, 2, 2), 256: (2, 2, 2), 512: (1, 1, 1)}),
                 load={512: 64}, store={512: 32}, both={512: 96}, l2=32, l3=32,
                 source=f"{_AMD_GUIDE} 19h models 10h and above"),
            Core("Zen 5", _AVX512, _same((2, 2, 2), 128, 256, 512),
                 load={512: 128}, store={512: 64}, both={512: 192}, l2=64, l3=32, source=f"{_AMD_GUIDE} 1Ah"),
            # Two pipes for loads and stores, one of which has store data.
            Core("Neoverse N1", _NEON, _same((2, 2, 2), 128), load={128: 32}, store={128: 16}, both={128: 32},
                 source=f"{_ARM_GUIDE}, Neoverse N1"),
            # Two pipes of 128 bits; three load pipes, two of which store.
            Core("Neoverse N2", _NEON, _same((2, 2, 2), 128), load={128: 48}, store={128: 32}, both={128: 48},
                 source=f"{_ARM_GUIDE}, Neoverse N2"),
            Core("Neoverse N3", _NEON, _same((2, 2, 2), 128), load={128: 48}, store={128: 32}, both={128: 48},
                 source=f"{_ARM_GUIDE}, Neoverse N3"),
            # Four pipes of 128 bits, which pair up for SVE's 256; three load pipes, two of which store and load SVE.
            Core("Neoverse V1", (*_NEON, ("SVE", 256)),
                 MappingProxyType({0: (4, 4, 4), 128: (4, 4, 4), 256: (2, 2, 2)}),
                 load={128: 48, 256: 64}, store={128: 32}, both={128: 48}, source=f"{_ARM_GUIDE}, Neoverse V1"),
            # Four pipes of 128 bits; two load pipes, one that loads or stores, one that stores.
            Core("Neoverse V3", _NEON, _same((4, 4, 4), 128), load={128: 48}, store={128: 32}, both={128: 64},
                 source=f"{_ARM_GUIDE}, Neoverse V3"),
            # Six pipes of 128 bits; four load pipes and two store pipes.
            Core("Olympus", _NEON, _same((6, 6, 6), 128), load={128: 64}, store={128: 32}, both={128: 96},
                 source="NVIDIA Olympus CPU Core Software Optimization Guide, DP-12531-001 v0.7"),
            # Four pipes of 128 bits; three load pipes, two of which store.
            Core("Neoverse V2", _NEON, _same((4, 4, 4), 128), load={128: 48}, store={128: 32}, both={128: 48},
                 source=f"{_ARM_GUIDE}, Neoverse V2"),
        )
    }
)
"""Design limits by microarchitecture. One that is not here has no theory, which is said instead of guessed."""

@dataclass(frozen=True, slots=True)
class Chip:
    """A spec sheet.

    Attributes:
        name: the word for --theory.
        core: key of `CORES`.
        cores: on the chip.
        hertz: at which the paper's or sheet's numbers hold.
        dram: bytes per second of all memory channels.
        source: the document.
    """

    name: str
    core: str
    cores: int
    hertz: float
    dram: float
    source: str


CHIPS: Final[Mapping[str, Chip]] = MappingProxyType(
    {
        chip.name: chip
        for chip in (
            # Two channels of 8 bytes, 933 MHz, two transfers a cycle: 29.856 GB/s.
            Chip("i7-3770K", "Ivy Bridge", 4, 3.5e9, 2 * 8 * 2 * 933e6,
                 "Antao et al., Monitoring Performance and Power for Application Characterization with the "
                 "Cache-aware Roofline Model"),
        )
    }
)
"""Chips whose memory is known too."""
