"""Exports to other programs: recordings as long tables, and a machine's counters as metrics for Prometheus."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "export",
    commands=(
        Command("export", "turbotui.features.export.verb", "a recording as a table; metrics for Prometheus",
                group="later", examples=(
                    ("turbotui export --from run.ttj", "a recording as CSV"),
                    ("turbotui export --listen 127.0.0.1:9177",
                     "metrics for Prometheus; --print dashboard writes one for Grafana"),
                    ("turbotui export --print dashboard", "a dashboard for Grafana"))),
    ),
)
