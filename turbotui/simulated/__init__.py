"""Simulated machines: a physical model behind the `Host` protocol, with exact known answers."""

from turbotui.simulated.clock import ManualClock, RealClock, SimulatedClock
from turbotui.simulated.host import SimulatedHost
from turbotui.simulated.named import simulated_host
from turbotui.simulated.shape_table import SHAPES
from turbotui.simulated.shapes import MachineShape
from turbotui.simulated.strain import Strain

__all__ = [
    "SHAPES", "MachineShape", "ManualClock", "RealClock", "SimulatedClock", "SimulatedHost", "Strain", "simulated_host",
]
