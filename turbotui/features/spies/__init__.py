"""Spies: event sets on each CPU, changed while they are counted (SpyMon)."""

from typing import Final

from turbotui.feature import Command, Feature, key

KEYS: Final = (
    key("spies", "S", "Choose event sets for single CPUs, which may change while they are counted.", "", ("cpus",),
        call="row_window('turbotui.features.spies.window:spy_form')", after="add"),
)
FEATURE = Feature(
    "spies",
    commands=(
        Command("spy", "turbotui.features.spies.verb", "event sets of each CPU's own, changed while they are counted, "
                "and joined", group="now", examples=(
                    ("turbotui spy --machine sapphire-2s -n 2", "cycles and instructions of each CPU of a server"),
                    ("turbotui spy --machine sapphire-2s --events 'cycles,branches;cache-misses' -n 2",
                     "two sets of events, one after the other on each CPU"))),
    ),
    keys="turbotui.features.spies:KEYS",
)
