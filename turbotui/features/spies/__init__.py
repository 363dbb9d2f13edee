"""Spies: event sets on each CPU, changed while they are counted (SpyMon)."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "spies",
    commands=(
        Command(
            "spy",
            "turbotui.features.spies.verb",
            "event sets of each CPU's own, changed while they are counted, and joined",
            group="now", examples=(
                ("turbotui spy --machine sapphire-2s -n 2", "cycles and instructions of each CPU of a server"),
                ("turbotui spy --machine sapphire-2s --events 'cycles,branches;cache-misses' -n 2",
                 "two sets of events, one after the other on each CPU"),
            )),
    ),
    keys="turbotui.features.spies.keys:KEYS",
)
