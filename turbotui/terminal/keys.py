"""What the units of a terminal's input are for Textual: keys, the mouse, the focus, pastes, sizes and modes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from textual import constants, events, messages
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._keyboard_protocol import FUNCTIONAL_KEYS
from textual._xterm_parser import IS_ITERM, XTermParser
from textual.message import Message

from turbotui.terminal.sequences import ESCAPE, PASTE_END, PASTE_START, InputSequences

_FOCUS: Final[dict[str, type[Message]]] = {"\x1b[I": events.AppFocus, "\x1b[O": events.AppBlur}
_KEY: Final = re.compile(r"\x1b\[(\d{1,7})(?::\d{0,7}){0,2}(?:;(\d{0,3})(?::([123]))?(?:;(\d{1,7}(?::\d{1,7}){0,7}))?)?"
                         r"([u~A-FHPQS])")
"""A key of the kitty protocol (https://sw.kovidgoyal.net/kitty/keyboard-protocol/): its number, modifiers, kind of
event and text. With R in the end it would be the answer about the cursor's position."""
_RELEASED: Final = "3"
_OTHER_KEYS: Final = "27~"  # CSI 27 ; modifiers ; character ~ (XTerm Control Sequences, modifyOtherKeys)
_MOUSE: Final = re.compile(r"\x1b\[<\d{1,5};-?\d{1,6};-?\d{1,6}[Mm]")
_SIZE: Final = re.compile(r"\x1b\[48;(\d{1,6})(?::\d*)*;(\d{1,6})(?::\d*)*;(\d{1,6})(?::\d*)*;(\d{1,6})(?::\d*)*t")
_MODE: Final = re.compile(r"\x1b\[\?(2026|2048);(\d)\$y")
_POSITION: Final = re.compile(r"\x1b\[\d+;\d+R")
_MOST_MODIFIERS: Final = 256  # all eight, and one
_ASCII: Final = 0x80


class InputMessages:
    """Messages of a terminal's input; what is in no table of keys and in no other form means nothing."""

    def __init__(self, sequences: InputSequences) -> None:
        self.sequences = sequences
        self._xterm = XTermParser()

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that these bytes complete."""
        return self.of(self.sequences.feed(data))

    def expire(self) -> Iterator[Message]:
        """The messages that are complete because nothing has followed."""
        return self.of(self.sequences.expire())

    def of(self, units: Iterable[str]) -> Iterator[Message]:
        """The messages of complete units."""
        for unit in units:
            if len(unit) == 1:
                yield from self._keys(unit)
            elif unit.startswith(PASTE_START):
                yield events.Paste(unit[len(PASTE_START):-len(PASTE_END)].replace("\0", ""))
            elif unit in _FOCUS:
                yield _FOCUS[unit]()
            elif unit in ANSI_SEQUENCES_KEYS and not _POSITION.fullmatch(unit):
                yield from self._keys(unit)
            elif key := _KEY.fullmatch(unit):
                yield from self._keys(_plain_key(*key.groups(default="")))
            else:
                yield from self._report(unit)

    def _keys(self, sequence: str) -> Iterator[Message]:
        # Escape and a letter are two keys, as in htop and vim. Many terminals send Alt and a letter so, and no key of
        # the dashboard uses Alt; Esc to close a window and a digit to show the next screen would be lost.
        if sequence == ESCAPE:
            yield events.Key("escape", ESCAPE)
        elif sequence:
            yield from (key for key in self._xterm._sequence_to_key_events(sequence) if key.key != "<ignore>")  # noqa: SLF001 - Textual's names of keys

    def _report(self, unit: str) -> Iterator[Message]:
        if _MOUSE.fullmatch(unit):
            if (message := self._xterm.parse_mouse_code(unit)) is not None:
                yield message
        elif size := _SIZE.fullmatch(unit):
            lines, columns, height, width = (int(number) for number in size.groups())
            resize = events.Resize.from_dimensions((columns, lines), (width, height))
            if columns and lines and width and height:
                self._xterm.terminal_size, self._xterm.terminal_pixel_size = resize.size, resize.pixel_size
                self._xterm.mouse_pixels = True
            yield resize
        elif mode := _MODE.fullmatch(unit):
            number, setting = mode[1], int(mode[2])
            if number == "2026" and setting:
                yield messages.TerminalSupportsSynchronizedOutput()
            elif number == "2048" and constants.SMOOTH_SCROLL and not IS_ITERM:
                yield messages.InBandWindowResize.from_setting_parameter(setting)


def _plain_key(number: str, modifiers: str, event: str, text: str, end: str) -> str:
    """A key of the kitty protocol without subparameters, as Textual reads it; "" for what is no press of a key."""
    name = f"{int(number)}{end}"
    characters = [int(code) for code in text.split(":")] if text else []
    if event == _RELEASED or int(modifiers or "0") > _MOST_MODIFIERS:
        return ""
    if name == _OTHER_KEYS:
        known = len(characters) == 1 and (characters[0] < _ASCII or _is_character(characters[0]))
    else:
        known = all(map(_is_character, characters)) and (
            name in FUNCTIONAL_KEYS or (end == "u" and (_is_character(int(number)) or (name == "0u" and bool(text)))))
    return "" if not known else f"\x1b[{int(number)};{modifiers};{text}{end}"


def _is_character(code: int) -> bool:
    return code <= 0x10FFFF and chr(code).isprintable()
