"""Platforms: what turbotui knows of a processor model beyond what the kernel says of it, and the rule that picks it.

The words are in `platform_features`, the tables in `platform_data` and `platform_models`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.platform_cstates import PACKAGE_LIMITS
from turbotui.machine.platform_data import FEATURE_SETS
from turbotui.machine.platform_features import (
    ENERGY_REGISTERS,
    SILVERMONT_MHZ,
    BusClock,
    CoreState,
    FeatureSet,
    KernelEvents,
    L2Events,
    LimitReasons,
    ModelRow,
    PackageLimit,
    PackageState,
    RaplDomain,
    RaplRegister,
    TurboLayout,
)
from turbotui.machine.platform_models import L2_EVENTS, MODELS

__all__ = [
    "ENERGY_REGISTERS",
    "FEATURE_SETS",
    "L2_EVENTS",
    "MODELS",
    "PACKAGE_LIMITS",
    "SILVERMONT_MHZ",
    "BusClock",
    "CoreState",
    "FeatureSet",
    "KernelEvents",
    "L2Events",
    "LimitReasons",
    "ModelRow",
    "PackageLimit",
    "PackageState",
    "Platform",
    "RaplDomain",
    "RaplRegister",
    "TurboLayout",
    "platform_of",
]


@dataclass(frozen=True, slots=True)
class Platform:
    """A processor model and what is known of it.

    Attributes:
        known: false for a model that is in no table; only architectural features are then used.
        symbol: the kernel's symbol without "INTEL_" ("SAPPHIRERAPIDS_X"); "" if not known.
        microarchitecture: names of the cores ("Golden Cove / Gracemont"); "" if the table has none.
        features: C-states, limits, RAPL, clocks and flags; see `FeatureSet`. The empty set "default" where not known.
        kernel: events of the kernel's drivers; None if the table has none for this model.
        l2: L2 events by core PMU: cpu_core (or cpu), cpu_atom, cpu_lowpower.
        note: a sentence for the doctor; "" where nothing needs saying.
    """

    known: bool
    symbol: str
    microarchitecture: str
    features: FeatureSet
    kernel: KernelEvents | None = None
    l2: tuple[L2Events, ...] = ()
    note: str = ""


_BY_ID: Mapping[tuple[int, int], ModelRow] = MappingProxyType({(row.family, row.model): row for row in MODELS})
_AMD_VENDORS = frozenset({"AuthenticAMD", "HygonGenuine"})
_FIRST_RAPL_FAMILY = 0x17  # AMD and Hygon count energy from family 17h on (turbostat-spec 3.1)


def platform_of(model: CpuModel) -> Platform:
    """The platform of a processor: Intel by family and model, AMD and Hygon by capability (turbostat-spec 3.1).

    A model in no table is never refused: it has `known` false, the empty feature set and a note.
    """
    if model.vendor == "GenuineIntel":
        return _intel(model)
    if model.vendor in _AMD_VENDORS:
        return _amd(model)
    vendor = model.vendor or model.architecture or "this processor"
    return _unknown(
        f"no platform table for {vendor}; what the kernel describes is used, model-specific registers are not"
    )


def _intel(model: CpuModel) -> Platform:
    if model.family is None or model.model is None:
        return _unknown("the Intel family and model cannot be read; only architectural features are used")
    row = _BY_ID.get((model.family, model.model))
    if row is None:
        return _unknown(
            f"Intel family {model.family} model {model.model:#04x} is in no table; only architectural features and "
            "what the kernel describes are used"
        )
    return Platform(
        known=True,
        symbol=row.symbol,
        microarchitecture=row.microarchitecture,
        features=FEATURE_SETS[row.features],
        kernel=row.kernel,
        l2=L2_EVENTS.get(row.symbol, ()),
    )


def _amd(model: CpuModel) -> Platform:
    """AMD and Hygon: energy counters exist where CPUID 0x80000007 EDX[14] (flag "rapl") says so, whatever the model."""
    if "rapl" in model.flags and (model.family or 0) >= _FIRST_RAPL_FAMILY:
        return Platform(known=True, symbol="", microarchitecture="", features=FEATURE_SETS["amd_rapl"])
    family = "of unknown family" if model.family is None else f"family {model.family:#x}"
    return _unknown(f"{model.vendor} {family} does not announce RAPL energy counters (flag rapl, family 0x17 or later)")


def _unknown(note: str) -> Platform:
    return Platform(known=False, symbol="", microarchitecture="", features=FEATURE_SETS["default"], note=note)
