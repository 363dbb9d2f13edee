"""Power: what holds each package back, and where the machine's watts go."""

from turbotui.feature import Command, Feature, ScreenSpec

FEATURE = Feature(
    "power",
    commands=(
        Command("power", "turbotui.features.power.verb",
                "where the watts go: packages, memory, graphics and the rest, compared with the platform's own total"),
    ),
    screens=(
        ScreenSpec("power", "4", "power", "turbotui.features.power.screen", "PowerScreen"),
    ),
)
