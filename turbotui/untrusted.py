"""Text from outside, which tasks, files, devices and command lines choose and a terminal would obey.

Text that can move a cursor, set a title, reverse a line's direction or be invisible is written as a visible mark: a
control character as its picture (U+2400 and following), any other character as its number in ⟪⟫, a byte that is not
valid UTF-8 as ⟪xNN⟫. Marks that a text already contains are marked as well, so that no two texts become equal and
`original` restores every byte.

    visible, decoded    where text comes in: the host's files and names, perf's records, the command line, own files
    one_line            where a text is one name or value: line breaks and TABs are marked too
    original            where it goes back to the kernel: the path of a file, the words of a command
    json_text           where a program reads it: JSON with the original text, every unsafe character escaped, and the
                        marks of what is no text
    guarded             where it goes out: a second lock that passes what is marked and marks what was forgotten
"""

from __future__ import annotations

import functools
import itertools
import math
import re
import sys
from typing import Any, Final, TypeVar, cast

# The sets of The Unicode Standard 15: general categories Cc, Zl, Zp and Cs (with which Python stands for bytes that are
# no UTF-8), the noncharacters, and all that DerivedCoreProperties.txt calls Default_Ignorable_Code_Point with the rest
# of the format characters (Cf): directions (U+202A to 202E, 2066 to 2069), zero widths, variation selectors, tags.
_UNSEEN: Final = (
    "\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_CONTROLS: Final = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_MARKS: Final = "\u2400-\u241f\u2421\u27ea\u27eb"
_PICTURES: Final = 0x2400  # "Control Pictures": the picture of control character N is U+2400 and N
_DELETE, _DELETE_PICTURE = 0x7F, 0x2421
_PLAIN_BYTES: Final = bytes(range(0x20, 0x7F)) + b"\t\n"
_BYTES: Final = range(0xDC80, 0xDD00)  # surrogateescape (PEP 383): byte 0x80 is U+DC80

T = TypeVar("T")

_UNSAFE: Final = f"[{_CONTROLS}{_UNSEEN}]"
_UNSAFE_OR_BREAK: Final = f"[\t\n{_CONTROLS}{_UNSEEN}]"
_UNSAFE_OR_MARK: Final = f"[{_CONTROLS}{_UNSEEN}{_MARKS}]"
_UNSAFE_OR_COLOUR: Final = f"\x1b\\[[0-9;:]*m|[{_CONTROLS}{_UNSEEN}]"
_MARK: Final = re.compile("[\u2400-\u241f\u2421]|\u27ea(x?)([0-9a-f]{2,6})\u27eb")
_BYTE_OR_MARK: Final = "\u27eax[0-9a-f]{2}\u27eb|[\udc80-\udcff]"
_MARK_OF_DOCUMENT: Final = "\u27ea(?:x[0-9a-f]{2}|d[89a-f][0-9a-f]{2}|27ea)\u27eb"
"""Marks that documents keep: of bytes that are not UTF-8 and of half a surrogate pair, which no program could read, and
of the character that begins a mark."""


def visible(text: str) -> str:
    """A text from outside with everything that a terminal would obey or hide marked; TABs and line breaks stay."""
    return _compiled(_UNSAFE_OR_MARK).sub(_mark, text) if _may_hold(_UNSAFE_OR_MARK, text) else text


def decoded(data: bytes) -> str:
    """Bytes from outside as `visible` text: UTF-8, with marks for invalid bytes."""
    if not data.translate(None, _PLAIN_BYTES):  # most texts of a kernel are plain, and some are long
        return data.decode("ascii")
    return visible(data.decode("utf-8", "surrogateescape"))


def one_line(text: str) -> str:
    """A name or value on one line, without surrounding blanks; TABs and line breaks inside are marked.

    Text that is already visible does not change, so applying the function twice is safe.
    """
    return in_cell(text.strip(" \t\n\u2400"))  # strings of a device tree end with NUL


def in_cell(text: str) -> str:
    """A piece of a line about to be drawn: like `one_line`, but with surrounding blanks."""
    if text.isprintable() and text.isascii():  # nearly always true, and asked for every piece of a screen
        return text
    return _compiled(_UNSAFE_OR_BREAK).sub(_mark, text)


def guarded(text: str) -> str:
    """Make text safe to write to a terminal: mark all control characters except colours, TABs and line ends."""
    return _compiled(_UNSAFE_OR_COLOUR).sub(_mark_but_colours, text) if _may_hold(_UNSAFE, text) else text


def original(text: str) -> str:
    """The original text, with invalid UTF-8 bytes in the form that `os.fsencode` expects."""
    return _MARK.sub(_unmark, text) if _MARK.search(text) else text


def json_text(value: object, *, indent: int | None = None, compact: bool = False) -> str:
    r"""A value as JSON whose strings are the original ones; what is unsafe on a terminal is there as \uNNNN.

    A byte that is not UTF-8 keeps its mark, and so does the character that begins marks, so that `visible_in`
    restores every text.
    """
    import json  # noqa: PLC0415 - what prints text does without it

    separators = (",", ":") if compact else None
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    except ValueError:
        # JSON has no word for a number that is not finite: null
        text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    if _may_hold(_UNSAFE_OR_MARK, text):
        # marks contain no character that is special in JSON, and none that needs an escape
        text = _compiled(_UNSAFE).sub(_json_escape, _MARK.sub(_json_original, text))
    # unsafe characters get an escape here, and nothing is lost
    return _compiled(r"[^\x00-\x7f]").sub(_json_escape, text) if getattr(sys.stdout, "narrow", False) else text


def bytes_in_base64(text: str) -> str | None:
    """The bytes of a text that is not all UTF-8, in base64; None for any other text, which JSON holds."""
    if ("\u27eax" not in text and text.isprintable()) or not _compiled(_BYTE_OR_MARK).search(text):
        return None
    import base64  # noqa: PLC0415 - hardly any text

    return base64.b64encode(original(text).encode("utf-8", "surrogateescape")).decode()


def visible_in(value: T) -> T:
    """A JSON or TOML value with every text made visible, because parsers decode escapes to unsafe characters.

    The marks that `json_text` and `toml_text` leave are what they were.
    """
    made: Any = value
    if isinstance(value, str):
        made = _visible_of_document(value)
    elif isinstance(value, list):
        made = [item if type(item) is int else visible_in(item) for item in value]
    elif isinstance(value, dict):
        made = {_visible_of_document(key): item if type(item) is int else visible_in(item)
                for key, item in value.items()}
    return cast("T", made)


def is_plain_json(text: str | bytes) -> bool:
    """Whether no text of a JSON document can contain anything that `visible` would mark.

    False unless that is obvious: the document has escapes other than of quotes, backslashes, line breaks and what is
        safe, or is not UTF-8.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    try:
        odd = data.translate(None, _PLAIN_BYTES + b"\r").decode()
    except UnicodeDecodeError:
        return False
    if odd and _compiled(_UNSAFE_OR_MARK).search(odd):
        return False
    if b"\\" not in data:
        return True
    # a set from the start: megabytes of escapes would make a list of gigabytes
    escapes = {match[1] for match in re.finditer(rb"\\(u[0-9a-fA-F]{4}|.)", data.replace(b"\\\\", b""), re.DOTALL)}
    texts = "".join(chr(int(escape[1:], 16)) for escape in escapes if len(escape) > 1)
    return (not _compiled(_UNSAFE_OR_MARK).search(texts)
            and all(len(escape) > 1 or escape in b'"/nt' for escape in escapes))


def needs_more_marks(document: str | bytes, most: int) -> bool:
    r"""Whether a JSON document has more than so many characters that `visible` would mark; each \u counts as one."""
    text = document if isinstance(document, str) else document.decode("utf-8", "surrogateescape")
    escapes = text.count("\\u")
    marked = _compiled(_UNSAFE_OR_MARK).finditer(text)
    return escapes > most or next(itertools.islice(marked, most - escapes, None), None) is not None


def toml_text(text: str) -> str:
    """A TOML 1.0 basic string that parses to this visible text and contains no unsafe byte."""
    escaped = _MARK.sub(_unmark_text, text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_compiled(_UNSAFE_OR_BREAK).sub(_toml_escape, escaped)}"'


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern that is compiled on first use: compiling takes half a millisecond, and most texts are plain."""
    return re.compile(pattern)


def _may_hold(pattern: str, text: str) -> bool:
    """Whether a pattern of single characters occurs in a text; the usual answer, no, takes two nanoseconds a character.

    A pattern of this size takes eighty: only the rest without plain ASCII is matched with it.
    """
    left = text.encode("utf-8", "surrogatepass").translate(None, _PLAIN_BYTES)
    return bool(left) and _compiled(pattern).search(left.decode("utf-8", "surrogatepass")) is not None


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return {key: _finite(item) for key, item in value.items()} if isinstance(value, dict) else value


def _mark(match: re.Match[str]) -> str:
    number = ord(match[0])
    if number < 0x20:
        return chr(_PICTURES + number)
    if number == _DELETE:
        return chr(_DELETE_PICTURE)
    if number in _BYTES:
        return f"\u27eax{number - _BYTES.start + 0x80:02x}\u27eb"
    return f"\u27ea{number:02x}\u27eb"


def _mark_but_colours(match: re.Match[str]) -> str:
    return match[0] if len(match[0]) > 1 else _mark(match)


def _unmark(match: re.Match[str]) -> str:
    if match[2] is None:
        number = ord(match[0])
        return chr(_DELETE if number == _DELETE_PICTURE else number - _PICTURES)
    number = int(match[2], 16)
    if match[1]:
        number += _BYTES.start - 0x80
    return chr(number) if number < 0x110000 else match[0]


def _unmark_text(match: re.Match[str]) -> str:
    """What a mark stands for, or the mark itself where a document keeps it."""
    return match[0] if _compiled(_MARK_OF_DOCUMENT).fullmatch(match[0]) else _unmark(match)


def _visible_of_document(text: str) -> str:
    if text.isascii() and text.isprintable():  # nearly always true
        return text
    if "\u27ea" not in text:
        return visible(text)
    parts = _compiled(f"({_MARK_OF_DOCUMENT})").split(text)  # every second part is a mark
    return "".join(part if at % 2 else visible(part) for at, part in enumerate(parts))


def _json_original(match: re.Match[str]) -> str:
    import json  # noqa: PLC0415 - loaded by json_text

    return json.dumps(_unmark_text(match), ensure_ascii=False)[1:-1]


def _json_escape(match: re.Match[str]) -> str:
    import json  # noqa: PLC0415 - loaded by json_text

    return _mark(match) if "\ud800" <= match[0] <= "\udfff" else json.dumps(match[0])[1:-1]


def _toml_escape(match: re.Match[str]) -> str:
    number = ord(match[0])
    return _mark(match) if 0xD800 <= number < 0xE000 else f"\\u{number:04X}" if number < 0x10000 else f"\\U{number:08X}"
