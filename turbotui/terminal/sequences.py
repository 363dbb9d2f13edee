"""The one grammar of a terminal's input: keys, control sequences, control strings and pastes, in pieces of any size.

A terminal sends more than keys: answers to questions that an earlier program asked, reports and pastes. Their forms are
those of ECMA-48 (5th edition, 5.3 to 5.6), and each is read to its end, whatever it means: what follows an introducer
never becomes a key because nobody knows the sequence.
"""

from __future__ import annotations

import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping
from typing import Final

ESCAPE: Final = "\x1b"
PASTE_START: Final = "\x1b[200~"
PASTE_END: Final = "\x1b[201~"
"""XTerm Control Sequences, "Bracketed Paste Mode"."""
_LONE_ESCAPE: Final = 0.3  # seconds: a sequence that a network splits after its first byte goes on within them
_BEGUN: Final = 1.0  # seconds without a byte until a sequence that has begun is given up
_PASTE: Final = 3.0  # the same of a paste, whose rest would be a text of keys
_LONGEST: Final = 30.0  # seconds that one sequence may take, so that one without an end does not keep all keys
_MOST_KEPT: Final = 256  # characters of a sequence; a longer one is read to its end and means nothing
_MOST_PASTED: Final = 1 << 14  # characters of a paste, which goes into a line; the others are left out
_INTRODUCERS: Final = frozenset("[OPX]^_/")
"""What follows Escape (ECMA-48, 5.3): CSI, SS3, the strings DCS, SOS, OSC, PM and APC; and the answer of a VT52."""
_BEL, _CAN, _DEL = "\x07", "\x18", "\x7f"
_BREAKS: Final = frozenset("\x03\x1a")  # Ctrl+C and Ctrl+Z are obeyed in the middle of a string without an end
_STRING_ENDS: Final = frozenset((_BEL, _CAN, "\x9c", "\udc9c"))
_IDENTITY: Final = "Z"  # behind Escape and a slash: "I am a VT52" (XTerm Control Sequences, "VT52 Mode")
_SHIFTED: Final = frozenset(f"\x1b[{number}$" for number in (3, 7, 8, 23, 24))
"""rxvt's keys with Shift (rxvt(7), "Key Codes") end in a byte that ECMA-48 has within sequences."""
_CONSOLE: Final = "\x1b[["  # one letter follows: F1 to F5 of the Linux console (console_codes(4))
_MOUSE: Final = "\x1b[M"  # three bytes follow (XTerm Control Sequences, "Mouse Tracking")


def escape_wait(environment: Mapping[str, str]) -> float:
    """Seconds until an Escape that nothing follows is a key: ESCDELAY in ms, as in ncurses(3X), or a default."""
    text = environment.get("ESCDELAY", "")
    return int(text) / 1e3 if text.isascii() and text.isdecimal() and len(text) < 6 else _LONE_ESCAPE


