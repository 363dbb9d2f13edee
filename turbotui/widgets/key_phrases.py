"""Words of a line that name a key and what it does, as "e: why" or "Esc ends it". Nothing here knows Textual."""

from __future__ import annotations

import re
from typing import Final

_KEY: Final = r"(?:Esc|Enter|Tab|Backspace|[Ss]pace|[Cc]trl\+\w|Shift\+[←→]|[^\s\w(·:]|\w)"
VERBS: Final = ("explains", "shows", "opens", "says", "ends", "tests", "returns", "starts", "adds", "lists", "changes",
                "compares", "folds", "unfolds", "goes", "stops", "leaves", "closes", "drops", "keeps", "finds", "saves",
                "remembers", "begins", "measures", "replaces", "makes", "replays", "copies")
"""What keys do, in sentences such as "! lists them"."""
_PHRASE: Final = re.compile(
    rf"(?:^|(?<=[\s(·,]))(?P<first>{_KEY})(?:: | (?:{'|'.join(VERBS)})\b)[^·(),;]*"
    r"|\bnow: (?P<last>Esc)\b")


def key_at(line: str, at: int) -> str:
    """The key, as people write it, whose phrase has the character at a position of a line; "" for none."""
    phrase = next((phrase for phrase in _PHRASE.finditer(line) if phrase.start() <= at < phrase.end()), None)
    return "" if phrase is None else phrase["first"] or phrase["last"]


NAMED_KEYS: Final = {"Esc": "escape", "Enter": "enter", "Tab": "tab", "Space": "space", "Delete": "delete",
                     "PgUp": "pageup", "PgDn": "pagedown", "↑": "up", "↓": "down", "←": "left", "→": "right"}
"""Keys by the names that people read, with those that bindings have."""


def key_of_hint(hint: str, at: int) -> str:
    """The key at a position of the hint on a window's frame, as in "Enter choose · Esc close"; "" for none.

    A key is meant by itself, and by the words behind it up to the next key or `·`.
    """
    key = ""
    dot = hint.rfind(" · ", 0, at + 1)
    begin = 0 if dot < 0 else dot + len(" · ")
    for word in re.finditer(r"[^\s·]+", hint[begin:]):
        if word.start() + begin > at:
            break
        if word[0] in NAMED_KEYS or len(word[0]) == 1:
            key = word[0]
    return key
