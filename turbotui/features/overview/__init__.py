"""Overview, the dashboard's first screen: what is wrong, since when, on which CPUs, and by which tasks."""

from typing import Final

from turbotui.feature import Feature, KeyPlace, ScreenSpec, key

KEYS: Final = (
    key("overview_up", "↑ k", "Go to the number above.", call="move(-1)", after="page_down"),
    key("overview_down", "↓ j", "Go to the number below.", call="move(1)"),
    key("overview_left", "← h", "Go to the number to the left.", call="sideways(-1)"),
    key("overview_right", "→ l", "Go to the number to the right.", call="sideways(1)"),
    key("overview_first", "Home", "Go to the first number.", call="end(-1)"),
    key("overview_last", "End G", "Go to the last number.", call="end(1)"),
)
FEATURE = Feature(
    "overview",
    screens=(ScreenSpec("overview", "0", "overview", "turbotui.features.overview.screen", "OverviewScreen"),),
    places=(KeyPlace("overview", "Overview", ("graphed", "compared")),),
    kept="turbotui.features.overview.charts:recorded_columns",
    keys="turbotui.features.overview:KEYS",
)
