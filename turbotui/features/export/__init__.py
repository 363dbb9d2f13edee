"""Exports to other programs: recordings as long tables, and a machine's counters as metrics for Prometheus."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "export",
    commands=(
        Command("export", "turbotui.features.export.verb", "a recording as a table; metrics for Prometheus"),
    ),
)
