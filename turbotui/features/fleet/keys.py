"""Keys of fleet."""

from __future__ import annotations

from typing import Final

from turbotui.feature import key

KEYS: Final = (
    key("fleet_rows", "t F5", "Show nodes as a list, or grouped by model or by a label.", "by label", call="rows",
        rank=1, after="acts"),
)