class InputSequences:
    """Splits what a terminal sends into units: a character, a whole sequence, or a whole paste between its brackets.

    Sequences of 8-bit controls are given in their 7-bit form. Control strings, bytes that are no UTF-8, and what is cut
    off are left out. The state is a bounded number of characters, and each is looked at once.

    Args:
        lone_escape: seconds until an Escape that nothing follows is a key.
    """

    def __init__(self, lone_escape: float = _LONE_ESCAPE, clock: Callable[[], float] = time.monotonic) -> None:
        self._lone_escape = lone_escape
        self._clock = clock
        self._decode = getincrementaldecoder("utf-8")("surrogateescape").decode
        self._units: list[str] = []
        self._next: Callable[[str], None] = self._ground
        self._sequence = ""
        self._bare = False  # Escape and an introducer alone, which somebody may have typed
        self._left = 0  # bytes of a mouse report
        self._pasted: list[str] = []
        self._paste_length = 0
        self._began = self._last = 0.0

    def feed(self, data: bytes) -> list[str]:
        """The units that these bytes complete."""
        self._last = self._clock()
        if self._next not in (self._ground, self._paste) and self._last - self._began > _LONGEST:
            self._end()
        for character in self._decode(data):
            self._next(character)
        return self._taken()

    def expire(self) -> list[str]:
        """The units that are complete because nothing followed within `wait`."""
        if self._next == self._paste:
            self._end_paste(self._paste_length)
        elif self._next == self._escape or self._bare:
            self._units += self._sequence
        self._end()
        return self._taken()

    @property
    def wait(self) -> float | None:
        """Seconds until `expire` is due if nothing comes; None if nothing has begun."""
        if self._next == self._ground:
            return None
        patience = (self._lone_escape if self._next in (self._escape, self._identity) else
                    _PASTE if self._next == self._paste else _BEGUN)
        return max(0.0, self._last + patience - self._clock())

    def _taken(self) -> list[str]:
        units, self._units = self._units, []
        return units

    # One character of each state

    def _ground(self, character: str) -> None:
        code = ord(character)
        byte = code - 0xDC00 if 0xDC80 <= code <= 0xDCFF else code  # a byte that is no UTF-8
        if character == ESCAPE:
            self._began = self._last
            self._sequence, self._next = ESCAPE, self._escape
        elif 0x80 <= byte < 0xA0:  # C1 stands for Escape and a byte of 0x40 to 0x5f (ECMA-48, 5.3)
            if (introducer := chr(byte - 0x40)) in _INTRODUCERS:
                self._began = self._last
                self._introduce(introducer)
                self._bare = False
        elif byte == code:
            self._units.append(character)

    def _escape(self, character: str) -> None:
        if character in _INTRODUCERS:
            self._introduce(character)
        elif character == "\\":  # ST, the end of a string that was given up
            self._end()
        else:
            self._units.append(ESCAPE)
            self._next = self._ground
            self._ground(character)

    def _introduce(self, introducer: str) -> None:
        self._sequence, self._bare = ESCAPE + introducer, True
        self._next = (self._control if introducer == "[" else
                      self._single_shift if introducer == "O" else
                      self._identity if introducer == "/" else self._string)

    def _identity(self, character: str) -> None:
        """The answer of a VT52; before anything else, Escape and the slash are two keys."""
        if character == _IDENTITY:
            self._end()
        else:
            self._units += self._sequence
            self._end()
            self._ground(character)

    def _control(self, character: str) -> None:
        """CSI, parameters from 0x30, intermediates from 0x20, and a final byte from 0x40 (ECMA-48, 5.4)."""
        if not self._continues(character):
            return
        if self._sequence == _MOUSE:
            self._left, self._next = 3, self._mouse
        elif self._sequence == PASTE_START:
            self._pasted, self._paste_length, self._next = [], 0, self._paste
        elif (character >= "@" or self._sequence in _SHIFTED) and self._sequence != _CONSOLE:
            self._complete()

    def _single_shift(self, character: str) -> None:
        """SS3, modifiers of some terminals (XTerm Control Sequences, "PC-Style Function Keys"), and one character."""
        if self._continues(character) and character not in "0123456789;":
            self._complete()

    def _continues(self, character: str) -> bool:
        """Add a character to the sequence; one that no sequence may hold ends it and has its own meaning."""
        self._bare = False
        if " " <= character < _DEL:
            if len(self._sequence) < _MOST_KEPT:
                self._sequence += character
            return True
        self._end()
        if character != _CAN:
            self._ground(character)
        return False

    def _string(self, character: str) -> None:
        self._bare = False
        if character == ESCAPE:
            self._next = self._string_escape
        elif character in _STRING_ENDS:
            self._end()
        elif character in _BREAKS:
            self._end()
            self._ground(character)

    def _string_escape(self, character: str) -> None:
        """Escape within a string: with a backslash its end (ST), otherwise the beginning of something else."""
        self._end()
        if character != "\\":
            self._ground(ESCAPE)
            self._next(character)

    def _mouse(self, character: str) -> None:
        if character < " ":
            self._end()
            self._ground(character)
            return
        self._left -= len(character.encode(errors="surrogateescape"))
        if self._left <= 0:
            self._end()

    def _paste(self, character: str) -> None:
        self._paste_length += 1
        if self._paste_length <= _MOST_PASTED:
            self._pasted.append(character)
        self._sequence = self._sequence[1 - len(PASTE_END):] + character
        if self._sequence == PASTE_END:
            self._end_paste(self._paste_length - len(PASTE_END))

    def _end_paste(self, length: int) -> None:
        text = "".join(self._pasted[:length]).encode(errors="surrogateescape").decode(errors="replace")
        self._units.append(PASTE_START + text + PASTE_END)
        self._pasted = []
        self._end()

    def _complete(self) -> None:
        if len(self._sequence) < _MOST_KEPT:
            self._units.append(self._sequence)
        self._end()

    def _end(self) -> None:
        self._sequence, self._bare, self._next = "", False, self._ground
