"""Floating-point formats."""

from __future__ import annotations

from enum import Enum


class Precision(Enum):
    """A floating-point format; the value is its bytes. Half is binary16, or bfloat16 in matrix units that use it."""

    HALF = 2
    SINGLE = 4
    DOUBLE = 8

    @property
    def word(self) -> str:
        """The word shown to people: "half", "single", "double"."""
        return self.name.lower()
