"""Top-down analysis: the use of pipeline slots, level by level, with advice."""

from turbotui.feature import ARROWS, PAST, ROWS, Command, Feature, KeyPlace, ScreenSpec

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
    gathers="turbotui.features.topdown.engine:TopdownCounters",
    places=(KeyPlace("topdown", "Top-down", (*ROWS, *ARROWS, *PAST)),),
    keys="turbotui.features.topdown.keys:KEYS",
    recorded="turbotui.features.topdown.recorders:RECORDED",
)
