"""Settings in the dashboard: keys and first screen at the start, and the values that Ctrl+S writes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from turbotui.app.actions import ACTIONS
from turbotui.app.screen_table import screen_named
from turbotui.app.sessions import PresentedSession, WatchedSession
from turbotui.app.settings import PersonalSettings, kind_of_machine, read_settings, remember
from turbotui.errors import TurbotuiError, UsageError, nearest_or_all
from turbotui.machine.host import HostKind
from turbotui.widgets.arrangement import USUAL

if TYPE_CHECKING:
    from turbotui.app.watch import Watch
    from turbotui.feature import Action, ScreenSpec

_USUAL_SCREEN = "overview"


def own_actions(settings: PersonalSettings) -> tuple[tuple[Action, ...], Mapping[str, str], tuple[str, ...]]:
    """The keys in force with a user's settings.

    Returns:
        The actions with their keys; keys by the action's id, as for Textual's keymap; what cannot be used.
    """
    if not settings.keys and not settings.preset:
        return ACTIONS, {}, ()
    from turbotui.app.user_keys import PRESETS, with_keys  # noqa: PLC0415 - most people have no keys of their own

    problems = []
    if settings.preset and settings.preset not in PRESETS:
        why = f'no preset is called "{settings.preset}"{nearest_or_all(settings.preset, PRESETS)}'
        problems.append(settings.problem("preset", why))
    actions, unusable = with_keys({**PRESETS.get(settings.preset, {}), **settings.keys})
    problems += [settings.problem(name, why) for name, why in unusable.items()]
    keymap = {action.id: ",".join(action.keys) for action, usual in zip(actions, ACTIONS, strict=True)
              if action.keys != usual.keys}
    return actions, keymap, tuple(problems)


def presented(settings: PersonalSettings, session: WatchedSession) -> tuple[str, ...]:
    """Apply the settings' units and marks to a session's columns; returns what cannot be used."""
    from turbotui.quantities.presentation import Presentation  # noqa: PLC0415 - most people have none of their own

    names = {column.id.lower(): column.id for column in session.catalog.columns}
    limits = {names[name.lower()]: limits for name, limits in settings.thresholds.items() if name.lower() in names}
    wanted = Presentation(settings.units.get("temperature", "C"), limits)
    if not wanted.is_usual and isinstance(session, PresentedSession):
        session.present(wanted.of)
    unknown = [name for name in settings.thresholds if name.lower() not in names]
    return tuple(settings.problem(name, f"no column of CPUs is called {name}", ("thresholds",)) for name in unknown)


def first_screen(settings: PersonalSettings) -> tuple[str, str]:
    """The mode of the settings' first screen, and a mistake in it; each "" if there is none."""
    if not settings.screen:
        return "", ""
    try:
        return screen_named(settings.screen), ""
    except UsageError as error:
        return _USUAL_SCREEN, settings.problem("screen", str(error))


def remember_view(watch: Watch, theme: str, screen: ScreenSpec) -> str:
    """Write the view into the settings; returns a sentence about the result.

    On a machine that is not real only columns are written, for its kind, so that no real machine looks different.
    """
    columns = tuple(column.id for column in watch.columns)
    kind = kind_of_machine(watch.session.machine)
    if frozenset(columns) == watch.usual:
        columns = ()  # the usual ones, whatever another machine of this kind has of them
    own = watch.player is None and watch.session.collector is None  # else a recording's or collector's
    interval = {"interval": float(watch.interval)} if own else {}
    changed = {name: watch.arrangements.get(name, USUAL) for name in (*watch.arrangements, *watch.remembered)}
    is_real = watch.session.machine.host.kind is HostKind.REAL
    try:
        if is_real:
            path = remember(os.environ, changed, {kind: columns}, None, theme=theme, screen=screen.word, **interval)
        else:
            path = remember(os.environ, {}, {kind: columns}, {kind: changed})
    except TurbotuiError as error:
        return str(error)
    watch.remembered = frozenset(changed)
    if is_real:
        return f"Remembered theme, interval, screen and, for {kind} machines, columns in {path}"
    return f"Remembered columns for {kind} machines, not for real ones: {path}"


def forget_view(watch: Watch) -> str:
    """Remove what `remember_view` writes from the settings, for every kind of machine; returns a sentence."""
    settings = read_settings(os.environ)
    tables = dict.fromkeys((*settings.tables, *watch.remembered), USUAL)
    try:
        own = {kind: dict.fromkeys(arrangements, USUAL) for kind, arrangements in settings.machine_tables.items()}
        path = remember(os.environ, tables, dict.fromkeys(settings.machines), own, theme=None, interval=None,
                        screen=None, columns=None)
    except TurbotuiError as error:
        return str(error)
    watch.remembered = frozenset()
    return f"The default theme, interval, screen and columns from now on; keys, units and alerts stay in {path}"
