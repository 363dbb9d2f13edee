"""Keys typed before there are screens: a few act at once, the others are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_KEY: Final = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1bO.|[\xc0-\xff][\x80-\xbf]*|.", re.DOTALL)
"""A control sequence or one of SS3 (ECMA-48, 5.4; xterm's function keys), a character of UTF-8, or a byte.

Escape and a letter are two keys, as for the driver (`KeyParser`): no key has Alt.
"""

LEAVE: Final = frozenset((b"q", b"\x1b[21~"))
"""`q` and F10."""
INTERRUPT: Final = b"\x03"
SUSPEND: Final = b"\x1a"
HELP: Final = frozenset((b"?", b"\x1bOP", b"\x1b[11~"))
"""`?` and F1."""
CLOSE: Final = frozenset((b"\x1b", b"q", *HELP))
"""Keys that close the help."""
ON: Final = frozenset((b"j", b" ", b"\x1b[B", b"\x1bOB", b"\x1b[6~", b"\x06"))
"""Keys that scroll the help on: arrow, space, page down."""
BACK: Final = frozenset((b"k", b"\x1b[A", b"\x1bOA", b"\x1b[5~", b"\x02"))
"""Keys that scroll the help back."""
_HARMLESS: Final = frozenset(b"0123456789\t hjkl")


def keys(data: bytes) -> Iterator[bytes]:
    """Split typed text into keys, in order and without loss."""
    for found in _KEY.finditer(data):
        yield found[0]


def may_be_text(kept: bytes) -> bool:
    """Tell whether one of the kept keys may have opened a field, to which the next key belongs.

    Args:
        kept: keys that wait for their screen; keys that only choose a screen or move a cursor ask for no text.
    """
    return any(key[:1] != b"\x1b" and (len(key) > 1 or key[0] not in _HARMLESS) for key in keys(kept))
