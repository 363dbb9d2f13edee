"""The text of a screen that has nothing to show on a machine. Nothing here knows Textual."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from turbotui.quantities.sentences import as_sentence
from turbotui.quantities.unavailable import Unavailable
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment

MARGIN: Final = 2
_WIDEST: Final = 100
"""Characters of a line that is still read easily."""


def wrapped(text: str, role: StyleRole, width: int, *, hang: int = 0) -> list[list[TextSegment]]:
    """Wrap a text to this width; further lines are indented by `hang`."""
    room = max(20, min(_WIDEST, width - 2 * MARGIN))
    return [[(" " * MARGIN + line, role)] for line in textwrap.wrap(text, room, subsequent_indent=" " * hang)]


def absence_lines(title: str, why: Unavailable, width: int) -> list[list[TextSegment]]:
    """Format what is missing, why, and each possible remedy."""
    blank: Sequence[TextSegment] = (("", StyleRole.PLAIN),)
    remedies = [part.strip() for part in why.remedy.split(";") if part.strip()]
    tried = [line for part in remedies for line in wrapped(f"to do: {part}", StyleRole.KEY, width, hang=7)]
    return [list(blank), *wrapped(title, StyleRole.SUMMARY, width), list(blank),
            *wrapped(as_sentence(f"{why.reason.value}: {why.detail}."), StyleRole.PLAIN, width), list(blank), *tried]
