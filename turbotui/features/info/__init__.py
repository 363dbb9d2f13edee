"""The configuration of a machine, as turbostat prints it before its first interval."""

from turbotui.feature import ARROWS, ROWS, Command, Feature, KeyPlace, ScreenSpec

FEATURE = Feature(
    "info",
    commands=(
        Command("info", "turbotui.features.info.verb", "the machine's configuration: topology, caches, memory, "
                "clocks, limits, idle states, power", group="know", examples=(
                    ("turbotui info", "caches, clocks, limits, idle states"),
                    ("turbotui info --json", "the same for a script"))),
    ),
    screens=(ScreenSpec("info", "8", "info", "turbotui.features.info.screen", "InfoScreen"),),
    preface="turbotui.features.info.model:preface",
    gathers="turbotui.features.info.model:whole_configuration",
    places=(KeyPlace("info", "Info", (*ROWS, *ARROWS)),),
)
