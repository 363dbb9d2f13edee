"""All recipes: which events count floating-point operations and memory accesses, by microarchitecture."""

from __future__ import annotations

from typing import Final

from turbotui.quantities.recipes_amd import ZEN2_ZEN3, ZEN4, ZEN5
from turbotui.quantities.recipes_arm import NEOVERSE, NEOVERSE_LATER, NEOVERSE_N1, OLYMPUS
from turbotui.quantities.recipes_intel import (
    BROADWELL_ON,
    CLIENT_E,
    DARKMONT,
    GRACEMONT,
    HASWELL,
    INTEL_E,
    IVY_BRIDGE,
    SAPPHIRE_RAPIDS,
    SKYMONT,
)

RECIPES: Final = (
    IVY_BRIDGE, HASWELL, BROADWELL_ON, SAPPHIRE_RAPIDS, INTEL_E, DARKMONT, CLIENT_E, SKYMONT, GRACEMONT,
    ZEN2_ZEN3, ZEN4, ZEN5, NEOVERSE, NEOVERSE_LATER, OLYMPUS, NEOVERSE_N1,
)
