"""Formats of numbers."""

from __future__ import annotations

from enum import Enum


class Precision(Enum):
    """A number format; the value is its bytes.

    HALF is binary16, or bfloat16 in instructions that sum its products. INT8 is not floating point: operations on it
    are never counted as FLOPs, and their roofs are kept apart (`RoofSet.integer_peaks`).
    """

    INT8 = 1
    HALF = 2
    SINGLE = 4
    DOUBLE = 8

    @property
    def word(self) -> str:
        """The word shown to people: "int8", "half", "single", "double"."""
        return self.name.lower()
