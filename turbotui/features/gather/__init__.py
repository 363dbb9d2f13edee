"""Gather: all that turbotui reads of a machine, in a file on which it runs elsewhere."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "gather",
    commands=(
        Command(
            "gather",
            "turbotui.features.gather.verb",
            "write what turbotui reads of this machine to a file, scrubbed, for a look elsewhere",
        ),
    ),
)
