"""Simulated machines: a physical model behind the `Host` protocol, with exact known answers."""

from turbotui.machine.simulated.clock import Clock, ManualClock, RealClock
from turbotui.machine.simulated.host import SimulatedHost, simulated_host
from turbotui.machine.simulated.shape_table import SHAPES
from turbotui.machine.simulated.shapes import Shape

__all__ = ["SHAPES", "Clock", "ManualClock", "RealClock", "Shape", "SimulatedHost", "simulated_host"]
