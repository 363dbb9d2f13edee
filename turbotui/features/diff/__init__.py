"""What differs between two recordings, or two spans of them, by more than chance."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "diff",
    commands=(
        Command("diff", "turbotui.features.diff.verb", "what differs between two recordings by more than chance"),
    ),
)
