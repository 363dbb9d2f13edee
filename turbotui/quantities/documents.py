"""Parse TOML and JSON written by people: usable numbers, bounded nesting, and one kind of error.

Python's parsers accept values that readers do not expect: both turn 1e999 into infinity (RFC 8259 section 6 leaves the
range to the parser, and TOML 1.0 has words for infinity and "not a number"), integers have any length, and deep nesting
raises RecursionError. Three bytes of JSON, "[],", become an object of 64 bytes, and three of U+202E a mark of 60. Here
each of these raises a `DocumentError`, the last three before anything is built, so that readers have to check only the
kind of a value. Texts are escaped for terminals.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from typing import TypeAlias

from turbotui.untrusted import is_plain_json, needs_more_marks, toml_text, visible_in

TomlValue: TypeAlias = "str | float | tuple[str, ...] | Mapping[str, int]"

_BITS = 63  # TOML 1.0, "Integer": arbitrary 64-bit signed integers; more is an error
_LONGEST_INTEGER = 4300  # characters; Python's own limit for int(), whose time grows with the square
_DEEPEST = 64  # parts of a dotted key: tomllib's time grows with the square of them (8 s for 20,000)
_LONG_KEY = rf"""(?<![\w.\-"'])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){{{_DEEPEST}}}"""
_TOO_DEEP = "it is nested too deeply"
MOST_VALUES = 2_000_000
"""Values and keys of a JSON document, which take 150 MB; the tables of the largest processor have a tenth."""
_MOST_MARKS = 1_000_000  # in the texts of a JSON document: each mark is a string of its own until its text is joined
_ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b'[]{}"\\'))
_SQUARE = bytes.maketrans(b"{}", b"[]")
_ALL_BUT_STRUCTURE = bytes(set(range(256)) - set(b'[]{},:"\\'))


_TOML_PLACE = r"(?s)(?P<why>.*) \(at line (?P<line>[0-9]+), column (?P<column>[0-9]+)\)"
"""The form of tomllib's messages (CPython, Lib/tomllib/_parser.py, `suffixed_err`)."""
_PLAIN_WORDS = {"Cannot overwrite a value": "this name has a value already"}
"""Messages of tomllib that say what its code cannot do, instead of what is wrong in the text."""


class DocumentError(ValueError):
    """Why a text is not a usable document: "it is not TOML: ...", without the name of its file.

    Attributes:
        line: of the text, from 1; 0 if unknown. The message names it, too.
    """

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.line = line


@functools.cache
def _long_key() -> re.Pattern[str]:
    return re.compile(_LONG_KEY, re.ASCII)


def parse_toml(text: str) -> dict[str, object]:
    """Parse a TOML document.

    Raises:
        DocumentError: it is not TOML (with the line), a number is not finite or too large, or it is nested too deeply.
    """
    import tomllib  # noqa: PLC0415 - most runs read no document

    if _long_key().search(text):
        raise DocumentError(_TOO_DEEP)
    try:
        document = tomllib.loads(text, parse_float=_finite)
        _check(document)
    except RecursionError:
        raise DocumentError(_TOO_DEEP) from None
    except DocumentError:
        raise
    except ValueError as error:
        raise _not_toml(str(error)) from error
    return visible_in(document)


