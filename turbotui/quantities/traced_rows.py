"""Rows whose numbers remember where they come from, so that the formula of a column over them can be written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from turbotui.quantities.columns import Column, R
from turbotui.quantities.formula_text import unrounded
from turbotui.quantities.traced import (
    ReadingKind,
    Traced,
    TracedOperation,
    TracedReading,
    number_text,
    term_of,
    written,
)


def arithmetic_lines(column: Column[R], row: R) -> tuple[str, ...]:
    """The formula of a column over the names of fields and counts, and the same with the numbers of a row in it.

    Args:
        column: whose `compute` is run.
        row: a dataclass; its numbers, and those of dataclasses and mappings in its fields, are named.

    Returns:
        The words of `Column.formula` where nothing is computed with; nothing where there are none.
    """
    if column.decimals >= 0 and not column.identity:
        numbers: dict[TracedReading, float] = {}
        value = column.compute(_traced_fields(row, numbers, inner=True))
        term = unrounded(term_of(value)) if isinstance(value, Traced) else None
        if isinstance(term, TracedOperation):
            return (f"= {written(term, lambda one: one.label)}",
                    f"= {written(term, lambda one: number_text(numbers[one]))}")
    return (f"= {column.formula}",) if column.formula else ()


def _traced_fields(row: Any, numbers: dict[TracedReading, float], *, inner: bool) -> Any:
    if not is_dataclass(row) or isinstance(row, type):
        return row
    found: dict[str, object] = {}
    for one in fields(row):
        value = getattr(row, one.name)
        if not one.init:
            continue
        if inner and is_dataclass(value):
            found[one.name] = _traced_fields(value, numbers, inner=False)
        elif isinstance(value, Mapping):
            found[one.name] = {key: _traced(number, str(key), numbers) for key, number in value.items()}
        else:
            found[one.name] = _traced(value, one.name.replace("_", " "), numbers)
    return replace(row, **found)


def _traced(value: object, label: str, numbers: dict[TracedReading, float]) -> object:
    if type(value) not in {int, float}:  # a bool, or a text, stays what it is
        return value
    reading = TracedReading(label, ReadingKind.VALUE, label)
    numbers[reading] = value  # type: ignore[assignment]  # a number, as above
    return Traced(value, reading)  # type: ignore[arg-type]  # as above
