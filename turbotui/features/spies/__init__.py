"""Spies: event sets on each CPU, changed while they are counted (SpyMon)."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "spies",
    commands=(
        Command(
            "spy",
            "turbotui.features.spies.verb",
            "event sets of each CPU's own, changed while they are counted, and joined",
        ),
    ),
    keys="turbotui.features.spies.keys:KEYS",
)
