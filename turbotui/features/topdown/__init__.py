"""Top-down analysis: the use of pipeline slots, level by level, with advice."""

from typing import Final

from turbotui.feature import ARROWS, PAST, ROWS, Command, Feature, KeyPlace, ScreenSpec, key

KEYS: Final = (
    key("topdown_rows", "t F5", "Show a row for each core, CPU, package, core type, busy thread, or marked region.",
        "rows", call="rows", rank=1, after="acts"),
)
FEATURE = Feature(
    "topdown",
    commands=(
        Command("topdown", "turbotui.features.topdown.verb", "where pipeline slots go: retiring, bad speculation, "
                "front end, back end, and deeper", behind="command", group="now", examples=(
                    ("turbotui topdown -n 1", "where the pipelines lose work"),
                    ("turbotui topdown --machine sapphire-2s -n 1", "the same on a simulated server"),
                    ("turbotui topdown --machine sapphire-2s --per core -n 1", "of each of its cores"))),
    ),
    screens=(ScreenSpec("topdown", "d", "top-down", "turbotui.features.topdown.screen", "TopdownScreen"),),
    gathers="turbotui.features.topdown.engine:TopdownCounters",
    places=(KeyPlace("topdown", "Top-down", (*ROWS, *ARROWS, *PAST)),),
    keys="turbotui.features.topdown:KEYS",
    recorded="turbotui.features.topdown.recorders:RECORDED",
)
