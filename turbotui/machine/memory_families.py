"""The most memory bandwidth that a family of processors supports, by its makers' data sheets.

Each row is the largest memory configuration of any part of the family, so it is an upper limit and nothing that a
particular machine has. Families whose makers do not build the whole chip (Arm's cores) have none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import Host
from turbotui.machine.platforms import platform_of

_BYTES: Final = 8  # a channel of 64 bits, counted so for LPDDR too
_ARK: Final = "Intel product specifications (ark.intel.com), memory specifications of the family"
_AMD: Final = "AMD product specifications of the family"


@dataclass(frozen=True, slots=True)
class FamilyMemory:
    """The largest memory configuration of a family of processors.

    Attributes:
        words: for people: "8 channels of DDR5-4800".
        channels: of 64 bits, of one package; 0 where the document states the bandwidth alone.
        mts: million transfers a second.
        rate: bytes per second of one package.
        source: the document.
    """

    words: str
    channels: int
    mts: int
    rate: float
    source: str


def _ddr(channels: int, kind: str, mts: int, source: str) -> FamilyMemory:
    return FamilyMemory(f"{channels} channels of {kind}-{mts}", channels, mts, channels * _BYTES * mts * 1e6, source)


_INTEL: Final[Mapping[str, FamilyMemory]] = MappingProxyType(
    {
        symbol: _ddr(channels, kind, mts, _ARK)
        for symbols, channels, kind, mts in (
            ("SANDYBRIDGE IVYBRIDGE HASWELL", 2, "DDR3", 1600),
            ("SANDYBRIDGE_X", 4, "DDR3", 1600),
            ("IVYBRIDGE_X", 4, "DDR3", 1866),
            ("HASWELL_L HASWELL_G BROADWELL BROADWELL_G", 2, "LPDDR3", 1866),
            ("HASWELL_X", 4, "DDR4", 2133),
            ("BROADWELL_X", 4, "DDR4", 2400),
            ("BROADWELL_D", 2, "DDR4", 2400),
            ("SKYLAKE SKYLAKE_L", 2, "DDR4", 2133),
            ("KABYLAKE KABYLAKE_L", 2, "DDR4", 2666),  # Kaby Lake, Coffee Lake and Whiskey Lake share the numbers
            ("COMETLAKE COMETLAKE_L", 2, "DDR4", 2933),
            ("ICELAKE_L", 2, "LPDDR4X", 3733),
            ("TIGERLAKE TIGERLAKE_L", 2, "LPDDR4X", 4266),
            ("ROCKETLAKE", 2, "DDR4", 3200),
            ("SKYLAKE_X", 6, "DDR4", 3200),  # Skylake, Cascade Lake and Cooper Lake share the number
            ("ICELAKE_X", 8, "DDR4", 3200),
            ("ICELAKE_D", 4, "DDR4", 3200),
            ("SAPPHIRERAPIDS_X", 8, "DDR5", 4800),
            ("EMERALDRAPIDS_X", 8, "DDR5", 5600),
            ("GRANITERAPIDS_X", 12, "MRDIMM", 8800),
            ("ATOM_CRESTMONT_X", 8, "DDR5", 6400),
            ("ALDERLAKE", 2, "DDR5", 4800),
            ("ALDERLAKE_L", 2, "LPDDR5", 5200),
            ("RAPTORLAKE RAPTORLAKE_S BARTLETTLAKE", 2, "DDR5", 5600),
            ("RAPTORLAKE_P", 2, "LPDDR5", 6400),
            ("METEORLAKE METEORLAKE_L", 2, "LPDDR5X", 7467),
            ("ARROWLAKE", 2, "DDR5", 6400),
            ("ARROWLAKE_H ARROWLAKE_U", 2, "LPDDR5X", 8400),
            ("LUNARLAKE_M", 2, "LPDDR5X", 8533),
        )
        for symbol in symbols.split()
    }
)
"""By Intel's model symbol. High-bandwidth memory (Xeon Max) is left out."""

_AMD_FAMILIES: Final[Sequence[tuple[int, range, FamilyMemory]]] = tuple(
    (family, models, _ddr(channels, kind, mts, _AMD))
    for family, models, channels, kind, mts in (
        (0x17, range(0x30, 0x40), 8, "DDR4", 3200),  # Rome, Threadripper 3000
        (0x17, range(0x60, 0x70), 2, "LPDDR4X", 4266),  # Renoir, Lucienne
        (0x17, range(0x70, 0x80), 2, "DDR4", 3200),  # Matisse
        (0x19, range(0x10), 8, "DDR4", 3200),  # Milan, Threadripper 5000
        (0x19, range(0x10, 0x20), 12, "DDR5", 4800),  # Genoa; Threadripper 7000 has 8 channels of DDR5-5200
        (0x19, range(0x20, 0x30), 2, "DDR4", 3200),  # Vermeer
        (0x19, range(0x40, 0x50), 2, "LPDDR5", 6400),  # Rembrandt
        (0x19, range(0x50, 0x60), 2, "LPDDR4X", 4266),  # Cezanne
        (0x19, range(0x60, 0x70), 2, "DDR5", 5200),  # Raphael
        (0x19, range(0x70, 0x80), 2, "LPDDR5X", 7500),  # Phoenix, Hawk Point
        (0x19, range(0xA0, 0xB0), 12, "DDR5", 4800),  # Bergamo
        (0x1A, range(0x08), 12, "DDR5", 6400),  # Turin
        (0x1A, range(0x08, 0x10), 8, "DDR5", 6400),  # Threadripper 9000
        (0x1A, range(0x10, 0x20), 12, "DDR5", 6400),  # Turin with Zen 5c
        (0x1A, range(0x20, 0x30), 2, "LPDDR5X", 8000),  # Strix Point
        (0x1A, range(0x40, 0x50), 2, "DDR5", 5600),  # Granite Ridge
        (0x1A, range(0x70, 0x80), 4, "LPDDR5X", 8000),  # Strix Halo
    )
)
"""By family and models."""

_GRACE: Final = FamilyMemory("512 GB/s of LPDDR5X", 0, 0, 512e9, "NVIDIA Grace CPU data sheet")
_VERA: Final = FamilyMemory("1.2 TB/s of LPDDR5X", 0, 0, 1.2e12, "NVIDIA Vera CPU product description")
_OLYMPUS: Final = (0x4E, 0x010)
_NEOVERSE_V2: Final = (0x41, 0xD4F)
_GRACE_FABRIC: Final = "/sys/bus/event_source/devices/nvidia_scf_pmu_0"


def family_memory(host: Host, model: CpuModel) -> FamilyMemory | None:
    """The largest memory configuration of a processor's family; None where no table here has it."""
    if model.vendor == "GenuineIntel":
        return _INTEL.get(platform_of(model).symbol)
    if model.vendor == "AuthenticAMD":
        return next((memory for family, models, memory in _AMD_FAMILIES
                     if family == model.family and model.model in models), None)
    part = (model.implementer, model.part)
    if part == _OLYMPUS:
        return _VERA
    # Neoverse V2 is in chips of several makers; this fabric is Grace's (kernel admin-guide/perf/nvidia-pmu.rst).
    return _GRACE if part == _NEOVERSE_V2 and host.exists(_GRACE_FABRIC) else None
