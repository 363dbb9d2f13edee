"""The bytes that a terminal sends for the keys of the key table."""

from __future__ import annotations

from textual.keys import key_to_character

_SEQUENCES: dict[str, bytes] = {
    "up": b"\x1b[A",
    "down": b"\x1b[B",
    "right": b"\x1b[C",
    "left": b"\x1b[D",
    "shift+up": b"\x1b[1;2A",
    "shift+down": b"\x1b[1;2B",
    "shift+right": b"\x1b[1;2C",
    "shift+left": b"\x1b[1;2D",
    "home": b"\x1b[H",
    "end": b"\x1b[F",
    "pageup": b"\x1b[5~",
    "pagedown": b"\x1b[6~",
    "delete": b"\x1b[3~",
    "shift+tab": b"\x1b[Z",
    "tab": b"\t",
    "enter": b"\r",
    "escape": b"\x1b",
    "backspace": b"\x7f",
    "minus": b"-",
    "plus": b"+",
    "slash": b"/",
    "backslash": b"\\",
    "underscore": b"_",
    "at": b"@",
    "f1": b"\x1bOP",
    "f2": b"\x1bOQ",
    "f3": b"\x1bOR",
    "f4": b"\x1bOS",
    "f5": b"\x1b[15~",
    "f6": b"\x1b[17~",
    "f10": b"\x1b[21~",
}
"""xterm's control sequences (XTerm Control Sequences, "PC-Style Function Keys"), as tmux sends them."""


def sent(key: str) -> bytes:
    """Return the bytes that a terminal sends for a key, given Textual's name.

    Raises:
        ValueError: no bytes are known for it.
    """
    known = _SEQUENCES.get(key)
    if known is not None:
        return known
    if key.startswith("ctrl+") and len(key) == 6:
        return bytes((ord(key[-1]) & 0x1F,))
    character = key_to_character(key)
    if character is None:
        raise ValueError(f"no bytes are known for the key {key}")
    return character.encode()
