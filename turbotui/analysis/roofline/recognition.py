"""Which spec sheet and recipe belong to a processor: by Intel's model symbol, AMD's family and model, Arm's part."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from turbotui.analysis.roofline.recipes import (
    BROADWELL_ON,
    HASWELL,
    INTEL_E,
    IVY_BRIDGE,
    NEOVERSE,
    NEOVERSE_N1,
    OLYMPUS,
    ZEN2_ZEN3,
    ZEN4,
    ZEN5,
    Recipe,
)
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.platforms import platform_of

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

_RECIPES: Final[tuple[tuple[str, Recipe | None], ...]] = (
    ("SANDYBRIDGE", IVY_BRIDGE),
    ("IVYBRIDGE", IVY_BRIDGE),
    ("HASWELL", HASWELL),
    ("ATOM_CRESTMONT", INTEL_E),
    ("ATOM", None),
    ("NEHALEM", None),
    ("WESTMERE", None),
    ("XEON_PHI", None),
    ("LAKEFIELD", None),
    ("DIAMONDRAPIDS", None),
    ("NOVALAKE", None),
    ("", BROADWELL_ON),
)
"""Recipes by the beginning of Intel's model symbol; the first that fits. None: no facts here."""

_ARM: Final[Mapping[tuple[int, int], tuple[str, Recipe]]] = MappingProxyType(
    {
        (0x41, 0xD0C): ("Neoverse N1", NEOVERSE_N1),
        (0x41, 0xD40): ("", NEOVERSE),  # Neoverse V1
        (0x41, 0xD49): ("", NEOVERSE),  # Neoverse N2
        (0x41, 0xD4F): ("Neoverse V2", NEOVERSE),
        (0x4E, 0x010): ("", OLYMPUS),
    }
)
"""Spec sheet and recipe by MIDR_EL1 implementer and part (each core's Technical Reference Manual)."""

_ZEN4_MODELS: Final = (range(0x10, 0x20), range(0x60, 0x80), range(0xA0, 0xB0))  # of family 19h; the others are Zen 3
# Of family 1Ah. Mobile models (20h, 60h, 70h) have pipes of 256 bits: no sheet, rather than a wrong one.
_ZEN5_WIDE: Final = (range(0x20), range(0x40, 0x50))


def core_name(model: CpuModel) -> str:
    """The microarchitecture of a processor in `spec_sheets.CORES`; "" if it is in no table."""
    if model.vendor == "GenuineIntel":
        return _CORES.get(platform_of(model).symbol, "")
    generation = _zen(model)
    if generation == 5:
        return "Zen 5" if any(model.model in models for models in _ZEN5_WIDE) else ""
    if generation:
        return "Zen 4" if generation == 4 else "Zen 2 and Zen 3"
    return _ARM.get((model.implementer or 0, model.part or 0), ("", None))[0]


def recipe_of(model: CpuModel) -> Recipe | None:
    """The recipe for a processor's (P) cores; None where the table has none."""
    if model.vendor == "GenuineIntel":
        symbol = platform_of(model).symbol
        return next((recipe for start, recipe in _RECIPES if symbol.startswith(start)), None) if symbol else None
    generation = _zen(model)
    if generation:
        return {2: ZEN2_ZEN3, 3: ZEN2_ZEN3, 4: ZEN4, 5: ZEN5}[generation]
    return _ARM.get((model.implementer or 0, model.part or 0), ("", None))[1]


def _zen(model: CpuModel) -> int:
    """The generation from Zen 2 on; 0 for anything else (linux arch/x86/kernel/cpu/amd.c, bsp_init_amd)."""
    if model.vendor != "AuthenticAMD" or model.model is None:
        return 0
    match model.family:
        case 0x17:
            return 2 if model.model >= 0x30 else 0
        case 0x19:
            return 4 if any(model.model in models for models in _ZEN4_MODELS) else 3
        case 0x1A:
            return 5
        case _:
            return 0
