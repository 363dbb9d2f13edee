"""Names and units of uncore PMUs and their events that can be used without parsing a formula."""

from __future__ import annotations

ELAPSED = "dt"
"""The interval in a formula, in ns."""

UNITS = "units"
"""The number of units that are added in a row: clocks of a sum are averaged, so the peak of several units is their
clock times this number."""

LINK = "link"
"""The GB/s that the PCI Express links below a row's units carry in one direction."""

DRAM = "dram"
"""The GB/s that the memory behind a row can move, by the firmware's description of the modules."""

L3_UNIT = "l3unit"
"""The ns that one count of AMD's sampled L3 latency stands for, by the size of the L3."""

BYTES = {"MiB": 1 << 20, "KiB": 1 << 10, "GiB": 1 << 30, "Bytes": 1, "bytes": 1, "B": 1}
"""Units of event files that are bytes, with their size; such an event counts bytes in formulas."""

CLOCKS = frozenset({"cycles", "bus_cycles", "clockticks", "dclk", "ioclk", "dtc_cycles", "iommu_clocks"})
"""Events that count time and not traffic; a sum row averages them, because each instance has the clock once."""

ALONE = frozenset({"arm_dmc620", "ali_drw"})
"""Kinds whose driver opens no two events in one group (arm_dmc620_pmu.c and alibaba_uncore_drw_pmu.c, event_init)."""

_FILTER = "filter_"
"""How the kernel names fields of a register that all counters of a unit share, as the one of Skylake's CHAs that picks
opcodes (arch/x86/events/intel/uncore_snbep.c, skx_cha_filter_mask)."""

GRACE_PCIE = "nvidia_grace_pcie"
"""Grace's PMU, one for each socket and without root complexes; counts other events than Tegra410's of the same name."""

UNNAMED_FABRIC = "nvidia_uncore_fabric"
"""A coherency fabric under a kernel that knows neither its name nor its events."""


def filter_of(event: str) -> tuple[str, ...]:
    """The terms by which an event sets its unit's filter register; () where it leaves the register alone.

    Events that set it otherwise cannot be counted in the same time: the kernel refuses them in one group, and groups of
    them are multiplexed.
    """
    return tuple(sorted(term for term in event.split(",") if term.startswith(_FILTER)))
