"""Keys in the bytes of a terminal: Escape and what is typed right after it are two of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from textual import events
from textual._xterm_parser import XTermParser

_ESCAPE: Final = "\x1b"
_GO_ON: Final = "[O"  # CSI and SS3 (ECMA-48, 5.3): after these a sequence goes on


class KeyParser(XTermParser):
    """Textual's parser, without Alt.

    A terminal that has no other way sends Alt and a letter as Escape and the letter, and Textual takes both for Alt, or
    for a letter of a Mac's keyboard: Esc that closes a window and a digit that shows the next screen were lost if they
    came within a tenth of a second. No key of the dashboard has Alt, so they are two keys here, as for htop and vim.
    """

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterator[events.Key]:
        last = sequence[-1:]
        if alt or (len(sequence) == 2 and sequence[0] == _ESCAPE and last.isprintable() and last not in _GO_ON):
            yield events.Key("escape", _ESCAPE)
            sequence = last
        yield from super()._sequence_to_key_events(sequence)
