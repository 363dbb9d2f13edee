"""TOML and JSON that a person may have written: numbers that can be computed with, bounded nesting, one error.

Python's parsers take what no reader of a value expects: 1e999 is infinity to both (RFC 8259 section 6 leaves the range
to the parser, TOML 1.0 even has words for infinity and "not a number"), integers have any length, and nesting ends in a
RecursionError. Here each of these is a `DocumentError`, so that readers of values have only their kind to look at.
Texts are made visible.
"""

from __future__ import annotations

import functools
import math
import re

from turbotui.untrusted import is_plain_json, visible_in

_BITS = 63  # TOML 1.0, "Integer": arbitrary 64-bit signed integers; more is an error
_LONGEST_INTEGER = 4300  # characters; Python's own limit for int(), whose time grows with the square
_DEEPEST = 64  # parts of a dotted key: tomllib's time grows with the square of them (8 s for 20,000)
_LONG_KEY = rf"""(?<![\w.\-"'])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){{{_DEEPEST}}}"""
_TOO_DEEP = "it is nested too deeply"


class DocumentError(ValueError):
    """Why a text is not a document that can be used: "it is not TOML: ...", without the name of its file."""


@functools.cache
def _long_key() -> re.Pattern[str]:
    return re.compile(_LONG_KEY, re.ASCII)


def parse_toml(text: str) -> dict[str, object]:
    """The tables of a TOML document.

    Raises:
        DocumentError: it is not TOML (with the line), a number is not finite or too large, or it is nested too deeply.
    """
    import tomllib  # noqa: PLC0415 - most runs read no document

    if _long_key().search(text):
        raise DocumentError(_TOO_DEEP)
    try:
        found = tomllib.loads(text, parse_float=_finite)
        _check(found)
    except RecursionError:
        raise DocumentError(_TOO_DEEP) from None
    except DocumentError:
        raise
    except ValueError as error:
        raise DocumentError(f"it is not TOML: {error}") from error
    return visible_in(found)


def parse_json(text: str | bytes) -> object:
    """The value of a JSON document.

    Raises:
        DocumentError: it is not JSON (with the line), a number is not finite or too large, or it is nested too deeply.
    """
    import json  # noqa: PLC0415 - most runs read no document

    try:
        plain = is_plain_json(text)  # most are, and long
        if plain and not _has_extremes(text):
            found: object = json.loads(text, parse_constant=_finite)
        else:
            found = json.loads(text, parse_float=_finite, parse_int=_bounded, parse_constant=_finite)
        if not plain:
            _check(found)
    except RecursionError:
        raise DocumentError(_TOO_DEEP) from None
    except DocumentError:
        raise
    except UnicodeDecodeError as error:
        raise DocumentError(f"it is not UTF-8, at byte {error.start + 1}") from error
    except ValueError as error:
        raise DocumentError(f"it is not JSON: {error}") from error
    return found if plain else visible_in(found)


def _has_extremes(text: str | bytes) -> bool:
    """Whether a text may hold numbers that are refused: 19 digits, or an exponent of three."""
    if isinstance(text, str):
        return re.search(r"[0-9]{19}|[eE][+-]?[0-9]{3}", text) is not None
    return re.search(rb"[0-9]{19}|[eE][+-]?[0-9]{3}", text) is not None


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
    """Refuse what the parsers let through: tomllib integers of any length, json escaped halves of a surrogate pair."""
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
            value.encode("utf-8", "surrogateescape")  # a byte that was no UTF-8, as `json_text` writes it
        except UnicodeEncodeError as error:
            raise DocumentError(f"it holds half of a surrogate pair, {value[error.start]!a}") from error


def _shown(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:20]}..."
