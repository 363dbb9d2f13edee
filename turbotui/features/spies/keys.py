"""Keys of spies."""

from __future__ import annotations

from typing import Final

from turbotui.feature import key

KEYS: Final = (
    key("spies", "S", "Choose event sets for single CPUs, which may change while they are counted.", "", ("cpus",),
        call="row_window('turbotui.features.spies.window:spy_form')", after="add"),
)
