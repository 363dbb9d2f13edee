"""Keys of groups."""

from __future__ import annotations

from typing import Final

from turbotui.feature import Action

KEYS: Final = (
    Action("group_rows", "rows", ("t", "f5"), "t F5",
           "Show control groups as a tree, as a list, or the groups of resctrl.", "rows", ("groups",), rank=1,
           after="acts"),
)
