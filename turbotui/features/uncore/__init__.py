"""Uncore PMUs, a table a kind: what is counted of each, what is derived from it, where every number comes from."""

from turbotui.feature import Command, Feature, ScreenSpec

FEATURE = Feature(
    "uncore",
    commands=(
        Command(
            "uncore",
            "turbotui.features.uncore.verb",
            "memory controllers, fabrics, links: every uncore PMU, by kind",
        ),
    ),
    screens=(
        ScreenSpec("uncore", "5", "uncore", "turbotui.features.uncore.screen", "UncoreScreen"),
    ),
)
