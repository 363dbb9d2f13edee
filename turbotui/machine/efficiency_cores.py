"""Which cores count deeper states into their C6 residency.

Intel's E cores advance MSR 0x3FD in C7 too, P cores do not (docs/specs/turbostat.md 2.3, row 29; 4, 0x3FD).
CPUID leaf 0x1A says which core is an E core, and on hybrids the kernel's list of core PMUs, which the topology holds.
"""

from __future__ import annotations

from turbotui.machine.machine import Machine

_E_TYPES = frozenset({"E", "LP"})
# Parts with nothing but E cores and a C7 counter: no kinds to tell apart, though CPUID 0x1A says 0x20 (Alder Lake-N).
_E_ONLY = frozenset({"ATOM_GRACEMONT"})


def c6_counts_c7(machine: Machine, cpu: int) -> bool:
    """Whether the C6 residency counter of this CPU's core goes on in C7."""
    if machine.model.vendor != "GenuineIntel":
        return False
    return machine.topology.places[cpu].core_type in _E_TYPES or machine.platform.symbol in _E_ONLY
