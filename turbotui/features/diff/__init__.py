"""Compares two recordings, or two spans, and finds differences that chance does not explain."""

from typing import Final

from turbotui.feature import Command, Feature, key

KEYS: Final = (
    key("chance", "|",
        "While b compares: test which columns of the machine differ by more than chance, as turbotui diff does.", "",
        ("compared",), call="compared_window('turbotui.features.diff.window:chance_window')", after="mark"),
)
FEATURE = Feature(
    "diff",
    commands=(
        Command("diff", "turbotui.features.diff.verb", "what differs between two recordings by more than chance",
                group="later", examples=(
                    ("turbotui diff run.ttj after.ttj", "what differs by more than chance"),
                    ("turbotui diff --by cpu run.ttj after.ttj", "CPU by CPU; run.ttj@14:03..14:08 is a span"))),
    ),
    keys="turbotui.features.diff:KEYS",
)
