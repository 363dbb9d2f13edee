"""Overview, the dashboard's first screen: what is wrong, since when, on which CPUs, and by which tasks."""

from turbotui.feature import Feature, KeyPlace, ScreenSpec

FEATURE = Feature(
    "overview",
    screens=(ScreenSpec("overview", "0", "overview", "turbotui.features.overview.screen", "OverviewScreen"),),
    places=(KeyPlace("overview", "Overview", ("graphed", "compared")),),
    kept="turbotui.features.overview.charts:recorded_columns",
    keys="turbotui.features.overview.keys:KEYS",
)
