"""Which recipe belongs to which cores of a machine, and the events as counters of their PMU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.machine.machine import Machine
from turbotui.machine.platforms import platform_of
from turbotui.machine.pmus import Pmu, read_pmu
from turbotui.quantities.recipes import Event, Recipe, without_half
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
from turbotui.quantities.roofline import VECTOR_UNIT

_RECIPES: Final[tuple[tuple[str, Recipe | None], ...]] = (
    ("SANDYBRIDGE", IVY_BRIDGE),
    ("IVYBRIDGE", IVY_BRIDGE),
    ("HASWELL", HASWELL),
    ("ATOM_CRESTMONT", INTEL_E),
    ("ATOM_GRACEMONT", GRACEMONT),
    ("ATOM_DARKMONT", DARKMONT),
    ("ATOM", None),
    ("NEHALEM", None),
    ("WESTMERE", None),
    ("XEON_PHI", None),
    ("LAKEFIELD", None),
    ("DIAMONDRAPIDS", None),
    ("NOVALAKE", None),
    ("SAPPHIRERAPIDS", SAPPHIRE_RAPIDS),
    ("EMERALDRAPIDS", SAPPHIRE_RAPIDS),
    ("GRANITERAPIDS", SAPPHIRE_RAPIDS),
    ("", BROADWELL_ON),
)
"""Recipes by the beginning of Intel's model symbol; the first that fits. None: no facts here."""

_E_CORES: Final[tuple[tuple[str, str, Recipe | None], ...]] = (
    ("ALDERLAKE", "", GRACEMONT),
    ("RAPTORLAKE", "", GRACEMONT),
    ("METEORLAKE", "", CLIENT_E),
    ("ARROWLAKE_U", "", CLIENT_E),
    ("", "cpu_lowpower", CLIENT_E),
    ("NOVALAKE", "", None),  # Intel perfmon, novalake 1.00, lists no floating-point event of these cores
    ("", "", SKYMONT),
)
"""Recipes of a hybrid's E cores, likewise, by their PMU too where it is named; "" stands for every one."""

_ARM: Final[Mapping[tuple[int, int], Recipe]] = MappingProxyType(
    {
        (0x41, 0xD0C): NEOVERSE_N1,
        (0x41, 0xD40): NEOVERSE,  # V1
        (0x41, 0xD49): NEOVERSE,  # N2
        (0x41, 0xD4F): NEOVERSE,  # V2
        (0x41, 0xD83): NEOVERSE_LATER,  # V3AE
        (0x41, 0xD84): NEOVERSE_LATER,  # V3
        (0x41, 0xD8E): NEOVERSE_LATER,  # N3
        (0x4E, 0x010): OLYMPUS,
    }
)
"""Recipes by MIDR_EL1 implementer and part (linux arch/arm64/include/asm/cputype.h)."""

_ZEN4_MODELS: Final = (range(0x10, 0x20), range(0x60, 0x80), range(0xA0, 0xB0))  # of family 19h; the others are Zen 3

_HYBRID_E: Final = ("cpu_atom", "cpu_lowpower")
_VECTOR_LENGTH: Final = "/proc/sys/abi/sve_default_vector_length"  # bytes (kernel arch/arm64/sve.rst)


@dataclass(frozen=True, slots=True)
class Bank:
    """CPUs of one kind of core with how to count on them.

    Attributes:
        recipe: the events.
        pmu: that counts them.
        cpus: those that it covers; None for every one.
    """

    recipe: Recipe
    pmu: Pmu
    cpus: frozenset[int] | None

    def attr(self, event: Event) -> PerfAttr:
        """The event as perf_event_open(2) takes it, counting at once in all modes."""
        return PerfAttr(self.pmu.type, event.config, event.config1)

    def title(self, event: Event) -> str:
        """The event in perf's words and the maker's: "perf cpu/config=0x1c7/ (FP_ARITH...)"."""
        return f"perf {self.pmu.name}/{event.perf}/ ({event.name})"


def banks_of(machine: Machine) -> Iterator[Bank]:
    """The kinds of core that are measured, have a recipe, and whose PMU the kernel has."""
    measured = frozenset(machine.topology.cpus)
    main = recipe_of(machine.model)
    for name in _HYBRID_E:
        small = e_core_recipe(machine.model, name)
        pmu = read_pmu(machine.host, name)
        if pmu is not None and small is not None and measured & frozenset(pmu.cpus):
            yield Bank(small, pmu, frozenset(pmu.cpus))
    for name in () if main is None else main.pmu:
        pmu = read_pmu(machine.host, name)
        if pmu is not None and main is not None and name not in _HYBRID_E:
            cpus = frozenset(pmu.cpus) or None
            if cpus is None or measured & cpus:
                yield Bank(main, pmu, cpus)
            return


def vector_bits(host: Host) -> int:
    """The length of a scalable vector, 128 where there are none: what Arm's SCALE events and SVE widths count by."""
    try:
        return 8 * int(host.read_text(_VECTOR_LENGTH))
    except (HostError, ValueError):
        return VECTOR_UNIT


def recipe_of(model: CpuModel) -> Recipe | None:
    """The recipe for a processor's cores, a hybrid's P cores; None where the table has none."""
    if model.vendor == "GenuineIntel":
        symbol = platform_of(model).symbol
        return next((recipe for start, recipe in _RECIPES if symbol.startswith(start)), None) if symbol else None
    generation = zen_generation(model)
    if generation:
        return {2: ZEN2_ZEN3, 3: ZEN2_ZEN3, 4: ZEN4, 5: ZEN5}[generation]
    return _ARM.get((model.implementer or 0, model.part or 0))


def task_recipe_of(model: CpuModel) -> Recipe | None:
    """The recipe by which tasks are counted, whose sets of events are as few as they can be."""
    recipe = recipe_of(model)
    return None if recipe is None else without_half(recipe)


def e_core_recipe(model: CpuModel, pmu: str = "cpu_atom") -> Recipe | None:
    """The recipe for a hybrid Intel processor's E cores, which a PMU of this name counts."""
    symbol = platform_of(model).symbol if model.vendor == "GenuineIntel" else ""
    if not symbol:
        return None
    return next(recipe for start, name, recipe in _E_CORES if symbol.startswith(start) and name in ("", pmu))


def zen_generation(model: CpuModel) -> int:
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
