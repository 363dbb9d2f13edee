"""The catalog of columns."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "columns",
    commands=(
        Command("columns", "turbotui.features.columns.verb", "every column: formula, source, and whether it is "
                "available here", group="know", examples=(
                    ("turbotui columns", "every column, and whether it is here"),
                    ("turbotui columns --json", "the same for a script"))),
    ),
)
