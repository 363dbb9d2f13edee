"""CPUs: the table of counters, the topology tree, and the map."""

from turbotui.feature import ARROWS, PAST, Feature, KeyPlace, ScreenSpec

FEATURE = Feature(
    "cpus",
    screens=(
        ScreenSpec("cpus", "1", "CPUs", "turbotui.features.cpus.screen", "CpuScreen"),
        ScreenSpec("topology", "2", "topology", "turbotui.features.cpus.screen", "TopologyScreen", "cpus"),
        ScreenSpec("map", "3", "map", "turbotui.features.cpus.map_screen", "MapScreen"),
    ),
    places=(
        KeyPlace("cpus", "CPUs and topology", ("table", "sorted", *ARROWS, *PAST, "folded", "pointing", "adding")),
        KeyPlace("map", "Map", ("sorted", "graphed", "grid", "ends", "steps", "pointing")),
    ),
    keys="turbotui.features.cpus.keys:KEYS",
)
