"""CPUs: the table of counters, the topology tree, and the map."""

from turbotui.feature import Feature, ScreenSpec

FEATURE = Feature(
    "cpus",
    screens=(
        ScreenSpec("cpus", "1", "CPUs", "turbotui.features.cpus.screen", "CpuScreen", "table"),
        ScreenSpec("topology", "2", "topology", "turbotui.features.cpus.screen", "TopologyScreen", "table"),
        ScreenSpec("map", "3", "map", "turbotui.features.cpus.map_screen", "MapScreen"),
    ),
)
