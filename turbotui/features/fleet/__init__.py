"""A fleet of nodes, read from Prometheus: which are slow, hot, throttled or unlike the others, oddest first."""

from typing import Final

from turbotui.feature import ARROWS, PAST, ROWS, Command, Feature, KeyPlace, key

KEYS: Final = (
    key("fleet_rows", "t F5", "Show nodes as a list, or grouped by model or by a label.", "by label", call="rows",
        rank=1, after="acts"),
)
FEATURE = Feature(
    "fleet",
    commands=(
        Command("fleet", "turbotui.features.fleet.verb", "which of many nodes are slow, hot or unlike the others, "
                "from Prometheus (or VictoriaMetrics, Mimir, Thanos)", group="many", examples=(
                    ("turbotui fleet --prometheus http://localhost:9090",
                     "every node that exports metrics, the odd ones marked"),
                    ("turbotui fleet check --prometheus http://localhost:9090", "the same once, with an exit status"))),
    ),
    places=(KeyPlace("fleet", "Fleet", (*ROWS, *ARROWS, *PAST, "folded")),),
    keys="turbotui.features.fleet:KEYS",
)
