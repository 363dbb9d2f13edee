"""Overview: the screen that the dashboard starts with. What is wrong, since when, on which CPUs, and who."""

from turbotui.feature import Feature, ScreenSpec

FEATURE = Feature(
    "overview",
    screens=(ScreenSpec("overview", "0", "overview", "turbotui.features.overview.screen", "OverviewScreen"),),
)
