"""A machine: its host, topology, CPU model, platform, and the process's rights on it."""

from __future__ import annotations

from dataclasses import replace

from turbotui.dataclass import dataclass
from turbotui.machine.cpumodel import CpuModel, read_cpu_model
from turbotui.machine.host import Host, Privileges
from turbotui.machine.platforms import Platform, platform_of
from turbotui.machine.topology import Topology, read_topology
from turbotui.machine.view import NOTHING_HIDDEN, View, read_view


@dataclass(frozen=True, slots=True)
class Machine:
    """The facts that sources may use before they read a counter."""

    host: Host
    topology: Topology
    model: CpuModel
    platform: Platform
    privileges: Privileges
    # the temperature in °C from which thermal readouts count down, if the user gave it; None for the machine's
    tcc: int | None = None
    view: View = NOTHING_HIDDEN  # the mounts that this process sees, and what they hide

    def with_topology(self, topology: Topology) -> Machine:
        """Return this machine with another topology, after CPUs came or went."""
        return replace(self, topology=topology)


def read_machine(host: Host, cpus: frozenset[int] | None = None) -> Machine:
    """Read the facts of a machine.

    Raises:
        MachineError: not even the number of CPUs can be read.
        UsageError: a CPU of `cpus` does not exist.
    """
    model, privileges = read_cpu_model(host), host.privileges()
    return Machine(host=host, topology=read_topology(host, cpus, model), model=model, platform=platform_of(model),
                   privileges=privileges, view=read_view(host, renumbered=privileges.renumbered))
