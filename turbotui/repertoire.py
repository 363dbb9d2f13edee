"""The characters that an output can show, and the replacement of each other character, which has the same width.

A terminal shows what its locale and its type allow: all of Unicode, the glyphs of the PC's code page 437 (the Linux
    console's own font), or ASCII alone. Everything that goes to a terminal passes here last, so no other code has to
    know.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from turbotui.dataclass import dataclass

ASCII: Final = "ascii"
CONSOLE: Final = "cp437"

SWITCH: Final = "TURBOTUI_ASCII"
"""Environment variable: 1 for ASCII alone, 0 for all of Unicode, whatever locale and terminal say."""

_LOCALES: Final = ("LC_ALL", "LC_CTYPE", "LANG")
"""The variables in the order in which setlocale(3) reads them."""
_OLD: Final = ("vt52", "vt100", "vt102", "vt125", "vt131", "vt132", "vt200", "vt220", "vt240", "vt300", "vt320",
               "vt400", "vt420", "vt510", "vt520", "ansi", "cons25", "sun", "wyse", "xterm-mono")
_SIXTEEN: Final = ("linux", "ansi", "cons25", "xterm-16color")
_KNOWN: Final = ("foot", "alacritty", "ghostty", "kitty", "wezterm", "contour", "rio")
"""Terminals with 256 colours and more, whose entries of terminfo older systems lack."""
_MANY: Final = 256
_COLOURLESS: Final = tuple(name for name in _OLD if name not in _SIXTEEN)

_ASCII: Final = {
    "·": ".", "•": "*", "∙": ".", "∘": "o", "●": "o", "◉": "@", "□": "#", "△": "^", "◇": "o", "◆": "*", "◐": "~",
    "■": "#",
    "▪": "#", "▲": "^", "▼": "v", "▶": ">", "◀": "<", "▸": "+", "▾": "-", "✓": "+", "✗": "-",
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
"""Similar characters in ASCII; a cut is not a full stop, so that nobody takes a part for the whole."""
_LEFT_OUT: Final = " …", ".."
"""Ellipses that stand for left-out words, and their replacements, two cells wide."""
_CONSOLE: Final = {
    "▁": "_", "▂": "_", "▃": "▄", "▅": "▄", "▆": "█", "▇": "█", "▏": " ", "▎": "▌", "▍": "▌", "▋": "▌", "▊": "█",
    "▉": "█", "┃": "║", "━": "═", "●": "■", "•": "■", "▪": "■", "□": "■", "✓": "√", "‹": "«", "›": "»", "⟪": "«",
    "⟫": "»", "Δ": "δ", "Σ": "Σ", "μ": "µ", "┈": "·", "┄": "─", "┆": "│", "╭": "┌", "╮": "┐", "╰": "└", "╯": "┘",
}
"""More similar characters among the glyphs of code page 437."""

_UPPER, _LOWER = 0x1B, 0xE4  # dots in the upper and the lower half of a braille pattern (The Unicode Standard, 21.1)
_FULL: Final = 6  # dots
_BRAILLE_ROWS: Final = {0x09: "'", 0x12: "-", 0x24: "-", 0xC0: "_"}


_MARKS: Final = "⟪⟫"
"""Escapes of outside text (`untrusted`): in printed text nothing else may look like them."""


class Repertoire(dict[int, str]):
    """A table for `str.translate` that replaces characters missing from an encoding by others of the same width.

    Args:
        encoding: Python's name: "ascii", "cp437", "iso8859-1".
        escaping: write a character without a similar one by its number, however wide: for text, not for screens.
    """

    def __init__(self, encoding: str, *, escaping: bool = False) -> None:
        super().__init__()
        self._encoding = encoding
        self._escaping = escaping

    def shown(self, text: str) -> str:
        """A text as it can be shown, of the same width unless `escaping`."""
        return (text if self[ord("…")] == "…" else text.replace(*_LEFT_OUT)).translate(self)

    def __missing__(self, code: int) -> str:
        """The character itself, or its replacement, which is remembered."""
        text = self[code] = self._shown(chr(code))
        return text

    def _shown(self, char: str) -> str:
        if self._has(char):
            return char
        if self._escaping and (char in _MARKS or (char not in _ASCII and not _is_braille(char))):
            return char.encode(ASCII, "backslashreplace").decode(ASCII)
        tries = (_CONSOLE.get(char, ""), _ASCII.get(char, "")) if self._encoding == CONSOLE else (_ASCII.get(char, ""),)
        return next((attempt for attempt in tries if attempt and self._has(attempt)), None) or self._like(char)

    def _has(self, text: str) -> bool:
        try:
            text.encode(self._encoding)
        except UnicodeEncodeError:
            return False
        return True

    def _like(self, char: str) -> str:
        """A braille pattern by the place of its dots, a letter without its accents, or question marks."""
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
    """One character for the place of a pattern's dots."""
    if not dots:
        return " "
    row = next((text for row, text in _BRAILLE_ROWS.items() if not dots & ~row), None)
    if row is not None:
        return row
    if dots.bit_count() >= _FULL:
        return "#"
    return ":" if dots & _UPPER and dots & _LOWER else "'" if dots & _UPPER else "."


