"""Keys of overview."""

from __future__ import annotations

from typing import Final

from turbotui.feature import Action

KEYS: Final = (
    Action("overview_up", "move(-1)", ("up", "k"), "↑ k", "Go to the number above.", "", ("overview",),
           after="page_down"),
    Action("overview_down", "move(1)", ("down", "j"), "↓ j", "Go to the number below.", "", ("overview",)),
    Action("overview_left", "sideways(-1)", ("left", "h"), "← h", "Go to the number to the left.", "", ("overview",)),
    Action("overview_right", "sideways(1)", ("right", "l"), "→ l", "Go to the number to the right.", "", ("overview",)),
    Action("overview_first", "end(-1)", ("home",), "Home", "Go to the first number.", "", ("overview",)),
    Action("overview_last", "end(1)", ("end", "G"), "End G", "Go to the last number.", "", ("overview",)),
)
