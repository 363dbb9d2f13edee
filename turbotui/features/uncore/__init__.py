"""Uncore PMUs, one table for each kind: counts, derived values, and the origin of every number."""

from turbotui.feature import PAST, ROWS, Command, Feature, KeyPlace, ScreenSpec

FEATURE = Feature(
    "uncore",
    commands=(
        Command(
            "uncore",
            "turbotui.features.uncore.verb",
            "memory controllers, fabrics, links: every uncore PMU, by kind",
            group="now", examples=(
                ("turbotui uncore -n 1", "traffic of memory and fabrics, where this machine counts it"),
                ("turbotui uncore --machine sapphire-2s -n 1", "the same on a simulated server"),
            )),
    ),
    screens=(
        ScreenSpec("uncore", "5", "uncore", "turbotui.features.uncore.screen", "UncoreScreen",
                   finds="turbotui.features.uncore.screen:names_of_kinds"),
    ),
    gathers="turbotui.features.uncore.recorded:look_up_events",
    places=(KeyPlace("uncore", "Uncore", (*ROWS, *PAST, "steps", "grid", "ends", "folded")),),
    keys="turbotui.features.uncore.keys:KEYS",
    recorded="turbotui.features.uncore.recorders:RECORDED",
)
