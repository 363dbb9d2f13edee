"""The dashboard: opens the machine or recording that the command line names, and runs the application."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "dashboard",
    commands=(
        Command("", "turbotui.features.dashboard.verb", "the interactive dashboard", behind="command"),
    ),
)
