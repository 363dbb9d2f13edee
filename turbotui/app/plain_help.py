"""The opening's help: every key by its place, from the table of actions; nothing here imports Textual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from turbotui.app.actions import ACTIONS, PLACES
from turbotui.feature import EVERYWHERE
from turbotui.feature_list import FEATURES
from turbotui.opening.picture import DIM, PLAIN, STRONG, Line

_WORDS: Final[Mapping[str, str]] = {"\u2191": "Up", "\u2193": "Down", "\u2190": "Left", "\u2192": "Right",
                                    "\u232b": "Backspace"}
"""Keys whose sign is missing from some character sets."""


def plain_help() -> list[Line]:
    """Help on every key that works once there are screens: keys of all screens, then those of each."""
    lines: list[Line] = [((" The screens come as soon as it is known what this machine offers. Then:", DIM),), ()]
    screens = sorted((screen for feature in FEATURES for screen in feature.screens), key=lambda screen: screen.order)
    for where in PLACES:
        members = [action for action in ACTIONS if action.where[0] == where]
        if not members:
            continue
        lines.append(((f" {PLACES[where]}", STRONG),))
        lines += [_line(action.shown, action.help) for action in members]
        if where == EVERYWHERE:
            lines += [_line(screen.number, f"Screen: {screen.word}.") for screen in screens]
        lines.append(())
    return lines


def _line(shown: str, text: str) -> Line:
    key = "".join(_WORDS.get(letter, letter) for letter in shown)
    return (f"   {key:<14}", STRONG), (text if text.isascii() else "".join(_WORDS.get(char, char) for char in text),
                                       PLAIN)
