"""Which spec sheet belongs to a processor: by Intel's model symbol, AMD's family and model, Arm's part."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.platforms import platform_of
from turbotui.machine.roofline_banks import zen_generation

_CORES: Final[Mapping[str, str]] = MappingProxyType(
    {
        symbol: core
        for core, symbols in (
            ("Ivy Bridge", "SANDYBRIDGE SANDYBRIDGE_X IVYBRIDGE IVYBRIDGE_X"),
            ("Haswell", "HASWELL HASWELL_X HASWELL_L HASWELL_G BROADWELL BROADWELL_G BROADWELL_X BROADWELL_D"),
            ("Skylake", "SKYLAKE SKYLAKE_L KABYLAKE KABYLAKE_L COMETLAKE COMETLAKE_L"),
            ("Skylake and Ice Lake server", "SKYLAKE_X ICELAKE_X ICELAKE_D"),
            ("Golden Cove server", "SAPPHIRERAPIDS_X EMERALDRAPIDS_X GRANITERAPIDS_X GRANITERAPIDS_D"),
            ("Golden Cove", "ALDERLAKE ALDERLAKE_L RAPTORLAKE RAPTORLAKE_P RAPTORLAKE_S BARTLETTLAKE"),
            ("Golden Cove", "METEORLAKE METEORLAKE_L ARROWLAKE_U"),  # Redwood Cove: the same widths
            ("Sunny Cove", "ICELAKE_L TIGERLAKE TIGERLAKE_L ROCKETLAKE"),
            ("Lion Cove", "ARROWLAKE ARROWLAKE_H LUNARLAKE_M"),
            ("Gracemont", "ATOM_GRACEMONT"),
            ("Crestmont", "ATOM_CRESTMONT ATOM_CRESTMONT_X"),
            ("Darkmont", "ATOM_DARKMONT_X"),
        )
        for symbol in symbols.split()
    }
)
"""Spec sheets by Intel model symbol; on hybrids the P core's."""

_SMALL: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        (kind, symbol): core
        for core, kinds, symbols in (
            ("Gracemont", "E", "ALDERLAKE ALDERLAKE_L RAPTORLAKE RAPTORLAKE_P RAPTORLAKE_S"),
            ("Crestmont", "E LP", "METEORLAKE METEORLAKE_L ARROWLAKE_U"),
            ("Skymont", "E", "ARROWLAKE ARROWLAKE_H LUNARLAKE_M"),
            ("Crestmont", "LP", "ARROWLAKE_H"),
        )
        for kind in kinds.split()
        for symbol in symbols.split()
    }
)
"""Spec sheets of the E and LP cores of Intel's hybrids, by kind and model symbol."""

_TILES: Final = "amx_tile"
_WITH_TILES: Final = frozenset(
    {"SAPPHIRERAPIDS_X", "EMERALDRAPIDS_X", "GRANITERAPIDS_X", "GRANITERAPIDS_D", "DIAMONDRAPIDS_X"}
)
"""Models whose cores have AMX (Intel SDM vol. 1, 19): a flag that says which cores these are not."""

_ARM: Final[Mapping[tuple[int, int], str]] = MappingProxyType(
    {
        (0x41, 0xD0C): "Neoverse N1",
        (0x41, 0xD40): "Neoverse V1",
        (0x41, 0xD49): "Neoverse N2",
        (0x41, 0xD4F): "Neoverse V2",
        (0x41, 0xD83): "Neoverse V3",  # V3AE
        (0x41, 0xD84): "Neoverse V3",
        (0x41, 0xD8E): "Neoverse N3",
        (0x4E, 0x010): "Olympus",
    }
)
"""Spec sheets by MIDR_EL1 implementer and part (each core's Technical Reference Manual)."""

# Of family 1Ah. Mobile models (20h, 60h, 70h) have pipes of 256 bits: no sheet, rather than a wrong one.
_ZEN5_WIDE: Final = (range(0x20), range(0x40, 0x50))


def core_name(model: CpuModel, kind: str | None = None) -> str:
    """The microarchitecture of a processor's cores in `spec_sheets.CORES`; "" if they are in no table.

    Args:
        model: of the processor.
        kind: of the cores on machines with several: "P", "E", "LP"; None: the only kind.
    """
    if model.vendor == "GenuineIntel":
        symbol = platform_of(model).symbol
        if _TILES in model.flags and symbol not in _WITH_TILES:
            return ""  # a virtual machine that is given another model's number, but not its instructions
        return _CORES.get(symbol, "") if kind in (None, "P") else _SMALL.get((kind or "", symbol), "")
    generation = zen_generation(model)
    if kind is not None and not generation:  # AMD's dense cores have the others' pipes
        return ""  # capacity classes: which core is which is not in the first CPU's model
    if generation == 5:
        return "Zen 5" if any(model.model in models for models in _ZEN5_WIDE) else ""
    if generation:
        return "Zen 4" if generation == 4 else "Zen 2 and Zen 3"
    return _ARM.get((model.implementer or 0, model.part or 0), "")
