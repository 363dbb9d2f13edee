"""Intel processor models and their L2 events. Facts: turbostat-spec 3.3 and 3.6; kernel arch/x86/events."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from turbotui.machine.platform_features import KernelEvents, L2Events, ModelRow

_K_NEHALEM = KernelEvents(cstate_core=("c3", "c6"), cstate_pkg=("c3", "c6", "c7"))
_K_SANDYBRIDGE = KernelEvents(
    cstate_core=("c3", "c6", "c7"),
    cstate_pkg=("c2", "c3", "c6", "c7"),
    power=("cores", "pkg", "gpu"),
)
_K_SANDYBRIDGE_X = KernelEvents(
    cstate_core=("c3", "c6", "c7"),
    cstate_pkg=("c2", "c3", "c6", "c7"),
    power=("cores", "pkg", "ram"),
)
_K_HASWELL = KernelEvents(
    cstate_core=("c3", "c6", "c7"),
    cstate_pkg=("c2", "c3", "c6", "c7"),
    power=("cores", "pkg", "ram", "gpu"),
)
_K_HASWELL_X = KernelEvents(
    cstate_core=("c3", "c6", "c7"),
    cstate_pkg=("c2", "c3", "c6", "c7"),
    power=("cores", "pkg", "ram"),
    power_quirk="HSW",
)
_K_HASWELL_L = KernelEvents(
    cstate_core=("c3", "c6", "c7"),
    cstate_pkg=("c2", "c3", "c6", "c7", "c8", "c9", "c10"),
    power=("cores", "pkg", "ram", "gpu"),
)
_K_SKYLAKE_L = KernelEvents(
    cstate_core=("c3", "c6", "c7"),
    cstate_pkg=("c2", "c3", "c6", "c7"),
    power=("cores", "pkg", "ram", "gpu", "psys"),
)
_K_KABYLAKE_L = KernelEvents(
    cstate_core=("c3", "c6", "c7"),
    cstate_pkg=("c2", "c3", "c6", "c7", "c8", "c9", "c10"),
    power=("cores", "pkg", "ram", "gpu", "psys"),
)
_K_CANNONLAKE_L = KernelEvents(
    cstate_core=("c1", "c3", "c6", "c7"),
    cstate_pkg=("c2", "c3", "c6", "c7", "c8", "c9", "c10"),
    power=("cores", "pkg", "ram", "gpu", "psys"),
)
_K_ICELAKE_X = KernelEvents(
    cstate_core=("c1", "c6"),
    cstate_pkg=("c2", "c6"),
    power=("cores", "pkg", "ram"),
    power_quirk="HSW",
)
_K_ICELAKE_L = KernelEvents(
    cstate_core=("c6", "c7"),
    cstate_pkg=("c2", "c3", "c6", "c7", "c8", "c9", "c10"),
    power=("cores", "pkg", "ram", "gpu", "psys"),
)
_K_ROCKETLAKE = KernelEvents(cstate_core=("c6", "c7"), cstate_pkg=("c2", "c3", "c6", "c7", "c8", "c9", "c10"))
_K_SAPPHIRERAPIDS_X = KernelEvents(
    cstate_core=("c1", "c6"),
    cstate_pkg=("c2", "c6"),
    power=("cores", "pkg", "ram", "psys"),
    power_quirk="SPR",
)
_K_GRANITERAPIDS_X = KernelEvents(cstate_core=("c1", "c6"), cstate_pkg=("c2", "c6"))
_K_DIAMONDRAPIDS_X = KernelEvents(cstate_core=("c1", "c6"), cstate_pkg=("c2", "c6"), cstate_module=("c6",))
_K_ALDERLAKE = KernelEvents(
    cstate_core=("c1", "c6", "c7"),
    cstate_pkg=("c2", "c3", "c6", "c8", "c10"),
    power=("cores", "pkg", "ram", "gpu", "psys"),
)
_K_LUNARLAKE_M = KernelEvents(
    cstate_core=("c1", "c6", "c7"),
    cstate_pkg=("c2", "c6", "c10"),
    power=("cores", "pkg", "ram", "gpu", "psys"),
)
_K_PANTHERLAKE_L = KernelEvents(cstate_core=("c1", "c6", "c7"), cstate_pkg=("c2", "c6", "c10"))
_K_NOVALAKE = KernelEvents(cstate_core=("c1", "c6", "c7"), cstate_pkg=("c2", "c6", "c10"), cstate_module=("c6",))
_K_ATOM_SILVERMONT = KernelEvents(cstate_core=("c1", "c6"), cstate_pkg=("c6",))
_K_ATOM_GOLDMONT = KernelEvents(
    cstate_core=("c1", "c3", "c6"),
    cstate_pkg=("c2", "c3", "c6", "c10"),
    power=("cores", "pkg", "ram", "gpu"),
)
_K_ATOM_TREMONT_D = KernelEvents(cstate_core=("c1", "c3", "c6"), cstate_pkg=("c2", "c3", "c6", "c10"))
_K_ATOM_CRESTMONT = KernelEvents(cstate_core=("c1", "c6"), cstate_module=("c6",))
_K_XEON_PHI_KNL = KernelEvents(
    cstate_core=("c6",),
    cstate_pkg=("c2", "c3", "c6"),
    power=("pkg", "ram"),
    power_quirk="HSW",
)

MODELS: tuple[ModelRow, ...] = (
    ModelRow("NEHALEM", 6, 0x1E, "nhm", "", _K_NEHALEM),
    ModelRow("NEHALEM_G", 6, 0x1F, "nhm", "Auburndale / Havendale", None),
    ModelRow("NEHALEM_EP", 6, 0x1A, "nhm", "", _K_NEHALEM),
    ModelRow("NEHALEM_EX", 6, 0x2E, "nhx", "", _K_NEHALEM),
    ModelRow("WESTMERE", 6, 0x25, "nhm", "", _K_NEHALEM),
    ModelRow("WESTMERE_EP", 6, 0x2C, "nhm", "", _K_NEHALEM),
    ModelRow("WESTMERE_EX", 6, 0x2F, "nhx", "", _K_NEHALEM),
    ModelRow("SANDYBRIDGE", 6, 0x2A, "snb", "", _K_SANDYBRIDGE),
    ModelRow("SANDYBRIDGE_X", 6, 0x2D, "snx", "", _K_SANDYBRIDGE_X),
    ModelRow("IVYBRIDGE", 6, 0x3A, "ivb", "", _K_SANDYBRIDGE),
    ModelRow("IVYBRIDGE_X", 6, 0x3E, "ivx", "", _K_SANDYBRIDGE_X),
    ModelRow("HASWELL", 6, 0x3C, "hsw", "", _K_HASWELL),
    ModelRow("HASWELL_X", 6, 0x3F, "hsx", "", _K_HASWELL_X),
    ModelRow("HASWELL_L", 6, 0x45, "hswl", "", _K_HASWELL_L),
    ModelRow("HASWELL_G", 6, 0x46, "hswg", "", _K_HASWELL),
    ModelRow("BROADWELL", 6, 0x3D, "bdw", "", _K_HASWELL),
    ModelRow("BROADWELL_G", 6, 0x47, "bdwg", "", _K_HASWELL),
    ModelRow("BROADWELL_X", 6, 0x4F, "bdx", "", _K_HASWELL_X),
    ModelRow("BROADWELL_D", 6, 0x56, "bdx", "", _K_HASWELL_X),
    ModelRow("SKYLAKE_L", 6, 0x4E, "skl", "Sky Lake", _K_SKYLAKE_L),
    ModelRow("SKYLAKE", 6, 0x5E, "skl", "Sky Lake", _K_SKYLAKE_L),
    ModelRow("SKYLAKE_X", 6, 0x55, "skx", "Sky Lake", _K_HASWELL_X),
    ModelRow("KABYLAKE_L", 6, 0x8E, "skl", "Sky Lake", _K_KABYLAKE_L),
    ModelRow("KABYLAKE", 6, 0x9E, "skl", "Sky Lake", _K_KABYLAKE_L),
    ModelRow("COMETLAKE", 6, 0xA5, "skl", "Sky Lake", _K_KABYLAKE_L),
    ModelRow("COMETLAKE_L", 6, 0xA6, "skl", "Sky Lake", _K_KABYLAKE_L),
    ModelRow("CANNONLAKE_L", 6, 0x66, "cnl", "Palm Cove", _K_CANNONLAKE_L),
    ModelRow("ICELAKE_X", 6, 0x6A, "icx", "Sunny Cove", _K_ICELAKE_X),
    ModelRow("ICELAKE_D", 6, 0x6C, "icx", "Sunny Cove", _K_ICELAKE_X),
    ModelRow("ICELAKE_L", 6, 0x7E, "cnl", "Sunny Cove", _K_ICELAKE_L),
    ModelRow("ICELAKE_NNPI", 6, 0x9D, "cnl", "Sunny Cove", None),
    ModelRow("ROCKETLAKE", 6, 0xA7, "cnl", "Cypress Cove", _K_ROCKETLAKE),
    ModelRow("TIGERLAKE_L", 6, 0x8C, "cnl", "Willow Cove", _K_ICELAKE_L),
    ModelRow("TIGERLAKE", 6, 0x8D, "cnl", "Willow Cove", _K_ICELAKE_L),
    ModelRow("SAPPHIRERAPIDS_X", 6, 0x8F, "spr", "Golden Cove", _K_SAPPHIRERAPIDS_X),
    ModelRow("EMERALDRAPIDS_X", 6, 0xCF, "spr", "Raptor Cove", _K_SAPPHIRERAPIDS_X),
    ModelRow("GRANITERAPIDS_X", 6, 0xAD, "spr", "Redwood Cove", _K_GRANITERAPIDS_X),
    ModelRow("GRANITERAPIDS_D", 6, 0xAE, "spr", "", _K_GRANITERAPIDS_X),
    ModelRow("DIAMONDRAPIDS_X", 19, 0x01, "dmr", "Panther Cove", _K_DIAMONDRAPIDS_X),
    ModelRow("LAKEFIELD", 6, 0x8A, "cnl", "Sunny Cove / Tremont", None),
    ModelRow("ALDERLAKE", 6, 0x97, "adl", "Golden Cove / Gracemont", _K_ALDERLAKE),
    ModelRow("ALDERLAKE_L", 6, 0x9A, "adl", "Golden Cove / Gracemont", _K_ALDERLAKE),
    ModelRow("RAPTORLAKE", 6, 0xB7, "adl", "Raptor Cove / Enhanced Gracemont", _K_ALDERLAKE),
    ModelRow("RAPTORLAKE_P", 6, 0xBA, "adl", "", _K_ALDERLAKE),
    ModelRow("RAPTORLAKE_S", 6, 0xBF, "adl", "", _K_ALDERLAKE),
    ModelRow("BARTLETTLAKE", 6, 0xD7, "adl", "Raptor Cove", None),
    ModelRow("METEORLAKE", 6, 0xAC, "adl", "Redwood Cove / Crestmont", _K_ALDERLAKE),
    ModelRow("METEORLAKE_L", 6, 0xAA, "adl", "", _K_ALDERLAKE),
    ModelRow("ARROWLAKE_H", 6, 0xC5, "adl", "Lion Cove / Skymont", _K_ALDERLAKE),
    ModelRow("ARROWLAKE_U", 6, 0xB5, "adl", "", _K_ALDERLAKE),
    ModelRow("ARROWLAKE", 6, 0xC6, "adl", "", _K_ALDERLAKE),
    ModelRow("LUNARLAKE_M", 6, 0xBD, "lnl", "Lion Cove / Skymont", _K_LUNARLAKE_M),
    ModelRow("PANTHERLAKE_L", 6, 0xCC, "lnl", "Cougar Cove / Darkmont", _K_PANTHERLAKE_L),
    ModelRow("NOVALAKE", 18, 0x01, "lnl", "Coyote Cove / Arctic Wolf", _K_NOVALAKE),
    ModelRow("NOVALAKE_L", 18, 0x03, "lnl", "Coyote Cove / Arctic Wolf", _K_NOVALAKE),
    ModelRow("WILDCATLAKE_L", 6, 0xD5, "lnl", "", _K_PANTHERLAKE_L),
    ModelRow("ATOM_SILVERMONT", 6, 0x37, "slv", "Bay Trail, Valleyview", _K_ATOM_SILVERMONT),
    ModelRow("ATOM_SILVERMONT_D", 6, 0x4D, "slvd", "Avaton, Rangely", _K_ATOM_SILVERMONT),
    ModelRow("ATOM_AIRMONT", 6, 0x4C, "amt", "Cherry Trail, Braswell", _K_ATOM_SILVERMONT),
    ModelRow("ATOM_GOLDMONT", 6, 0x5C, "gmt", "Apollo Lake", _K_ATOM_GOLDMONT),
    ModelRow("ATOM_GOLDMONT_D", 6, 0x5F, "gmtd", "Denverton", _K_ATOM_GOLDMONT),
    ModelRow("ATOM_GOLDMONT_PLUS", 6, 0x7A, "gmtp", "Gemini Lake", _K_ATOM_GOLDMONT),
    ModelRow("ATOM_TREMONT_D", 6, 0x86, "tmtd", "Jacobsville", _K_ATOM_TREMONT_D),
    ModelRow("ATOM_TREMONT", 6, 0x96, "tmt", "Elkhart Lake", _K_ATOM_TREMONT_D),
    ModelRow("ATOM_TREMONT_L", 6, 0x9C, "tmt", "Jasper Lake", _K_ATOM_TREMONT_D),
    ModelRow("ATOM_GRACEMONT", 6, 0xBE, "adl", "Alderlake N", _K_ALDERLAKE),
    ModelRow("ATOM_CRESTMONT_X", 6, 0xAF, "srf", "Sierra Forest", _K_DIAMONDRAPIDS_X),
    ModelRow("ATOM_CRESTMONT", 6, 0xB6, "grr", "Grand Ridge", _K_ATOM_CRESTMONT),
    ModelRow("ATOM_DARKMONT_X", 6, 0xDD, "srf", "Clearwater Forest", _K_DIAMONDRAPIDS_X),
    ModelRow("XEON_PHI_KNL", 6, 0x57, "knl", "Knights Landing", _K_XEON_PHI_KNL),
    ModelRow("XEON_PHI_KNM", 6, 0x85, "knl", "Knights Mill", _K_XEON_PHI_KNL),
)
"""Intel models by family and model (turbostat-spec 3.3)."""

_GOLDEN_COVE = L2Events(references=0xFF24, hits=0xDF24)
_LION_COVE = L2Events(references=0xFF24, hits=0x5F24)
_GRACEMONT = L2Events(references=0x24, hits=0x224)
_DARKMONT = L2Events(references=0x1000000FF24, hits=0x1000000BF24)
_SKYMONT = L2Events(references=0x724, hits=0x224)

_L2: tuple[tuple[tuple[L2Events, ...], tuple[str, ...]], ...] = (
    ((_GOLDEN_COVE,), ("SAPPHIRERAPIDS_X", "EMERALDRAPIDS_X", "GRANITERAPIDS_X", "GRANITERAPIDS_D")),
    ((_LION_COVE,), ("DIAMONDRAPIDS_X",)),
    ((_GRACEMONT,), ("ATOM_GRACEMONT", "ATOM_CRESTMONT_X", "ATOM_CRESTMONT")),
    ((_DARKMONT,), ("ATOM_DARKMONT_X",)),
    (
        (_GOLDEN_COVE, _GRACEMONT),
        (
            "ALDERLAKE",
            "ALDERLAKE_L",
            "RAPTORLAKE",
            "RAPTORLAKE_P",
            "RAPTORLAKE_S",
            "METEORLAKE_L",
            "METEORLAKE",
            "ARROWLAKE_U",
        ),
    ),
    ((_LION_COVE, _SKYMONT), ("LUNARLAKE_M", "ARROWLAKE")),
    ((_LION_COVE, _SKYMONT, _GRACEMONT), ("ARROWLAKE_H",)),
    ((_LION_COVE, _DARKMONT), ("PANTHERLAKE_L", "WILDCATLAKE_L", "NOVALAKE", "NOVALAKE_L")),
)

L2_EVENTS: Mapping[str, tuple[L2Events, ...]] = MappingProxyType(
    {symbol: events for events, symbols in _L2 for symbol in symbols}
)
"""L2 events by model symbol, one for each core PMU: cpu_core (or cpu), cpu_atom, cpu_lowpower."""
