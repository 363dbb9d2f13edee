"""The simulated machines."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "machines",
    commands=(
        Command("machines", "turbotui.features.machines.verb", "the simulated machines for --machine"),
    ),
)
