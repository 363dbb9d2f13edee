"""The one table of screens: keys, tabs, help and palette are made from it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from turbotui.screens.base import WatchScreen
from turbotui.screens.watch import Watch


@dataclass(frozen=True, slots=True)
class ScreenSpec:
    """One screen: its mode, the key that shows it, its name, and its class, whose module is loaded when it is shown."""

    id: str
    number: str
    word: str
    module: str
    name: str

    def build(self, watch: Watch) -> WatchScreen:
        """Make the screen."""
        made: WatchScreen = getattr(importlib.import_module(self.module), self.name)(watch)
        return made


SCREENS: tuple[ScreenSpec, ...] = (
    ScreenSpec("cpus", "1", "CPUs", "turbotui.screens.cpus", "CpuScreen"),
    ScreenSpec("topology", "2", "topology", "turbotui.screens.cpus", "TopologyScreen"),
    ScreenSpec("map", "3", "map", "turbotui.screens.map", "MapScreen"),
    ScreenSpec("power", "4", "power", "turbotui.screens.power", "PowerScreen"),
    ScreenSpec("uncore", "5", "uncore", "turbotui.screens.uncore", "UncoreScreen"),
    ScreenSpec("roofline", "6", "roofline", "turbotui.screens.roofline", "RooflineScreen"),
    ScreenSpec("tasks", "7", "tasks", "turbotui.screens.tasks", "TasksScreen"),
    ScreenSpec("info", "8", "info", "turbotui.screens.info", "InfoScreen"),
    ScreenSpec("doctor", "9", "doctor", "turbotui.screens.doctor", "DoctorScreen"),
)
"""Every screen there is; keys, tabs, help and palette follow."""
