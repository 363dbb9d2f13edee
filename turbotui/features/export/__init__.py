"""Recordings as long tables for other programs: comma-separated values, JSON, Parquet."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "export",
    commands=(
        Command("export", "turbotui.features.export.verb", "a recording as a long table: csv, json, Parquet"),
    ),
)