def initial_environment() -> Mapping[str, str]:
    """The environment at the program's start, before Python sets LC_CTYPE in the C locale (PEP 538)."""
    known = dict(os.environ)
    try:
        with open("/proc/self/environ", "rb") as file:
            given = file.read()
    except OSError:
        return known
    pairs = (word.partition(b"=") for word in given.split(b"\0"))
    known["LC_CTYPE"] = next((os.fsdecode(value) for name, _, value in pairs if name == b"LC_CTYPE"), "")
    return known


def screen_encoding(environment: Mapping[str, str]) -> str | None:
    """The encoding whose characters a full screen can show; None for all of Unicode.

    Args:
        environment: TURBOTUI_ASCII, the locale by LC_ALL, LC_CTYPE and LANG (none: UTF-8, as Python takes it), TERM.
    """
    if switch := environment.get(SWITCH, ""):
        return None if switch == "0" else ASCII
    term = environment.get("TERM", "")
    if not _unicode_locale(environment) or _is_of(term, _OLD):
        return ASCII
    return CONSOLE if _is_of(term, ("linux",)) else None


def text_encoding(environment: Mapping[str, str], encoding: str, *, terminal: bool) -> str | None:
    """The encoding whose characters printed text can contain; None for all of Unicode.

    Args:
        environment: as for `screen_encoding`.
        encoding: of the stream.
        terminal: whether the stream is a terminal; otherwise only the stream's own encoding counts.
    """
    text = screen_encoding(environment) if terminal or environment.get(SWITCH) else None
    if text is None and not encoding.lower().replace("-", "").startswith(("utf", "cp65001")):
        return encoding
    return text


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a terminal can show."""

    encoding: str | None = None  # the encoding of its characters; None for all of Unicode
    colours: bool = True  # whether the terminal has colours and the user wants them (https://no-color.org)
    sixteen: bool = False  # whether it has exactly sixteen
    # how many its entry of terminfo has, in Rich's word: "truecolor", "256"; "" for fewer, and where COLORTERM or the
    # name says it
    system: str = ""


def abilities_of(environment: Mapping[str, str]) -> Abilities:
    """The abilities of the terminal of this environment."""
    term = environment.get("TERM", "")
    return Abilities(screen_encoding(environment), not environment.get("NO_COLOR") and not _is_of(term, _COLOURLESS),
                     _is_of(term, _SIXTEEN),
                     "" if environment.get("COLORTERM") or term.endswith("-256color") else _system_of(term))


def _system_of(term: str) -> str:
    """The colours of a terminal without COLORTERM, by terminfo(5): many names do not end in their number."""
    try:
        import curses  # noqa: PLC0415 - not in every Python

        curses.setupterm(term, 1)
        if any(curses.tigetflag(flag) > 0 for flag in ("RGB", "Tc")) or curses.tigetstr("setrgbf"):
            return "truecolor"
        return "256" if curses.tigetnum("colors") >= _MANY else ""
    except (ImportError, curses.error, TypeError, ValueError):  # no entry, or a name that is none
        return "256" if _is_of(term.removeprefix("xterm-"), _KNOWN) else ""


def _unicode_locale(environment: Mapping[str, str]) -> bool:
    locale = next((value for name in _LOCALES if (value := environment.get(name, ""))), "")
    return not locale or locale.partition(".")[2].lower().replace("-", "").startswith("utf8")


def _is_of(term: str, names: tuple[str, ...]) -> bool:
    """Whether a terminal is of a type, or of a variant of the type: "vt100-am"."""
    return any(term == name or term.startswith(f"{name}-") for name in names)
