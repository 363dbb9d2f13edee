"""Write one cell as text, in the way that all formats for people and turbostat's scripts share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from turbotui.quantities.columns import Column, Value
from turbotui.untrusted import one_line

UNKNOWN = "-"
"""Stands for an unknown value, and for the topology ids of the whole machine."""


def format_cell(column: Column[Any], value: Value, *, hexadecimal: bool = False) -> str:
    """One value with its column's decimals; `-` if unknown. No padding, no unit."""
    if value is None:
        return UNKNOWN
    if isinstance(value, str):
        return one_line(value)
    if hexadecimal and column.hexadecimal:
        return f"0x{round(value):x}"
    return number_text(column, value)


def format_cells(column: Column[Any], values: Sequence[Value], *, hexadecimal: bool = False) -> list[str]:
    """`format_cell` of each value; values of one type, as nearly all columns have, share one look at the column."""
    if hexadecimal and column.hexadecimal:
        return [format_cell(column, value, hexadecimal=True) for value in values]
    return bulk_text(column, values, format_cell)


def bulk_text(column: Column[Any], values: Sequence[Value], text: Callable[[Column[Any], Value], str]) -> list[str]:
    """The text of each value: of numbers of one type that of `number_text`, of others that of a function."""
    kinds = set(map(type, values))
    if kinds == {float} and column.decimals >= 0 and not column.most_decimals:
        return list(map(f"%.{column.decimals}f".__mod__, values))
    if kinds == {int} and column.decimals <= 0 and not column.most_decimals:
        return list(map(repr, values))
    return [text(column, value) for value in values]


def number_text(column: Column[Any], value: float) -> str:
    """A number with its column's decimals, or in full if the column has none; whole numbers keep all their digits."""
    if column.decimals < 0 or (isinstance(value, int) and not column.decimals):
        return repr(value)
    return column.tiny(value) or f"{value:.{column.decimals_of(value)}f}"
