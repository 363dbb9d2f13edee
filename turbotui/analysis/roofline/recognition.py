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
            ("Golden Cove", "METEORLAKE METEORLAKE_L"),
        )
        for symbol in symbols.split()
    }
)
"""Spec sheets by Intel model symbol; on hybrids the P core's."""

_ARM: Final[Mapping[tuple[int, int], str]] = MappingProxyType(
    {(0x41, 0xD0C): "Neoverse N1", (0x41, 0xD4F): "Neoverse V2"}
)
"""Spec sheets by MIDR_EL1 implementer and part (each core's Technical Reference Manual)."""

# Of family 1Ah. Mobile models (20h, 60h, 70h) have pipes of 256 bits: no sheet, rather than a wrong one.
_ZEN5_WIDE: Final = (range(0x20), range(0x40, 0x50))


def core_name(model: CpuModel) -> str:
    """The microarchitecture of a processor in `spec_sheets.CORES`; "" if it is in no table."""
    if model.vendor == "GenuineIntel":
        return _CORES.get(platform_of(model).symbol, "")
    generation = zen_generation(model)
    if generation == 5:
        return "Zen 5" if any(model.model in models for models in _ZEN5_WIDE) else ""
    if generation:
        return "Zen 4" if generation == 4 else "Zen 2 and Zen 3"
    return _ARM.get((model.implementer or 0, model.part or 0), "")
