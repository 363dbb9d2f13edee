"""Keys of comparisons."""

from __future__ import annotations

from typing import Final

from turbotui.feature import Action

KEYS: Final = (
    Action("chance", "compared_window('turbotui.features.diff.window:chance_window')", ("vertical_line",), "|",
           "While b compares: test which columns of the machine differ by more than chance, as turbotui diff does.", "",
           ("compared",), after="mark"),
)
