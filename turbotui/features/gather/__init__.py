"""Gather: everything that turbotui reads of a machine, in a file that turbotui can run on elsewhere."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "gather",
    commands=(
        Command("gather", "turbotui.features.gather.verb", "write what turbotui reads of this machine to a file, "
                "scrubbed, to look at it elsewhere", group="later", examples=(
                    ("turbotui gather --list", "which files would be read, and nothing else"),
                    ("turbotui gather -y machine.tar.gz", "what this machine has, scrubbed, for --machine elsewhere"))),
    ),
)
