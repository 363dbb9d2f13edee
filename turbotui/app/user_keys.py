"""A user's own keys: presets, and the settings' keys for single actions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from textual.keys import KEY_NAME_REPLACEMENTS, Keys, key_to_character

from turbotui.app.actions import ACTIONS, meet
from turbotui.feature import Action

_KEY_WORDS: Final[Mapping[str, str]] = {
    "exclamation_mark": "!", "vertical_line": "|", "equals_sign": "=",
    "left_parenthesis": "(", "right_parenthesis": ")", "underscore": "_",
    "question_mark": "?", "slash": "/", "backslash": "\\", "comma": ",", "full_stop": ".", "plus": "+", "minus": "-",
    "at": "@", "asterisk": "*", "greater_than_sign": ">", "less_than_sign": "<",
    "left_curly_bracket": "{", "right_curly_bracket": "}", "left_square_bracket": "[", "right_square_bracket": "]",
    "pageup": "PgUp", "pagedown": "PgDn", "home": "Home", "end": "End", "enter": "Enter", "tab": "Tab",
    "up": "↑", "down": "↓", "left": "←", "right": "→", "backspace": "Backspace",
}
"""Names of keys for people that differ from Textual's."""

PRESETS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "vi": {
        "page_up": ("ctrl+u", "ctrl+b", "pageup"),
        "page_down": ("ctrl+d", "ctrl+f", "pagedown"),
        "map_back": ("ctrl+u", "ctrl+b", "pageup"),
        "map_on": ("ctrl+d", "ctrl+f", "pagedown"),
        "uncore_previous": ("ctrl+u", "ctrl+b", "pageup"),
        "uncore_next": ("ctrl+d", "ctrl+f", "pagedown"),
    },
    "htop": {
        "pause": ("Z", "p"),
        "tag": ("space", "v"),
        "tag_row": ("space", "x"),
        "untag": ("U", "V"),
        "sort_menu": ("f6", "full_stop", "o"),
        "past_on": ("right_curly_bracket",),
        "past_far_on": ("ctrl+right",),
        "past_far_back": ("ctrl+left",),
        "past_back": ("left_curly_bracket",),
    },
}
"""Presets for users of other programs; actions that are not named keep their keys."""


_MODIFIERS: Final = frozenset({"alt", "ctrl", "hyper", "meta", "shift", "super"})
_NAMED: Final = frozenset(key.value.rpartition("+")[2] for key in Keys) | frozenset(KEY_NAME_REPLACEMENTS.values())

_SHORT: Final = {"pgup": "pageup", "pgdn": "pagedown", "esc": "escape"}
"""Names on keyboards that differ from Textual's."""


def key_word(key: str) -> str:
    """Textual's name of a key as people write it."""
    if re.fullmatch("f[0-9]+", key):
        return key.upper()
    character = key_to_character(key) or ""
    return _KEY_WORDS.get(key) or (character if character.strip() and character.isprintable() else key)


def key_named(text: str) -> str:
    """Textual's name of a key as a user writes it, also as its character ("?"); "" if there is no such key."""
    if len(text) == 1:
        if text.isalnum() or not text.isprintable():
            return text if text.isalnum() else ""
        name = unicodedata.name(text).lower().replace("-", "_").replace(" ", "_")
        return KEY_NAME_REPLACEMENTS.get(name, name)
    *modifiers, base = text.lower().split("+")
    base = KEY_NAME_REPLACEMENTS.get(base, _SHORT.get(base, base))
    known = base in _NAMED or (len(base) == 1 and base.isalnum()) or _is_character(base)
    return "+".join((*modifiers, base)) if known and _MODIFIERS.issuperset(modifiers) else ""


def _is_character(name: str) -> bool:
    """Tell whether a name is Unicode's name of a character, such as "question_mark"."""
    words = name.upper().replace("_", " ")
    for word in (words, words.replace(" ", "-", 1)):
        try:
            return unicodedata.lookup(word).isprintable()
        except KeyError:
            continue
    return False


def with_keys(keys: Mapping[str, tuple[str, ...]]) -> tuple[tuple[Action, ...], dict[str, str]]:
    """The actions with the user's keys.

    Args:
        keys: by the action's id, in Textual's names of keys.

    Returns:
        `ACTIONS` with these keys, and for each unusable name the reason: there is no such action or no such key, or the
        key already does something else where the action works.
    """
    problems = {name: f'no action is called "{name}"; docs/settings.md names them all'
                for name in keys if all(action.id != name for action in ACTIONS)}
    nameless = {name: key for name, wanted in keys.items() for key in wanted if not key_named(key)}
    problems |= {name: f'no key is called "{key}": write x, X, f5, ctrl+d, shift+left, space or slash'
                 for name, key in nameless.items() if name not in problems}
    keys = {name: tuple(map(key_named, wanted)) for name, wanted in keys.items() if name not in nameless}
    actions: list[Action] = []
    for action in ACTIONS:
        wanted = keys.get(action.id, ())
        taken = [f'"{key}" is the key of {other.id}: give that another one too' for other in ACTIONS
                 for key in wanted if other.id != action.id and meet(action, other)
                 and key in keys.get(other.id, other.keys)]
        if taken:
            problems[action.id] = taken[0]
        if wanted and not taken:
            actions.append(replace(action, keys=wanted, shown=" ".join(map(key_word, wanted[:2]))))
        else:
            actions.append(action)
    return tuple(actions), problems
