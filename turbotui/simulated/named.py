"""Simulated machines by the names that --machine takes."""

from __future__ import annotations

import difflib

from turbotui.errors import UsageError
from turbotui.simulated.applications import APPLICATIONS, running
from turbotui.simulated.causes import with_causes
from turbotui.simulated.clock import RealClock, SimulatedClock
from turbotui.simulated.host import SimulatedHost
from turbotui.simulated.shape_table import SHAPES
from turbotui.simulated.shapes import MachineShape
from turbotui.simulated.strain import Strain


def simulated_host(name: str, clock: SimulatedClock | None = None, seed: int = 1) -> SimulatedHost:
    """Make a simulated machine by name.

    Args:
        name: a key of `SHAPES`, or one with an application on every CPU: "laptop-old+calculix" (`APPLICATIONS`), or
            with causes of slowness: "guest+steal+memory" (`causes.CAUSES`).
        clock: what the machine's time follows; the monotonic clock by default.
        seed: of the load; equal seeds and equal clocks give equal machines.

    Raises:
        UsageError: there is no such machine; the message lists all machines, and the most similar name.
    """
    shape, strain = named_shape(name)
    host = SimulatedHost(shape, clock or RealClock(), seed)
    host.strain_by(strain)
    return host


def named_shape(name: str) -> tuple[MachineShape, Strain]:
    """Return the shape and the strain that a name stands for.

    Raises:
        UsageError: as `simulated_host`.
    """
    machine, *words = name.split("+")
    shape = SHAPES.get(machine)
    if shape is None:
        alike = difflib.get_close_matches(machine, SHAPES, n=1)
        guess = f" (did you mean {alike[0]}?)" if alike else ""
        raise UsageError(f"there is no simulated machine {machine!r}{guess}; there are {', '.join(SHAPES)}")
    strain = Strain()
    if len(words) == 1 and words[0] in APPLICATIONS:
        shape = running(shape, words[0])
    elif words:
        shape, strain = with_causes(shape, words)
    return shape, strain
