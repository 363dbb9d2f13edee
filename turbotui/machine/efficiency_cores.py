"""Finds cores whose C6 residency includes deeper states.

Intel's E cores also advance MSR 0x3FD in C7, P cores do not (docs/specs/turbostat.md 2.3, row 29; 4, 0x3FD). CPUID leaf
0x1A tells E cores, and on hybrids the kernel's list of core PMUs, which the topology has.
"""

from __future__ import annotations

from turbotui.machine.machine import Machine

_E_TYPES = frozenset({"E", "LP"})
# Processors with only E cores and a C7 counter, although CPUID 0x1A says 0x20 (Alder Lake-N).
_E_ONLY = frozenset({"ATOM_GRACEMONT"})


def c6_counts_c7(machine: Machine, cpu: int) -> bool:
    """Tell whether the C6 residency counter of this CPU's core also counts in C7."""
    if machine.model.vendor != "GenuineIntel":
        return False
    return machine.topology.places[cpu].core_type in _E_TYPES or machine.platform.symbol in _E_ONLY
