"""Offers of a machine not to be believed: rules over the findings of all sources, before any sample.

A source sees its own files and registers only. Here they are seen together: a table of rules takes back what one source
offers and the others contradict, with the reason that doctor, the picker and JSON then show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from turbotui.machine.machine import Machine
from turbotui.quantities.signals import Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.source import Probe

_PSYS: SignalId = "energy.psys"

COMPARED: tuple[SignalId, ...] = ("energy.pkg", "energy.cores", "energy.gpu", "energy.ram", "energy.psys")
"""Signals that are read from every source that gives them: drivers disagree about what a domain spans, and about units.
They are few: one of each for a package."""

Rule: TypeAlias = Callable[[Machine, Mapping[str, Probe]], Mapping[SignalId, Unavailable]]
"""From a machine and the findings by source to the signals that are not to be believed, and why."""


def _platform_energy_alone(machine: Machine, probes: Mapping[str, Probe]) -> Mapping[SignalId, Unavailable]:
    """Platform energy in a guest that is offered no other: the kernel never tried it, and the hypervisor has none.

    The kernel leaves an energy event out whose register reads 0, but for psys (arch/x86/events/rapl.c, rapl_msrs and
    the flag no_check).
    """
    offered = [signal for probe in probes.values() for signal in probe.signals.values()
               if isinstance(signal, Signal) and signal.id.startswith("energy.")]
    alone = offered and all(signal.id == _PSYS for signal in offered)
    if not alone or not machine.model.hypervisor:
        return {}
    return {_PSYS: Unavailable(
        Reason.VIRTUALISED,
        f"{offered[0].origin}: the only energy that this guest is offered, and the one that the kernel offers without"
        " having looked whether it counts (rapl.c); no hypervisor passes it on alone",
    )}  # fmt: skip


RULES: tuple[Rule, ...] = (_platform_energy_alone,)


def disbelieved(machine: Machine, probes: Mapping[str, Probe]) -> dict[SignalId, Unavailable]:
    """The signals that some source offers and a rule does not believe."""
    refused: dict[SignalId, Unavailable] = {}
    for rule in RULES:
        refused |= rule(machine, probes)
    return refused


def believed(probes: Mapping[str, Probe], refused: Mapping[SignalId, Unavailable]) -> dict[str, Probe]:
    """The findings of all sources, with what is not believed taken back."""
    return {source: _without(probe, refused) for source, probe in probes.items()}


def _without(probe: Probe, refused: Mapping[SignalId, Unavailable]) -> Probe:
    mine = {name: why for name, why in refused.items() if isinstance(probe.signals.get(name), Signal)}
    return replace(probe, signals={**probe.signals, **mine}) if mine else probe


def remarks(machine: Machine) -> Mapping[SignalId, str]:
    """Remarks on signals that count something else on this machine than their name says."""
    return {name: text for name, (applies, text) in _REMARKS.items() if applies(machine)}


_REMARKS: Mapping[SignalId, tuple[Callable[[Machine], bool], str]] = {
    # KVM answers MSR_SMI_COUNT with the SMIs that it gave the virtual CPU (arch/x86/kvm/x86.c, kvm_get_msr_common)
    "smi": (
        lambda machine: machine.model.hypervisor,
        "of the guest: what the hypervisor delivers to its virtual CPUs; SMIs of the machine below do not show here",
    ),
}
