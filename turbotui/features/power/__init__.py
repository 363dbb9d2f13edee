"""Power: what holds each package back, and where its watts go."""

from turbotui.feature import Feature, ScreenSpec

FEATURE = Feature(
    "power",
    screens=(
        ScreenSpec("power", "4", "power", "turbotui.features.power.screen", "PowerScreen"),
    ),
)
