"""Numbers as people and kernels write them, in ASCII digits: no underscores, no other scripts, no endless ones.

Python's `int` and `float` read more than that: "1_0", digits of other scripts, "nan", and `int` refuses 4,300 digits by
an exception that nothing expects behind `str.isdecimal`.
"""

from __future__ import annotations

import math
import re
from typing import Final

_WHOLE: Final = re.compile(r"[0-9]{1,40}", re.ASCII)
"""2^128 has 39 digits; nothing that is counted or numbered has more."""
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)


def whole_number(text: str) -> int | None:
    """A number without sign, of decimal digits alone; None for another text."""
    return int(text) if _WHOLE.fullmatch(text) else None


def decimal_number(text: str) -> float | None:
    """A finite number with or without sign, point and exponent, blanks around it; None for another text."""
    stripped = text.strip()
    if _DECIMAL.fullmatch(stripped) is None:
        return None
    number = float(stripped)
    return number if math.isfinite(number) else None
