"""Plays recordings in the dashboard."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "replay",
    commands=(
        Command("replay", "turbotui.features.replay.verb", "a recording in the dashboard: play, search, step"),
    ),
)
