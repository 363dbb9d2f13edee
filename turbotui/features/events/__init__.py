"""The feature of perf events: their encodings, the events that a machine can count, and sets of events."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "events",
    commands=(
        Command("events", "turbotui.features.events.verb", "encodings of event strings, and what this machine can "
                "count", group="know", examples=(
                    ("turbotui events list", "what can be counted here"),
                    ("turbotui events sets", "sets of columns for --add set:NAME"),
                    ("turbotui events encode cycles:u", "how an event is opened"))),
    ),
)
