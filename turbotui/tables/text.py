"""How one cell is written as text; every format for people and scripts of turbostat shares it."""

from __future__ import annotations

from typing import Any

from turbotui.quantities.columns import Column, Value
from turbotui.untrusted import one_line

UNKNOWN = "-"
"""Stands for a value that is not known, and for the place of the whole machine."""


def format_cell(column: Column[Any], value: Value, *, hexadecimal: bool = False) -> str:
    """One value with its column's decimals; `-` for unknown. No padding, no unit."""
    if value is None:
        return UNKNOWN
    if isinstance(value, str):
        return one_line(value)
    if hexadecimal and column.hexadecimal:
        return f"0x{round(value):x}"
    return number_text(column, value)


def number_text(column: Column[Any], value: float) -> str:
    """A number with its column's decimals, in full where it has none. A whole number of any size keeps its digits."""
    if column.decimals < 0 or (isinstance(value, int) and not column.decimals):
        return repr(value)
    return f"{value:.{column.decimals}f}"
