"""Compares two recordings, or two spans, and finds differences that chance does not explain."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "diff",
    commands=(
        Command("diff", "turbotui.features.diff.verb", "what differs between two recordings by more than chance",
                group="later", examples=(
                    ("turbotui diff run.ttj after.ttj", "what differs by more than chance"),
                    ("turbotui diff --by cpu run.ttj after.ttj", "CPU by CPU; run.ttj@14:03..14:08 is a span"),
                    )),
    ),
    keys="turbotui.features.diff.keys:KEYS",
)
