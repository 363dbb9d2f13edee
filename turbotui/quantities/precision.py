"""Floating-point formats."""

from __future__ import annotations

from enum import Enum


class Precision(Enum):
    """A floating-point format; the value is its bytes. Half is binary16, and bfloat16 where a matrix unit has that."""

    HALF = 2
    SINGLE = 4
    DOUBLE = 8

    @property
    def word(self) -> str:
        """The word shown to people: "half", "single", "double"."""
        return self.name.lower()
