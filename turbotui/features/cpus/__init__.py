"""CPUs: the table of counters, the topology tree, and the map."""

from typing import Final

from turbotui.feature import ARROWS, PAST, Feature, KeyPlace, ScreenSpec, key

KEYS: Final = (
    key("category", "c", "Show or hide a category of columns, by the letter that follows.", after="arrange"),
    key("category_of_cpus", "c",
        "Go to the CPUs, and show or hide a category of their columns, by the letter that follows.", "",
        ("overview", "map", "power"), after="category"),
    key("save", "s", "Save this view as a profile; the palette lists saved ones.", after="filter"),
    key("joules", "J", "Show watts, or joules."),
    key("group", "t F5",
        "Show a flat list, or group by package, die, L3, node or core; the topology screen always has every level.",
        "group", rank=3, after="add"),
    key("tag", "v", "Tag the row, which pins it on top, with a sum of the tagged rows.", "tag", rank=4, after="graph"),
    key("follow", "F", "Choose what the cursor follows: its CPU, nothing, or the hottest, busiest or slowest CPU.",
        after="copy_rows"),
    key("map_left", "← h", "Go to the CPU to the left.", "", ("map",), call="sideways(-1)", after="right"),
    key("map_right", "→ l", "Go to the CPU to the right.", "", ("map",), call="sideways(1)"),
    key("map_back", "PgUp", "Go sixteen CPUs back.", "", ("map",), call="page(-1)", after="page_down"),
    key("map_on", "PgDn", "Go sixteen CPUs forward.", "", ("map",), call="page(1)"),
)
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
    keys="turbotui.features.cpus:KEYS",
)
