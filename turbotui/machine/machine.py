"""A machine as found: its host, topology, CPU model, platform and our rights on it."""

from __future__ import annotations

from dataclasses import replace

from turbotui.dataclass import dataclass
from turbotui.machine.cpumodel import CpuModel, read_cpu_model
from turbotui.machine.host import Host, Privileges
from turbotui.machine.platforms import Platform, platform_of
from turbotui.machine.topology import Topology, read_topology


@dataclass(frozen=True, slots=True)
class Machine:
    """Everything that sources may know before they read a counter.

    Attributes:
        tcc: the temperature in °C from which thermal readouts count down, where a person has told it; None where the
            machine is to be believed.
    """

    host: Host
    topology: Topology
    model: CpuModel
    platform: Platform
    privileges: Privileges
    tcc: int | None = None

    def with_topology(self, topology: Topology) -> Machine:
        """This machine with another topology, after CPUs came or went."""
        return replace(self, topology=topology)


def read_machine(host: Host, cpus: frozenset[int] | None = None) -> Machine:
    """Look at a machine once.

    Args:
        host: where to look.
        cpus: measure only these CPUs; None for every usable one.

    Raises:
        MachineError: not even the number of CPUs can be read.
        UsageError: a CPU of `cpus` is not there.
    """
    model = read_cpu_model(host)
    return Machine(
        host=host,
        topology=read_topology(host, cpus, model),
        model=model,
        platform=platform_of(model),
        privileges=host.privileges(),
    )
