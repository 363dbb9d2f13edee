"""Where the bytes go: memory bandwidth and cache of each L3, node and package, and pages of other nodes."""

from turbotui.feature import ARROWS, PAST, ROWS, Command, Feature, KeyPlace, ScreenSpec

FEATURE = Feature(
    "memory",
    commands=(
        Command("memory", "turbotui.features.memory.verb",
                "GB/s and cache of each L3, node and package, and pages that nodes had to fetch elsewhere",
                group="now", examples=(
                    ("turbotui memory -n 1", "which L3, node or package moves the most bytes"),
                    ("turbotui memory -n 1 --format json", "the same, for a script"),
                )),
    ),
    screens=(ScreenSpec("memory", "N", "memory", rows="turbotui.features.memory.rows:MEMORY"),),
    places=(KeyPlace("memory", "Memory", (*ROWS, *ARROWS, *PAST, "folded")),),
    rows="turbotui.features.memory.rows:KINDS",
)
