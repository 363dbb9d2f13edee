"""Keys of groups."""

from __future__ import annotations

from typing import Final

from turbotui.feature import key

KEYS: Final = (
    key("group_rows", "t F5", "Show control groups as a tree, as a list, or the groups of resctrl.", "rows",
        call="rows", rank=1, after="acts"),
)
