"""Keys of fleet."""

from __future__ import annotations

from typing import Final

from turbotui.feature import Action

KEYS: Final = (
    Action("fleet_rows", "rows", ("t", "f5"), "t F5",
           "Show nodes as a list, or grouped by model or by a label.", "by label", ("fleet",), rank=1, after="acts"),
)
