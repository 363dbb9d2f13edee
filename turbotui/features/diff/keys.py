"""Keys of comparisons."""

from __future__ import annotations

from typing import Final

from turbotui.feature import key

KEYS: Final = (
    key("chance", "|",
        "While b compares: test which columns of the machine differ by more than chance, as turbotui diff does.", "",
        ("compared",), call="compared_window('turbotui.features.diff.window:chance_window')", after="mark"),
)
