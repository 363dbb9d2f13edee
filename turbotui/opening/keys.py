"""Keys typed before there are screens: a few act at once, the others are kept."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_KEY: Final = re.compile(r"[^\x1b]|\x1b(\[([0-9:;]*[^<=>?]|\[.)|O.*)?", re.DOTALL)
"""A character, Escape, or a sequence without private parameters or intermediates (ECMA-48, 5.4): no answer is one."""
LEAVE: Final = frozenset(("q", "\x1b[21~"))
"""`q` and F10."""
INTERRUPT: Final = "\x03"
SUSPEND: Final = "\x1a"
HELP: Final = frozenset(("?", "\x1bOP", "\x1b[11~"))
"""`?` and F1."""
CLOSE: Final = frozenset(("\x1b", "q", *HELP))
"""Keys that close the help."""
ON: Final = frozenset(("j", " ", "\x1b[B", "\x1bOB", "\x1b[6~", "\x06"))
"""Keys that scroll the help on: arrow, space, page down."""
BACK: Final = frozenset(("k", "\x1b[A", "\x1bOA", "\x1b[5~", "\x02"))
"""Keys that scroll the help back."""
_HARMLESS: Final = frozenset("0123456789\t hjkl")


def is_key(unit: str) -> bool:
    """Whether a unit of the input (`InputSequences`) may be a key, which the driver knows for certain."""
    return _KEY.fullmatch(unit) is not None


def may_be_text(kept: Iterable[str]) -> bool:
    """Tell whether one of the kept keys may have opened a field, to which the next key belongs.

    Args:
        kept: keys that wait for their screen; keys that only choose a screen or move a cursor ask for no text.
    """
    return any(key[0] != "\x1b" and key not in _HARMLESS for key in kept)
