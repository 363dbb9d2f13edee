"""Power: the limits that hold packages back, and the distribution of the machine's watts."""

from turbotui.feature import Command, Feature, KeyPlace, ScreenSpec

FEATURE = Feature(
    "power",
    commands=(
        Command("power", "turbotui.features.power.verb", "where the watts go: packages, memory, graphics and the "
                "rest, compared with the platform's own total", group="now", examples=(
                    ("turbotui power -n 1", "where the watts go, and which limit holds"),
                    ("turbotui power --replay run.ttj", "the same of a recording"))),
    ),
    screens=(ScreenSpec("power", "4", "power", "turbotui.features.power.screen", "PowerScreen"),),
    recorded="turbotui.features.power.recorded:RECORDED",
    places=(KeyPlace("power", "Power", ("graphed", "compared", "steps", "sideways", "pages", "ends")),),
)
