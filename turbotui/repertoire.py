"""Which characters can be shown, and what stands in for the others: a stand-in takes as much room as its character.

A terminal shows what its locale and its kind allow: all of Unicode, the glyphs of the PC's code page 437 (the Linux
console's own font), or ASCII alone. Everything that goes to a terminal passes here last, so that nobody else need know.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from turbotui.dataclass import dataclass

ASCII: Final = "ascii"
CONSOLE: Final = "cp437"

SWITCH: Final = "TURBOTUI_ASCII"
"""Variable of the environment: 1 for ASCII alone, 0 for all of Unicode, whatever locale and terminal say."""

_LOCALES: Final = ("LC_ALL", "LC_CTYPE", "LANG")
"""In the order in which setlocale(3) asks for them."""
_OLD: Final = ("vt52", "vt100", "vt102", "vt125", "vt131", "vt132", "vt200", "vt220", "vt240", "vt300", "vt320",
               "vt400", "vt420", "vt510", "vt520", "ansi", "cons25", "sun", "wyse", "xterm-mono")
_SIXTEEN: Final = ("linux", "ansi", "cons25", "xterm-16color")
_COLOURLESS: Final = tuple(name for name in _OLD if name not in _SIXTEEN)

_ASCII: Final = {
    "·": ".", "•": "*", "∙": ".", "∘": "o", "●": "o", "◉": "@", "□": "#", "△": "^", "◇": "o", "◆": "*", "◐": "~",
    "■": "#",
    "▪": "#", "▲": "^", "▼": "v", "▶": ">", "◀": "<", "▸": "+", "▾": "-", "❚": "|", "✓": "+", "✗": "-", "⌫": "<",
    "←": "<", "→": ">", "↑": "^", "↓": "v", "‹": "<", "›": ">", "⟪": "<", "⟫": ">", "—": "-", "–": "-", "…": "~",
    "─": "-", "━": "=", "│": "|", "┃": "|", "┈": ".", "┄": "-", "┆": "|", "┊": ":", "═": "=", "║": "|",
    "┌": "+", "┐": "+", "└": "+", "┘": "+", "├": "+", "┤": "+", "┬": "+", "┴": "+", "┼": "+", "╭": "+", "╮": "+",
    "╰": "+", "╯": "+", "╔": "+", "╗": "+", "╚": "+", "╝": "+", "╶": "-", "╴": "-", "╵": "|", "╷": "|",
    "▁": "_", "▂": ".", "▃": "-", "▄": "=", "▅": "+", "▆": "*", "▇": "%", "█": "#", "▀": '"', "▐": "|",
    "▏": "-", "▎": "-", "▍": "-", "▌": "=", "▋": "=", "▊": "=", "▉": "=", "░": ":", "▒": "+", "▓": "%",
    "°": "'", "±": "~", "µ": "u", "μ": "u", "Δ": "d", "Σ": "S", "≤": "<", "≥": ">", "≈": "~", "×": "x", "÷": "/",
    "¹": "1", "²": "2", "³": "3", "®": "R", "™": "T", "©": "c", "∞": "8", "√": "v", "“": '"', "”": '"', "‘": "'",
    "’": "'", "\u00a0": " ", "«": "<", "»": ">", "δ": "d",
}
"""What is like a character in ASCII; a cut is no full stop, so that nobody takes a part for the whole."""
_LEFT_OUT: Final = " …", ".."
"""Words that are left out, and what stands for them, in the two cells that they have."""
_CONSOLE: Final = {
    "▁": "_", "▂": "_", "▃": "▄", "▅": "▄", "▆": "█", "▇": "█", "▏": " ", "▎": "▌", "▍": "▌", "▋": "▌", "▊": "█",
    "▉": "█", "┃": "║", "━": "═", "●": "■", "•": "■", "▪": "■", "□": "■", "✓": "√", "‹": "«", "›": "»", "⟪": "«",
    "⟫": "»", "Δ": "δ", "Σ": "Σ", "μ": "µ", "┈": "·", "┄": "─", "┆": "│", "╭": "┌", "╮": "┐", "╰": "└", "╯": "┘",
}
"""What is more like it among the glyphs of code page 437."""

_UPPER, _LOWER = 0x1B, 0xE4  # dots of a braille pattern in its upper and lower half (The Unicode Standard, 21.1)
_FULL: Final = 6  # dots
_BRAILLE_ROWS: Final = {0x09: "'", 0x12: "-", 0x24: "-", 0xC0: "_"}


_MARKS: Final = "⟪⟫"
"""Marks of what a text from outside held (`untrusted`): in printed text nothing else may look like them."""


class Repertoire(dict[int, str]):
    """A table for `str.translate`: characters that an encoding lacks as others of the same width.

    Args:
        encoding: by Python's name: "ascii", "cp437", "iso8859-1".
        escaping: write what is not like anything by its number, as wide as that is: for text, not for screens.
    """

    def __init__(self, encoding: str, *, escaping: bool = False) -> None:
        super().__init__()
        self._encoding = encoding
        self._escaping = escaping

    def shown(self, text: str) -> str:
        """A text as it can be shown; of the same width unless `escaping`."""
        return (text if self[ord("…")] == "…" else text.replace(*_LEFT_OUT)).translate(self)

    def __missing__(self, code: int) -> str:
        """The character itself, or what stands in for it; kept."""
        found = self[code] = self._shown(chr(code))
        return found

    def _shown(self, char: str) -> str:
        if self._has(char):
            return char
        if self._escaping and (char in _MARKS or (char not in _ASCII and not _is_braille(char))):
            return char.encode(ASCII, "backslashreplace").decode(ASCII)
        tries = (_CONSOLE.get(char, ""), _ASCII.get(char, "")) if self._encoding == CONSOLE else (_ASCII.get(char, ""),)
        return next((one for one in tries if one and self._has(one)), None) or self._like(char)

    def _has(self, text: str) -> bool:
        try:
            text.encode(self._encoding)
        except UnicodeEncodeError:
            return False
        return True

    def _like(self, char: str) -> str:
        """A braille pattern by where its dots are, a letter without its accents, else question marks."""
        if _is_braille(char):
            return _braille(ord(char) - 0x2800)
        import unicodedata  # noqa: PLC0415 - seldom needed

        if unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Me", "Cf"}:
            return ""
        width = 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1
        plain = unicodedata.normalize("NFKD", char)[:1]
        return plain if width == 1 and plain.isprintable() and self._has(plain) else "?" * width


def _is_braille(char: str) -> bool:
    return "\u2800" <= char <= "\u28ff"


def _braille(dots: int) -> str:
    """Where the dots of a pattern are, in one character."""
    if not dots:
        return " "
    row = next((text for row, text in _BRAILLE_ROWS.items() if not dots & ~row), None)
    if row is not None:
        return row
    if dots.bit_count() >= _FULL:
        return "#"
    return ":" if dots & _UPPER and dots & _LOWER else "'" if dots & _UPPER else "."


def initial_environment() -> Mapping[str, str]:
    """The environment that the program was started with: Python sets LC_CTYPE where the locale is C (PEP 538)."""
    known = dict(os.environ)
    try:
        with open("/proc/self/environ", "rb") as file:
            given = file.read()
    except OSError:
        return known
    said = (word.partition(b"=") for word in given.split(b"\0"))
    known["LC_CTYPE"] = next((os.fsdecode(value) for name, _, value in said if name == b"LC_CTYPE"), "")
    return known


def screen_encoding(environment: Mapping[str, str]) -> str | None:
    """The encoding whose characters a full screen can have; None for all of Unicode.

    Args:
        environment: TURBOTUI_ASCII, the locale by LC_ALL, LC_CTYPE and LANG (none: UTF-8, as Python takes it), TERM.
    """
    said = environment.get(SWITCH, "")
    if said:
        return None if said == "0" else ASCII
    term = environment.get("TERM", "")
    if not _unicode_locale(environment) or _is_of(term, _OLD):
        return ASCII
    return CONSOLE if _is_of(term, ("linux",)) else None


def text_encoding(environment: Mapping[str, str], encoding: str, *, terminal: bool) -> str | None:
    """The encoding whose characters printed text can have; None for all of Unicode.

    Args:
        environment: as for `screen_encoding`.
        encoding: of the stream.
        terminal: whether it goes to a terminal; else only the stream's own encoding counts.
    """
    found = screen_encoding(environment) if terminal or environment.get(SWITCH) else None
    if found is None and not encoding.lower().replace("-", "").startswith(("utf", "cp65001")):
        return encoding
    return found


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a terminal can show.

    Attributes:
        encoding: whose characters; None for all of Unicode.
        colours: whether it has any, and its owner wants them (https://no-color.org).
        sixteen: whether it has sixteen and no more.
    """

    encoding: str | None = None
    colours: bool = True
    sixteen: bool = False


def abilities_of(environment: Mapping[str, str]) -> Abilities:
    """What the terminal of this environment can show."""
    term = environment.get("TERM", "")
    return Abilities(screen_encoding(environment), not environment.get("NO_COLOR") and not _is_of(term, _COLOURLESS),
                     _is_of(term, _SIXTEEN))


def _unicode_locale(environment: Mapping[str, str]) -> bool:
    locale = next((value for name in _LOCALES if (value := environment.get(name, ""))), "")
    return not locale or locale.partition(".")[2].lower().replace("-", "").startswith("utf8")


def _is_of(term: str, names: tuple[str, ...]) -> bool:
    """Whether a terminal is of a kind, or a variant of it: "vt100-am"."""
    return any(term == name or term.startswith(f"{name}-") for name in names)
