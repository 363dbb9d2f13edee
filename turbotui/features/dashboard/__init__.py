"""The dashboard: opens what the command line names and runs the application on it."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "dashboard",
    commands=(
        Command("", "turbotui.features.dashboard.verb", "the interactive dashboard", behind="command"),
    ),
)
