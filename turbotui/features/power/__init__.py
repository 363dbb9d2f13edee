"""Power: the limits that hold packages back, and the distribution of the machine's watts."""

from turbotui.feature import Command, Feature, KeyPlace, ScreenSpec

FEATURE = Feature(
    "power",
    commands=(
        Command("power", "turbotui.features.power.verb",
                "where the watts go: packages, memory, graphics and the rest, compared with the platform's own total"),
    ),
    screens=(
        ScreenSpec("power", "4", "power", "turbotui.features.power.screen", "PowerScreen"),
    ),
    recorded="turbotui.features.power.recorded:RECORDED",
    places=(KeyPlace("power", "Power", ("graphed", "steps", "sideways", "pages", "ends")),),
)
