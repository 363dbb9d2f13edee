"""Plays recordings in the dashboard."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "replay",
    commands=(
        Command("replay", "turbotui.features.replay.verb", "a recording in the dashboard: play, search, step",
            group="later", examples=(
                ("turbotui replay run.ttj", "step with , and . and search with @"),
                ("turbotui replay run.ttj --from +2s --paused", "from two seconds after its beginning"),
            )),
    ),
)
