"""Numbers as people and kernels write them, in ASCII digits: no underscores, no other scripts, no endless ones.

Python's `int` and `float` read more than that: "1_0", "+5", digits of other scripts, "nan", and numbers of hundreds of
digits, whose arithmetic with floats raises OverflowError where nothing expects it. Files of a machine are therefore
parsed here alone: .ci/text_numbers.py, a plugin of mypy, refuses `int` and `float` of text where such files are read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import AnyStr, Final

_WHOLE: Final = re.compile(r"[0-9]{1,24}", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_HEXADECIMAL: Final = re.compile(r"(?:0[xX])?0*([0-9a-fA-F]{1,16})", re.ASCII)
_FIRST_BEYOND: Final = 1 << 64
_LEAST: Final = -(1 << 63)
_SURE: Final = 19
"""Numbers of fewer digits fit 64 bits."""
_SHOWN: Final = 40


def whole_number(text: str) -> int | None:
    """A number of at most 64 bits, without sign, of decimal digits alone; None for another text."""
    if _WHOLE.fullmatch(text) is None:
        return None
    number = int(text)
    return number if number < _FIRST_BEYOND else None


def whole_numbers(texts: Sequence[AnyStr]) -> Sequence[int | None]:
    """Parse texts as `whole_number` does; one check of all takes 1.5 us for ten, a check of each 2.4."""
    digits = texts[0][:0].join(texts) if texts else ""
    if digits.isdigit() and digits.isascii() and all(texts) and max(map(len, texts)) < _SURE:
        return list(map(int, texts))
    return [whole_number(_text(text)) for text in texts]


def numbers_by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Whole numbers by their names, such as the pairs that a pattern finds in a file; others are left out."""
    return {name: number for name, text in pairs if (number := whole_number(text)) is not None}


def numbers_among(words: Iterable[str]) -> tuple[int, ...]:
    """The whole numbers among words, such as the processes among the names in /proc."""
    return tuple(number for word in words if (number := whole_number(word)) is not None)


def integer(text: str | bytes) -> int:
    """A decimal number of at most 64 bits, with blanks around it and perhaps a minus, as files of the kernel have it.

    Raises:
        ValueError: the text is another one, or the number has more bits.
    """
    digits = text.strip()
    if len(digits) < _SURE and digits.isdigit() and digits.isascii():
        return int(digits)
    return _integer(digits)


def integer_or_none(text: str | bytes | None) -> int | None:
    """Parse as `integer` does; None for another text, and for None."""
    digits = b"" if text is None else text.strip()
    if len(digits) < _SURE and digits.isdigit() and digits.isascii():
        return int(digits)
    try:
        return _integer(digits)
    except ValueError:
        return None


def hexadecimal(text: str | bytes) -> int:
    """A hexadecimal number of at most 64 bits without sign, with or without 0x, and blanks around it.

    Raises:
        ValueError: the text is another one, or the number has more bits.
    """
    if (match := _HEXADECIMAL.fullmatch(_text(text).strip())) is None:
        raise ValueError(f"{_text(text)[:_SHOWN]!r} is no hexadecimal number of 64 bits")
    return int(match[1], 16)


def integer_of_c(text: str) -> int:
    """A number as C writes it: decimal, or hexadecimal with 0x.

    Raises:
        ValueError: the text is neither, or the number has more than 64 bits.
    """
    return hexadecimal(text) if text.strip()[:2] in ("0x", "0X") else integer(text)


def decimal_number(text: str) -> float | None:
    """A finite number with or without sign, point and exponent, blanks around it; None for another text."""
    stripped = text.strip()
    if _DECIMAL.fullmatch(stripped) is None:
        return None
    number = float(stripped)
    return number if math.isfinite(number) else None


def decimal(text: str | bytes) -> float:
    """Parse as `decimal_number` does. Raises ValueError if the text is no finite number."""
    if (number := decimal_number(_text(text))) is None:
        raise ValueError(f"{_text(text)[:_SHOWN]!r} is no number")
    return number


def _integer(digits: str | bytes) -> int:
    """A number that may have a minus, or more digits than are sure to fit."""
    text = _text(digits)
    if _WHOLE.fullmatch(text.removeprefix("-")):
        number = int(text)
        if _LEAST <= number < _FIRST_BEYOND:
            return number
    raise ValueError(f"{text[:_SHOWN]!r} is no number of 64 bits")


def _text(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode("latin-1")
