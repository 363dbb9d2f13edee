"""A fleet of nodes, read from Prometheus: which are slow, hot, throttled or unlike the others, oddest first."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "fleet",
    commands=(
        Command(
            "fleet",
            "turbotui.features.fleet.verb",
            "which of many nodes are slow, hot or unlike the others, from Prometheus (or VictoriaMetrics, Mimir, "
            "Thanos)",
        ),
    ),
)
