"""AMD's chiplets: which L3 caches are in which core die (CCD), and what each is called.

Cores that share an L3 are a core complex (CCX); a CCD holds one of them, or two: Zen 2 and Zen 4c (AMD PPR of families
17h, 19h and 1Ah, "core complex die"; rows of `data/amd.toml`). Kernels from 6.9 on give CCDs as dies where CPUID leaf
8000_0026h tells them (Documentation/arch/x86/topology.rst); before, the numbers of L3 caches do, which are numbers of
APICs without their lowest bits (arch/x86/kernel/cpu/cacheinfo.c): two complexes of a CCD have neighbouring ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from turbotui.machine.cpumodel import AMD_VENDORS, CpuModel
from turbotui.machine.processors import amd_processor


class L3Place(Protocol):
    """Where a CPU is, as far as chiplets are concerned; numbers below 0 are not known."""

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
    """Names of L3 caches by package, die and number: "CCD 3", "CCD 3 CCX 1"; CCDs count in each package.

    Args:
        places: of all online CPUs.
        model: of the processor. Of a virtual machine nothing is said: its caches are what its host made up.
    """
    complexes = _complexes(model)
    caches = {(place.package, place.die, place.l3) for place in places}
    if not complexes or len(caches) < 2 or any(l3 < 0 for _, _, l3 in caches):
        return {}
    found: dict[tuple[int, ...], str] = {}
    for package in {package for package, _, _ in caches}:
        mine = sorted(cache for cache in caches if cache[0] == package)
        by_die = len({die for _, die, _ in mine}) > 1
        dies: dict[int, list[tuple[int, int, int]]] = {}
        for cache in sorted(mine, key=lambda cache: cache[2]):
            dies.setdefault(cache[1] if by_die else cache[2] // complexes, []).append(cache)
        for number, parts in enumerate(dies.values()):
            for at, cache in enumerate(parts):
                inside = at if by_die else cache[2] % complexes
                found[cache] = f"CCD {number}" if complexes == 1 else f"CCD {number} CCX {inside}"
    return found


def _complexes(model: CpuModel) -> int:
    """Complexes in a CCD; 0 where the processor has none, or it is not known."""
    if model.vendor not in AMD_VENDORS or model.family is None or model.model is None or model.hypervisor:
        return 0
    row = amd_processor(model.vendor, model.family, model.model)
    return 0 if row is None else row.complexes
