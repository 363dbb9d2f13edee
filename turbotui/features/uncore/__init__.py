"""Uncore PMUs, one table for each kind: counts, derived values, and the origin of every number."""

from typing import Final

from turbotui.feature import PAST, ROWS, Command, Feature, KeyPlace, ScreenSpec, key

KEYS: Final = (
    key("filters", "f", "Filter what the PMU counts: sources, destinations, devices, addresses.", "filters", rank=0,
        after="explain"),
    key("traffic", "t", "Show the map of traffic between packages, memory, links and devices, or the tables again.",
        "map", rank=1),
    key("uncore_left", "← h", "Go to the previous column; at the first column of a sum, fold or unfold its units.",
        call="sideways(-1)", after="right"),
    key("uncore_right", "→ l", "Go to the next column.", call="sideways(1)"),
    key("uncore_previous", "PgUp", "Go to the previous table.", call="page(-1)", after="page_down"),
    key("uncore_next", "PgDn", "Go to the next table.", call="page(1)"),
)
FEATURE = Feature(
    "uncore",
    commands=(
        Command("uncore", "turbotui.features.uncore.verb", "memory controllers, fabrics, links: every uncore PMU, by "
                "kind", group="now", examples=(
                    ("turbotui uncore -n 1", "traffic of memory and fabrics, where this machine counts it"),
                    ("turbotui uncore --machine sapphire-2s -n 1", "the same on a simulated server"))),
    ),
    screens=(
        ScreenSpec("uncore", "5", "uncore", "turbotui.features.uncore.screen", "UncoreScreen",
                   finds="turbotui.features.uncore.screen:names_of_kinds"),
    ),
    gathers="turbotui.features.uncore.recorded:look_up_events",
    places=(KeyPlace("uncore", "Uncore", (*ROWS, *PAST, "steps", "grid", "ends", "folded")),),
    keys="turbotui.features.uncore:KEYS",
    recorded="turbotui.features.uncore.recorders:RECORDED",
)
