"""What Prometheus sees."""

from turbotui.features.export.live.families import GaugeFamily
from turbotui.features.export.live.levels import MACHINE

FAMILIES = (GaugeFamily("uptime_seconds", "uptime", MACHINE, "Time since the boot"),)
