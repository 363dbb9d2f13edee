"""Floating-point formats."""

from __future__ import annotations

from enum import Enum


class Precision(Enum):
    """An IEEE 754 format; the value is its bytes."""

    SINGLE = 4
    DOUBLE = 8

    @property
    def word(self) -> str:
        """The word shown to people: "single", "double"."""
        return self.name.lower()
