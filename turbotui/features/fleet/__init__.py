"""A fleet of nodes, read from Prometheus: which are slow, hot, throttled or unlike the others, oddest first."""

from turbotui.feature import ARROWS, PAST, ROWS, Command, Feature, KeyPlace

FEATURE = Feature(
    "fleet",
    commands=(
        Command(
            "fleet",
            "turbotui.features.fleet.verb",
            "which of many nodes are slow, hot or unlike the others, from Prometheus (or VictoriaMetrics, Mimir, "
            "Thanos)",
            group="many", examples=(
                ("turbotui fleet --prometheus http://localhost:9090",
                 "every node that exports metrics, the odd ones marked"),
                ("turbotui fleet check --prometheus http://localhost:9090", "the same once, with an exit status"),
            )),
    ),
    places=(KeyPlace("fleet", "Fleet", (*ROWS, *ARROWS, *PAST, "folded")),),
    keys="turbotui.features.fleet.keys:KEYS",
)
