"""Words of a line that name a key and what it does, as "e: why" or "Esc ends it". Nothing here knows Textual."""

from __future__ import annotations

import re
from typing import Final

_KEY: Final = r"(?:Esc|Enter|Tab|Backspace|Ctrl\+\w|[^\s\w(·:]|\w)"
_PHRASE: Final = re.compile(
    rf"(?:^|(?<=[\s(·,]))(?P<first>{_KEY})"
    r"(?:: | (?:explains|shows|opens|says|ends|tests|returns|starts|adds)\b)[^·(),;]*"
    r"|\bnow: (?P<last>Esc)\b")


def key_at(line: str, at: int) -> str:
    """The key, as people write it, whose phrase has the character at a position of a line; "" for none."""
    phrase = next((phrase for phrase in _PHRASE.finditer(line) if phrase.start() <= at < phrase.end()), None)
    return "" if phrase is None else phrase["first"] or phrase["last"]
