"""What is found on simulated machines, looked for once a shape: hundreds of CPUs have many files."""

from __future__ import annotations

import functools
from dataclasses import replace

from turbotui.machine.machine import Machine, read_machine
from turbotui.quantities.scope import Scope
from turbotui.simulated import ManualClock, SimulatedHost
from turbotui.simulated.shapes import MachineShape


@functools.cache
def _found(shape: MachineShape, cpus: frozenset[int] | None) -> Machine:
    return read_machine(SimulatedHost(shape, ManualClock(), seed=1), cpus)


def known_machine(host: SimulatedHost, cpus: frozenset[int] | None = None) -> Machine:
    """Return the result of `read_machine` on a simulated host with all CPUs and files, whatever its rights."""
    return replace(_found(host.shape, cpus), host=host, privileges=host.privileges())


def machine_of_few(host: SimulatedHost) -> Machine:
    """The machine when one CPU of each package is measured: for tests that are about something else than CPUs."""
    packages = known_machine(host).topology.instances(Scope.PACKAGE)
    return known_machine(host, frozenset(instance.cpus[0] for instance in packages))
