"""Compares two recordings, or two spans, and finds differences that chance does not explain."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "diff",
    commands=(
        Command("diff", "turbotui.features.diff.verb", "what differs between two recordings by more than chance"),
    ),
)
