"""The verb that writes recordings; `turbotui.recording` reads them."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "record",
    commands=(
        Command("record", "turbotui.features.record.verb", "write raw readings to a file, to look at them later",
                behind="command", group="later", examples=(
                    ("turbotui record -n 5 run.ttj", "five seconds; turbotui replay run.ttj shows them"),
                    ("turbotui record run.ttj -- sleep 1", "while a command runs"),
                    ("turbotui record --keep 7d run.ttj", "for ever, and never more than a week of it"))),
    ),
)
