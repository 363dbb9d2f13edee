"""`turbotui stat`: turbostat's command line and output."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "stat",
    commands=(
        Command(
            "stat",
            "turbotui.features.stat.verb",
            "turbostat's drop-in replacement: the table as text, by intervals or for a command",
            reads_words=True,
        ),
    ),
)
