"""The screens of all features in the order of their keys: modes, tabs, help and palette are made from this table."""

from __future__ import annotations

import importlib
from typing import Final

from turbotui.app.actions import Where
from turbotui.app.base import WatchScreen
from turbotui.app.watch import Watch
from turbotui.errors import UsageError
from turbotui.feature import ScreenSpec
from turbotui.features import FEATURES

SCREENS: Final[tuple[ScreenSpec, ...]] = tuple(
    sorted((screen for feature in FEATURES for screen in feature.screens), key=lambda screen: screen.number)
)
"""Every screen there is."""


def where_keys_of(spec: ScreenSpec) -> Where:
    """The place of a screen in the table of actions, without importing the screen."""
    return Where[(spec.keys or spec.id).upper()]


def screen_named(name: str) -> str:
    """The mode of a screen that a person names: by mode, key or word; "" is the table of CPUs.

    Raises:
        UsageError: there is none of this name.
    """
    wanted = name.lower() or "cpus"
    for spec in SCREENS:
        if wanted in {spec.id, spec.number, spec.word.lower()}:
            return spec.id
    raise UsageError(f'no screen is called "{name}"; there are {", ".join(spec.id for spec in SCREENS)}')


def build_screen(spec: ScreenSpec, watch: Watch) -> WatchScreen:
    """A new screen; its module is imported when a screen of it is first shown."""
    made: WatchScreen = getattr(importlib.import_module(spec.module), spec.name)(watch)
    return made
