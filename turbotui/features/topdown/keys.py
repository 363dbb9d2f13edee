"""Keys of topdown."""

from __future__ import annotations

from typing import Final

from turbotui.feature import Action

KEYS: Final = (
    Action("topdown_rows", "rows", ("t", "f5"), "t F5",
           "Show a row for each core, CPU, package, core type, busy thread, or marked region.", "rows",
           ("topdown",), rank=1, after="acts"),
)
