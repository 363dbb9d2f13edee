"""Plays recordings in the dashboard."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "replay",
    commands=(
        Command("replay", "turbotui.features.replay.verb", "a recording in the dashboard: play, search, step",
                group="later", examples=(
                    ("turbotui replay", "the last run of the dashboard, kept by itself"),
                    ("turbotui replay run.ttj", "step with , and . and search with @"),
                    ("turbotui replay run.ttj --from +2s --paused", "from two seconds after its beginning"))),
        Command("runs", "turbotui.features.replay.runs_verb", "the last runs of the dashboard, which replay shows "
                "again", group="later", examples=(
                    ("turbotui runs", "each with its number, when, how long, and the command beside it"),
                    ("turbotui runs --json", "the same for a script"))),
    ),
)
