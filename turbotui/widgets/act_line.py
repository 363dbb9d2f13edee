"""A command line that a person may run; it is shown and copied, and never run. Nothing here knows Textual."""

from __future__ import annotations

from turbotui.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ActLine:
    """A command line, and what it does.

    Attributes:
        heading: what it is about.
        words: the line as a shell takes it.
        meaning: a sentence.
    """

    heading: str
    words: str
    meaning: str
