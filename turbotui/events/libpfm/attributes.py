"""A limit on the attributes of an event string, because libpfm does not check the bounds of its own array.

The array of an event has 64 places (PFMLIB_MAX_ATTRS, lib/pfmlib_priv.h). libpfm 4.13 checks that before it takes a
modifier with a value, but neither for a unit mask nor for an event's default unit masks, and one
attribute can stand for up to 16 others (`equiv`). The 65th ends the process with SIGSEGV, or damages its memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

MOST: Final = 64
_DELIMITERS: Final = re.compile(r"[:.]")  # PFMLIB_ATTR_DELIM
_SURE: Final = 3  # always fit, whatever they stand for: 3 x 16, and as many defaults as any event has
_DEEPEST: Final = 8  # equivalents of equivalents


class AttributeLimit:
    """Computes an upper bound of the array places that a string takes.

    Args:
        equivalents: (name, what it stands for) of each event and attribute of the models that are in use, and under the
            name "" as many words as an event has default unit masks. It is asked once, when a string needs it.
    """

    def __init__(self, equivalents: Callable[[], Iterable[tuple[str, str]]]) -> None:
        self._equivalents = equivalents
        self._known: Mapping[str, int] | None = None

    def exceeded(self, string: str) -> bool:
        """Whether the string may come to more attributes than there are places."""
        names = [word.partition("=")[0].lower() for word in _DELIMITERS.split(string)[1:] if word]
        if len(names) <= _SURE:
            return False
        if len(names) > MOST:
            return True
        if self._known is None:
            self._known = _places(self._equivalents())
        known = self._known
        return sum(known.get(name, 1) for name in names) + known.get("", 0) > MOST


def _places(equivalents: Iterable[tuple[str, str]]) -> Mapping[str, int]:
    """Return the most array places that each name takes in any event."""
    parts: dict[str, set[tuple[str, ...]]] = {}
    for name, text in equivalents:
        words = tuple(word.partition("=")[0].lower() for word in _DELIMITERS.split(text) if word)
        parts.setdefault(name.lower(), set()).add(words)

    def places(name: str, depth: int) -> int:
        if depth > _DEEPEST:
            return MOST
        return max((sum(places(word, depth + 1) for word in words) for words in parts.get(name, ())), default=1)

    return {name: places(name, 0) for name in parts}
