"""What turbotui knows of a processor model beyond the kernel's description, and how a model is found.

The enumerations are in `platform_features`, the facts in the tables of the folder `data`.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.cpumodel import AMD_VENDORS, CpuModel
from turbotui.machine.platform_features import (
    NO_TURBO,
    BusClock,
    CoreState,
    FeatureSet,
    L2Events,
    LimitReasons,
    PackageLimit,
    PackageState,
    RaplRegister,
    TurboLayout,
)
from turbotui.machine.processors import Processor, amd_processor, arm_core, intel_processor
from turbotui.quantities.facts import FactFile
from turbotui.quantities.rows import each, named, text, valued

FEATURE_SETS: Final = FactFile("machine/data/feature_sets.toml")
CSTATE_LIMITS: Final = FactFile("machine/data/cstate_limits.toml")
L2_EVENTS: Final = FactFile("machine/data/l2_events.toml")


@dataclass(frozen=True, slots=True)
class Platform:
    """A processor model and what is known about it."""

    known: bool  # false for a model whose registers are in no table, of which only architectural features are used
    symbol: str  # the kernel's symbol without "INTEL_" ("SAPPHIRERAPIDS_X"); "" if unknown
    features: FeatureSet  # C-states, limits, RAPL, clocks and flags. The empty set "default" if unknown.
    l2: tuple[L2Events, ...] = ()  # L2 events by core PMU: cpu_core (or cpu), cpu_atom, cpu_lowpower
    note: str = ""  # a sentence for the doctor; "" where nothing needs saying


_FIRST_RAPL_FAMILY = 0x17  # AMD and Hygon count energy from family 17h on (docs/specs/turbostat.md 3.1)


def processor_of(model: CpuModel) -> Processor | None:
    """The row of a processor; None if no table has it."""
    if model.implementer is not None and model.part is not None:
        return arm_core(model.implementer, model.part)
    if model.family is None or model.model is None:
        return None
    if model.vendor == "GenuineIntel":
        return intel_processor(model.family, model.model)
    return amd_processor(model.vendor, model.family, model.model) if model.vendor in AMD_VENDORS else None


def platform_of(model: CpuModel) -> Platform:
    """Platform of a processor: Intel by family and model, AMD and Hygon by capability (docs/specs/turbostat.md 3.1).

    A model in no table is not refused: it has `known` false, the empty feature set and a note.
    """
    if model.vendor == "GenuineIntel":
        return _intel(model)
    if model.vendor in AMD_VENDORS:
        return _amd(model)
    vendor = model.vendor or model.architecture or "this processor"
    return _unknown(
        f"no platform table for {vendor}; what the kernel describes is used, model-specific registers are not")


def _intel(model: CpuModel) -> Platform:
    if model.family is None or model.model is None:
        return _unknown("the Intel family and model cannot be read; only architectural features are used")
    if (row := intel_processor(model.family, model.model)) is None:
        return _unknown(
            f"Intel family {model.family} model {model.model:#04x} is in no table; only architectural features and "
            "what the kernel describes are used")
    note = "" if row.features else (
        f"Intel {row.symbol} has no published model-specific registers yet; only architectural features and what the "
        "kernel describes are used"
    )
    return Platform(known=bool(row.features), symbol=row.symbol, features=feature_set(row.features or "default"),
                    note=note, l2=tuple(l2_events(name) for name in row.l2))


def _amd(model: CpuModel) -> Platform:
    """AMD and Hygon: CPUID 0x80000007 EDX[14] (flag "rapl") says whether energy counters exist, whatever the model."""
    if "rapl" in model.flags and (model.family or 0) >= _FIRST_RAPL_FAMILY:
        return Platform(known=True, symbol="", features=feature_set("amd_rapl"))
    family = "of unknown family" if model.family is None else f"family {model.family:#x}"
    return _unknown(f"{model.vendor} {family} does not announce RAPL energy counters (flag rapl, family 0x17 or later)")


def _unknown(note: str) -> Platform:
    return Platform(known=False, symbol="", features=feature_set("default"), note=note)


def feature_set(name: str) -> FeatureSet:
    """The feature set of that name."""
    return FEATURE_SETS.row(
        FeatureSet, name, {"name": name, **_table(FEATURE_SETS, name)},
        core_cstates=each(valued(CoreState)), pkg_cstates=each(valued(PackageState)),
        cst_limit=lambda value: cstate_limits(text(value)), bclk=named(BusClock),
        rapl=lambda value: frozenset(each(named(RaplRegister))(value)),
        turbo=lambda value: reduce(or_, each(named(TurboLayout))(value), NO_TURBO),
        limit_reasons=each(named(LimitReasons)),
    )


def cstate_limits(name: str) -> tuple[PackageLimit, ...]:
    """The 16 meanings of MSR 0xE2[3:0] of that name."""
    return CSTATE_LIMITS.row(_Limits, name, _table(CSTATE_LIMITS, name), limits=each(valued(PackageLimit))).limits


@dataclass(frozen=True, slots=True)
class _Limits:
    limits: tuple[PackageLimit, ...]


def l2_events(name: str) -> L2Events:
    """The L2 events of a microarchitecture."""
    return L2_EVENTS.row(L2Events, name, _table(L2_EVENTS, name))


def _table(file: FactFile, name: str) -> dict[str, object]:
    if (table := file.find(name)) is None:
        raise file.wrong(name, "another table names it, and it is not there")
    return table
