"""`FEATURES`, the one list of features. Their verbs, keys and screens are imported when they are used.

It stands below all that asks for parts of features, and knows them by name: no import leads from here to a feature.
"""

from __future__ import annotations

import importlib
from typing import Final

from turbotui.feature import Command, Feature

_NAMES: Final = (
    "dashboard", "cpus", "overview", "stat", "why", "record", "doctor", "info", "power", "uncore", "roofline",
    "topdown", "tasks", "groups", "spies", "score", "machines", "diff", "export", "fleet", "columns", "events",
    "replay", "gather", "collect", "serve",
)
"""Folders of `turbotui.features` in the order of their verbs in --help, and of their places in the help."""


def _own_features() -> tuple[Feature, ...]:
    return tuple(importlib.import_module(f"turbotui.features.{name}").FEATURE for name in _NAMES)


FEATURES: Final[tuple[Feature, ...]] = _own_features()
"""Every feature."""

COMMANDS: Final[tuple[Command, ...]] = tuple(command for feature in FEATURES for command in feature.commands)
"""Every verb."""
