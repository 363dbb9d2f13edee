"""Names and units of uncore PMUs and their events, which need no formula to be understood."""

from __future__ import annotations

ELAPSED = "dt"
"""The name of the interval in a formula, ns."""

UNITS = "units"
"""The name in a formula of how many units are added in a row: clocks of a sum are averaged, so that the peak of
several units is theirs times this."""

LINK = "link"
"""The name in a formula of the GB/s that the PCI Express links below a row's units carry in one direction."""

DRAM = "dram"
"""The name in a formula of the GB/s that the memory behind a row can move, by what firmware says of its modules."""

L3_UNIT = "l3unit"
"""The name in a formula of the ns that one count of AMD's sampled L3 latency stands for, by the size of the L3."""

BYTES = {"MiB": 1 << 20, "KiB": 1 << 10, "GiB": 1 << 30, "Bytes": 1, "bytes": 1, "B": 1}
"""Units of event files that are bytes, and how many. Such an event counts in bytes in formulas."""

CLOCKS = frozenset({"cycles", "bus_cycles", "clockticks", "dclk", "ioclk", "dtc_cycles", "iommu_clocks"})
"""Events that tell time rather than traffic. In a sum row they are averaged: each instance has the clock once."""

ALONE = frozenset({"arm_dmc620", "ali_drw"})
"""Kinds whose driver opens no two events in one group (arm_dmc620_pmu.c and alibaba_uncore_drw_pmu.c, event_init)."""

GRACE_PCIE = "nvidia_grace_pcie"
"""Grace's PMU, one a socket and without root complexes, counts other events than Tegra410's of the same name."""

UNNAMED_FABRIC = "nvidia_uncore_fabric"
"""A coherency fabric under a kernel that knows neither its name nor its events."""
