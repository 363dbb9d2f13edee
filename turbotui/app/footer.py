"""The footer: as many keys as fit, by rank, and the screens at the right. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from turbotui.feature import EVERYWHERE, Action
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.segment_lines import ClickableSegment

ScreenTab: TypeAlias = tuple[str, str, str]
"""Mode, key and name of a screen."""


def footer(actions: Sequence[Action], screens: Sequence[ScreenTab], number: str, width: int, *,
           chooses: bool) -> tuple[list[list[TextSegment]], list[ClickableSegment]]:
    """The line of keys, and the places where a click acts.

    Args:
        actions: those of the screen that have a label, in the order in which they are shown.
        number: key of the screen that is shown, whose name is worth as much as the keys of rank 0.
        chooses: whether users choose a screen here first: names of other screens are worth more than keys of rank 2,
            and are left out one by one, from the right.
    """
    keys = [key for _, key, _ in screens]
    named: Sequence[AbstractSet[str]] = (
        [{*keys[:count], number} for count in range(len(keys), -1, -1)] if chooses
        else [{*keys}, {number, *(key for key in keys if key.isdigit())}])
    forms = [*((_tabs(screens, number, words), 1 if chooses else 2) for words in named),
             (_tabs(screens, number, {number}), 1), (_tabs(screens, number, {number}, dense=True), 0)]
    room = {worth: 1 + sum(_key_width(action) for action in actions if action.rank <= worth) for _form, worth in forms}
    tabs = next((form for form, worth in forms if width - _tabs_width(form) >= room[worth]),
                _tabs(screens, number, set()))
    right = _tabs_width(tabs)
    segments: list[TextSegment] = [(" ", StyleRole.PLAIN)]
    hot: list[ClickableSegment] = []
    at = 1
    for action in _fitting(actions, width - right):
        key = action.shown.partition(" ")[0]
        segments += [(key, StyleRole.KEY), (f" {action.label}  ", StyleRole.DIM)]
        size = _key_width(action)
        target = "app." if EVERYWHERE in action.where else ""
        hot.append(ClickableSegment(0, at, at + size - 1, f"{target}{action.call}"))
        at += size
    segments.append((" " * max(0, width - right - at), StyleRole.PLAIN))
    at = max(at, width - right)
    for segment, call in tabs:
        hot.append(ClickableSegment(0, at, at + len(segment[0]), call))
        segments.append(segment)
        at += len(segment[0])
    return [segments], hot


def _fitting(actions: Sequence[Action], room: int) -> list[Action]:
    """The actions of the lowest ranks that fit, the shortest of a rank first, in their own order."""
    kept: set[str] = set()
    used = 1
    for action in sorted(actions, key=lambda action: (action.rank, _key_width(action))):
        if used + _key_width(action) <= room:
            kept.add(action.id)
            used += _key_width(action)
    return [action for action in actions if action.id in kept]


def _key_width(action: Action) -> int:
    return len(action.shown.partition(" ")[0]) + len(action.label) + 3


def _tabs(screens: Sequence[ScreenTab], number: str, named: AbstractSet[str], *,
          dense: bool = False) -> list[tuple[TextSegment, str]]:
    """The screens, each with the action of a click on it.

    Args:
        named: keys of those that have a word.
        dense: without blanks between the keys that are no digits.
    """
    tabs: list[tuple[TextSegment, str]] = []
    closed = {key for _, key, _ in screens if not key.isdigit()} - named if dense else set[str]()
    before = ""
    for name, key, word in screens:
        role = StyleRole.SORTED if key == number else StyleRole.DIM
        text = f"{'' if {before, key} <= closed else ' '}{key}{f' {word}' if key in named else ''}"
        tabs.append(((text, role), f"app.show_screen('{name}')"))
        before = key
    return tabs


def _tabs_width(tabs: Sequence[tuple[TextSegment, str]]) -> int:
    return sum(len(segment[0]) for segment, _ in tabs) + 1
