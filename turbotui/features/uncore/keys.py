"""Keys of uncore."""

from __future__ import annotations

from typing import Final

from turbotui.feature import Action

KEYS: Final = (
    Action("filters", "filters", ("f",), "f", "Filter what the PMU counts: sources, destinations, devices, addresses.",
           "filters", ("uncore",), rank=0, after="explain"),
    Action("traffic", "traffic", ("t",), "t",
           "Show the map of traffic between packages, memory, links and devices, or the tables again.",
           "map", ("uncore",), rank=1),
    Action("uncore_left", "sideways(-1)", ("left", "h"), "← h",
           "Go to the previous column; at the first column of a sum, "
           "fold or unfold its units.", "", ("uncore",), after="right"),
    Action("uncore_right", "sideways(1)", ("right", "l"), "→ l", "Go to the next column.", "", ("uncore",)),
    Action("uncore_previous", "page(-1)", ("pageup", "ctrl+b"), "PgUp", "Go to the previous table.", "", ("uncore",),
           after="page_down"),
    Action("uncore_next", "page(1)", ("pagedown", "ctrl+f"), "PgDn", "Go to the next table.", "", ("uncore",)),
)