def toml_of(value: TomlValue) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(toml_text, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{toml_key(name)} = {number}' for name, number in value.items())}}}"
    return toml_text(value) if isinstance(value, str) else repr(value)


def toml_key(name: str) -> str:
    """A key in TOML, quoted unless it is bare."""
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else toml_text(name)


def _not_toml(message: str) -> DocumentError:
    """The error for a message of tomllib, whose line comes first: a narrow screen shows the beginning."""
    if (place := re.fullmatch(_TOML_PLACE, message)) is None:
        return DocumentError(f"it is not TOML: {message}")
    why = _PLAIN_WORDS.get(place["why"], place["why"])
    return DocumentError(f"line {place['line']} is not TOML: {why} (column {place['column']})", int(place["line"]))


def parse_json(text: str | bytes, most_values: int = MOST_VALUES) -> object:
    """Parse a JSON document.

    Args:
        text: of the document; bytes are UTF-8.
        most_values: values and keys that it may hold.

    Raises:
        DocumentError: it is not JSON (with the line), a number is not finite or too large, or it is nested too deeply
            or holds too many values, or too many characters that a terminal would obey or hide.
    """
    import json  # noqa: PLC0415 - most runs read no document

    _check_shape(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text, most_values)
    plain = is_plain_json(text)  # most strings contain neither, and are long
    if not plain and needs_more_marks(text, _MOST_MARKS):
        raise DocumentError(f"it holds more than {_MOST_MARKS:,} characters that a terminal would obey or hide")
    try:
        if plain and not _has_extremes(text):
            document: object = json.loads(text, parse_constant=_finite)
        else:
            document = json.loads(text, parse_float=_finite, parse_int=_bounded, parse_constant=_finite)
        if not plain and _may_hold_halves(text):
            _check(document)
    except RecursionError:
        raise DocumentError(_TOO_DEEP) from None
    except DocumentError:
        raise
    except UnicodeDecodeError as error:
        raise DocumentError(f"it is not UTF-8, at byte {error.start + 1}") from error
    except ValueError as error:
        raise DocumentError(f"it is not JSON: {error}") from error
    return document if plain else visible_in(document)


def values_in(data: bytes) -> int:
    """The separators of a JSON document, of which there are as many as values and keys, and more within texts."""
    return data.count(b",") + data.count(b":")


def _check_shape(data: bytes, most_values: int) -> None:
    """Refuse a document with too many values or levels, by its punctuation alone.

    Raises:
        DocumentError: the document is refused.
    """
    # punctuation inside of texts is counted as well, which is left out only where it is too much
    if values_in(data) >= most_values and values_in(_outside_of_texts(data, _ALL_BUT_STRUCTURE)) >= most_values:
        raise DocumentError(f"it holds more than {most_values:,} values")
    if data.count(b"[") + data.count(b"{") <= _DEEPEST:
        return
    left = _outside_of_texts(data, _ALL_BUT_BRACKETS).translate(_SQUARE)
    for _ in range(_DEEPEST):
        size = len(left)
        left = left.replace(b"[]", b"")  # the innermost level
        if len(left) == size:
            return  # nothing is left, or it is not JSON, as the parser will say
    if left:
        raise DocumentError(_TOO_DEEP)


def _outside_of_texts(data: bytes, dropped: bytes) -> bytes:
    """The bytes of a document that stand outside of its texts and are not dropped."""
    if b"\\" in data:
        data = re.sub(rb"\\.", b"", data, flags=re.DOTALL)
    left = data.translate(None, dropped)
    left = left.replace(b'""', b"")  # nearly all texts, or the end of a text and the beginning of the next
    return b"".join(left.split(b'"')[::2]) if b'"' in left else left


def _has_extremes(text: str | bytes) -> bool:
    """Whether a text may contain numbers that are refused: 19 digits, or an exponent of three."""
    if isinstance(text, str):
        return re.search(r"[0-9]{19}|[eE][+-]?[0-9]{3}", text) is not None
    return re.search(rb"[0-9]{19}|[eE][+-]?[0-9]{3}", text) is not None


def _may_hold_halves(text: str | bytes) -> bool:
    """Whether a text may contain half of a surrogate pair, as an escape or in the form of UTF-8 that json decodes."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return re.search(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]", data) is not None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise DocumentError(f"it holds {_shown(text)}, which is no finite number")
    return number


def _bounded(text: str) -> int:
    number = int(text) if len(text) < _LONGEST_INTEGER else 1 << _BITS
    if not -(1 << _BITS) <= number < 1 << _BITS:
        raise DocumentError(f"it holds {_shown(text)}, which is more than {_BITS} bits")
    return number


def _check(value: object) -> None:
    """Refuse what the parsers let through: integers of any length (tomllib) and escaped half surrogates (json)."""
    if isinstance(value, dict):
        for key, inner in value.items():
            _check(key)
            _check(inner)
    elif isinstance(value, list):
        for inner in value:
            _check(inner)
    elif isinstance(value, int) and not -(1 << _BITS) <= value < 1 << _BITS:
        raise DocumentError(f"it holds an integer of {value.bit_length()} bits, which is more than {_BITS}")
    elif isinstance(value, str) and not value.isascii():
        try:
            value.encode("utf-8", "surrogateescape")  # a byte that was not valid UTF-8, as 0.4.0 wrote it
        except UnicodeEncodeError as error:
            raise DocumentError(f"it holds half of a surrogate pair, {value[error.start]!a}") from error


def _shown(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:20]}..."
