"""Top-down analysis: where the slots of the pipelines went, level by level, and what to try."""

from turbotui.feature import Command, Feature, ScreenSpec

FEATURE = Feature(
    "topdown",
    commands=(
        Command(
            "topdown",
            "turbotui.features.topdown.verb",
            "where pipeline slots go: retiring, bad speculation, front end, back end, and deeper",
            behind="command",
        ),
    ),
    screens=(
        ScreenSpec("topdown", "d", "top-down", "turbotui.features.topdown.screen", "TopdownScreen"),
    ),
)
