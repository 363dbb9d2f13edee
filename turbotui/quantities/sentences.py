"""Turn texts that are parts of a line elsewhere into sentences of their own."""

from __future__ import annotations

from typing import Final

_NAMES: Final = frozenset({"perf", "turbotui", "cpu", "msr", "libpfm", "resctrl", "tmux", "kernel.perf_event_paranoid"})
"""First words that are names and keep their case."""


_SHORT: Final = frozenset({"e.g", "i.e", "vs", "vol", "ch", "no"})
"""Words that end with a period of their own."""


def as_sentence(text: str) -> str:
    """Capitalise a text, unless it begins with a name, a key, a path or a number."""
    first = text.partition(" ")[0].rstrip(",:;")
    is_word = len(first) > 1 and first.isalpha() and first.islower() and first not in _NAMES
    return text[:1].upper() + text[1:] if is_word else text


def clauses(text: str) -> list[str]:
    """Part a text at the ends of its sentences and at semicolons, outside of brackets."""
    parts = [""]
    for word in text.split():
        parts[-1] = f"{parts[-1]} {word}".lstrip()
        is_end = word.endswith((".", ";")) and word[:-1].lower() not in _SHORT
        if is_end and parts[-1].count("(") == parts[-1].count(")"):
            parts.append("")
    return [part.removesuffix(";") for part in parts if part]


def several(count: int, word: str) -> str:
    """A number with its noun: "1 CPU", "1,024 CPUs"."""
    return f"{count:,} {word}{'s' * (count != 1)}"


def yes_or_no(holds: bool) -> str:
    """A truth in a cell of a table."""
    return "yes" if holds else "no"
