"""`turbotui stat`: turbostat's command line and output."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "stat",
    commands=(
        Command("stat", "turbotui.features.stat.verb", "turbostat's drop-in replacement: the table as text, by "
                "intervals or for a command", reads_words=True, group="now", examples=(
                    ("turbotui stat -n 3", "three intervals of 5 s, as turbostat prints them"),
                    ("turbotui stat -i 1 -n 3 --show CPU,Load%", "a line a second with these columns only"),
                    ("turbotui stat -- sleep 1", "what the CPUs did while a command ran"))),
    ),
)
