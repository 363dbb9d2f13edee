"""The simulated machines."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "machines",
    commands=(
        Command("machines", "turbotui.features.machines.verb", "the simulated machines for --machine",
                group="know", examples=(
                    ("turbotui machines", "the names for --machine"),
                    ("turbotui why --machine guest+steal -n 1", "a machine with a cause of slowness to be found"))),
    ),
)
