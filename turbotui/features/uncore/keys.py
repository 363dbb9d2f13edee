"""Keys of uncore."""

from __future__ import annotations

from typing import Final

from turbotui.feature import key

KEYS: Final = (
    key("filters", "f", "Filter what the PMU counts: sources, destinations, devices, addresses.", "filters", rank=0,
        after="explain"),
    key("traffic", "t", "Show the map of traffic between packages, memory, links and devices, or the tables again.",
        "map", rank=1),
    key("uncore_left", "← h", "Go to the previous column; at the first column of a sum, fold or unfold its units.",
        call="sideways(-1)", after="right"),
    key("uncore_right", "→ l", "Go to the next column.", call="sideways(1)"),
    key("uncore_previous", "PgUp", "Go to the previous table.", call="page(-1)", after="page_down"),
    key("uncore_next", "PgDn", "Go to the next table.", call="page(1)"),
)
