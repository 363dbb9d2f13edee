"""Keys of spies."""

from __future__ import annotations

from typing import Final

from turbotui.feature import Action

KEYS: Final = (
    Action("spies", "row_window('turbotui.features.spies.window:spy_form')", ("S",), "S",
           "Choose event sets for single CPUs, which may change while they are counted.", "", ("cpus",), after="add"),
)
