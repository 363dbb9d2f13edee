"""The verb that writes recordings; `turbotui.recording` reads them."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "record",
    commands=(
        Command("record", "turbotui.features.record.verb",
                "write raw readings to a file, to look at them later", behind="command"),
    ),
)
