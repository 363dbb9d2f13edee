"""Turn texts that are parts of a line elsewhere into sentences of their own."""

from __future__ import annotations

from typing import Final

_NAMES: Final = frozenset({"perf", "turbotui", "cpu", "msr", "libpfm", "resctrl", "tmux", "kernel.perf_event_paranoid"})
"""First words that are names and keep their case."""


def as_sentence(text: str) -> str:
    """Capitalise a text, unless it begins with a name, a key, a path or a number."""
    first = text.partition(" ")[0].rstrip(",:;")
    is_word = len(first) > 1 and first.isalpha() and first.islower() and first not in _NAMES
    return text[:1].upper() + text[1:] if is_word else text


def several(count: int, word: str) -> str:
    """A number with its noun: "1 CPU", "1,024 CPUs"."""
    return f"{count:,} {word}{'s' * (count != 1)}"
