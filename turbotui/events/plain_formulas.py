"""Formulas as people type them: without a title, and with generic events that contain a hyphen without quotes."""

from __future__ import annotations

import re
from typing import Final

from turbotui.events.names import generic_event
from turbotui.quantities.event_columns import ELAPSED

_TITLED: Final = re.compile(r"(?a)\s*[A-Za-z_][\w%+.-]*\s*=(?!=)")
_WORD: Final = re.compile(r"(?a)(?P<event>[A-Za-z_]\w*(?:-[A-Za-z_]\w*)*)(?P<modifier>:[ukhpGPHSDIWebRX]+)?(?![\w.'])")
_NUMBER: Final = r"(?a)(?<![\w.])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_SHORT: Final = {"instructions": "ins", "cycles": "cyc", "cpu-cycles": "cyc"}
"""What events are called behind "_per_", where the titles of columns are long."""
_LONGEST: Final = 32


def as_formula(text: str) -> str:
    """The text with its generic events in quotes where a hyphen needs them, and with a title where it is arithmetic.

    `cache-misses/instructions` becomes `cache-misses_per_ins='cache-misses'/instructions`. A text that holds quotes,
    groups or anything but arithmetic over generic events is returned unchanged, for the grammar of `--add`.
    """
    if "'" in text or "{" in text:
        return text
    titled = _TITLED.match(text)
    begin = titled.end() if titled else 0
    body, comma, options = text[begin:].partition(",")
    words = list(_WORD.finditer(body))
    known = [word for word in words if generic_event(word["event"]) is not None]
    rest = re.sub(_NUMBER, "", _WORD.sub("", body))
    if not known or not re.fullmatch(r"[\s()+*/-]*[+*/-][\s()+*/-]*", rest):
        return text
    if len(known) + sum(word[0] == ELAPSED for word in words) < len(words):
        return text
    formula = _WORD.sub(lambda word: f"'{word[0]}'" if "-" in word[0] or word["modifier"] else word[0], body)
    title = text[:begin] if titled else f"{_title(body)}="
    return f"{title}{formula.strip()}{comma}{options}"


def _title(body: str) -> str:
    """A title that the grammar of formulas and filters takes."""
    parts = [part.strip() for part in body.split("/")]
    if len(parts) == 2 and all(_WORD.fullmatch(part) for part in parts):
        above, below = (part.partition(":")[0] for part in parts)
        return f"{above}_per_{_SHORT.get(below, below)}"
    return re.sub(r"(?a)[^\w.-]+", "_", body.strip()).lstrip("0123456789_-.")[:_LONGEST].rstrip("_-.") or "formula"
