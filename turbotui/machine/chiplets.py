"""AMD's chiplets: the L3 caches of each core die (CCD), and their names.

Cores that share an L3 are a core complex (CCX); a CCD contains one or, on Zen 2 and Zen 4c, two of them (AMD PPR of
families 17h, 19h and 1Ah, "core complex die"; rows of `data/amd.toml`). Kernels from 6.9 on report CCDs as dies if
CPUID leaf 8000_0026h describes them (Documentation/arch/x86/topology.rst). Before, the numbers of L3 caches identify
them: these are APIC numbers without their lowest bits (arch/x86/kernel/cpu/cacheinfo.c), so two complexes of a CCD have
adjacent ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from turbotui.machine.cpumodel import AMD_VENDORS, CpuModel
from turbotui.machine.processors import amd_processor
from turbotui.quantities.by_key import lists_by_key


class L3Place(Protocol):
    """The place of a CPU among chiplets; numbers below 0 are unknown."""

    @property
    def package(self) -> int:
        """Number of its package."""

    @property
    def die(self) -> int:
        """Number of its die."""

    @property
    def l3(self) -> int:
        """Number of its L3 cache."""


def chiplet_names(places: Iterable[L3Place], model: CpuModel) -> Mapping[tuple[int, ...], str]:
    """Names of L3 caches by package, die and number: "CCD 3", "CCD 3 CCX 1"; CCDs are numbered in each package.

    Args:
        places: of all online CPUs.
        model: of the processor; caches of a virtual machine get no names, because its host made them up.
    """
    complexes = _complexes(model)
    caches = {(place.package, place.die, place.l3) for place in places}
    if not complexes or len(caches) < 2 or any(l3 < 0 for _, _, l3 in caches):
        return {}
    names: dict[tuple[int, ...], str] = {}
    for package in {package for package, _, _ in caches}:
        package_caches = sorted(cache for cache in caches if cache[0] == package)
        by_die = len({die for _, die, _ in package_caches}) > 1
        dies = lists_by_key((cache[1] if by_die else cache[2] // complexes, cache)
                            for cache in sorted(package_caches, key=lambda cache: cache[2]))
        for number, parts in enumerate(dies.values()):
            for at, cache in enumerate(parts):
                inside = at if by_die else cache[2] % complexes
                names[cache] = f"CCD {number}" if complexes == 1 else f"CCD {number} CCX {inside}"
    return names


def _complexes(model: CpuModel) -> int:
    """Complexes in a CCD; 0 if the processor has none or the number is unknown."""
    if model.vendor not in AMD_VENDORS or model.family is None or model.model is None or model.hypervisor:
        return 0
    row = amd_processor(model.vendor, model.family, model.model)
    return 0 if row is None else row.complexes
