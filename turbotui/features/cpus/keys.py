"""Keys of cpus."""

from __future__ import annotations

from typing import Final

from turbotui.feature import Action

KEYS: Final = (
    Action("category", "category", ("c",), "c",
           "Show or hide a category of columns, by the letter that follows.", "", ("cpus",), after="arrange"),
    Action("category_of_cpus", "category_of_cpus", ("c",), "c",
           "Go to the CPUs, and show or hide a category of their columns, by the letter that follows.", "",
           ("overview", "map", "power"), after="category"),
    Action("save", "save", ("s",), "s", "Save this view as a profile; the palette lists saved ones.", "", ("cpus",),
           after="filter"),
    Action("joules", "joules", ("J",), "J", "Show watts, or joules.", "", ("cpus",)),
    Action("group", "group", ("t", "f5"), "t F5",
           "Show a flat list, or group by package, die, L3, node or core; the topology screen always has every level.",
           "group", ("cpus",), rank=3, after="add"),
    Action("tag", "tag", ("v",), "v", "Tag the row, which pins it on top, with a sum of the tagged rows.", "tag",
           ("cpus",), rank=4, after="graph"),
    Action("follow", "follow", ("F",), "F",
           "Choose what the cursor follows: its CPU, nothing, or the hottest, busiest or slowest CPU.", "", ("cpus",),
           rank=5, after="copy_rows"),
    Action("map_left", "sideways(-1)", ("left", "h"), "← h", "Go to the CPU to the left.", "", ("map",), after="right"),
    Action("map_right", "sideways(1)", ("right", "l"), "→ l", "Go to the CPU to the right.", "", ("map",)),
    Action("map_back", "page(-1)", ("pageup", "ctrl+b"), "PgUp", "Go sixteen CPUs back.", "", ("map",),
           after="page_down"),
    Action("map_on", "page(1)", ("pagedown", "ctrl+f"), "PgDn", "Go sixteen CPUs forward.", "", ("map",)),
)
