"""The screens of all features in the order of their keys, from which modes, tabs, help and palette are made."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Final

from turbotui.app.base import WatchScreen
from turbotui.app.failed_screen import FailedScreen
from turbotui.app.watch import Watch
from turbotui.errors import UsageError, nearest_or_all
from turbotui.feature import ScreenSpec
from turbotui.feature_list import FEATURES
from turbotui.installed_features import failure_of

SCREENS: Final[tuple[ScreenSpec, ...]] = tuple(sorted((screen for feature in FEATURES for screen in feature.screens),
                                                      key=lambda screen: screen.order))
"""Every screen."""


def screen_named(name: str, screens: Sequence[ScreenSpec] = SCREENS) -> str:
    """The mode of a screen given by mode, key or word; "" is the table of CPUs.

    Raises:
        UsageError: there is no such screen.
    """
    wanted = name.lower() or "cpus"
    for spec in screens:
        if name == spec.number or wanted in {spec.id, spec.word.lower()}:
            return spec.id
    raise UsageError(f'no screen is called "{name}"{nearest_or_all(name, (spec.id for spec in screens))}')


def build_screen(spec: ScreenSpec, watch: Watch) -> WatchScreen:
    """Make a screen; its module is imported when the screen is first shown."""
    try:
        kind = getattr(importlib.import_module(spec.module), spec.name)
        made: WatchScreen = kind(watch, spec) if spec.rows else kind(watch)
    except Exception as error:  # noqa: BLE001 - raised again where it is turbotui's own
        return FailedScreen(watch, spec.number, spec.word, failure_of(error, spec.rows or spec.module), for_good=True)
    return made
