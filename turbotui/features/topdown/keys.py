"""Keys of topdown."""

from __future__ import annotations

from typing import Final

from turbotui.feature import key

KEYS: Final = (
    key("topdown_rows", "t F5", "Show a row for each core, CPU, package, core type, busy thread, or marked region.",
        "rows", call="rows", rank=1, after="acts"),
)
