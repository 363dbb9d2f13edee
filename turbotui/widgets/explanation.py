"""The text of the window that explains one cell, the same for every table. Nothing here knows Textual."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from turbotui.quantities.columns import Column, CounterColumn
from turbotui.quantities.formula_text import formula_of
from turbotui.quantities.marks import DISPUTED, PARTIAL
from turbotui.quantities.sentences import as_sentence, clauses
from turbotui.quantities.tables import Cell, CellEvidence
from turbotui.quantities.verification import held_against
from turbotui.sampling.history import HistoryRing
from turbotui.widgets.cells import in_words
from turbotui.widgets.content import Content
from turbotui.widgets.painter import nice_top
from turbotui.widgets.slots import HISTORY
from turbotui.widgets.spark import spark


def explanation(content: Content[Any, Any] | None, column: Column[Any], row: object, past: Sequence[str] = (),
                width: int = 96) -> list[str]:
    """The lines that explain a cell: what the column is, its arithmetic, marks and past, all of its help, its evidence.

    Args:
        content: the table; None before the first reading.
    """
    first, *further = clauses(column.help) or [""]
    lines = textwrap.wrap(first, width)
    start = f"  {column.id} "
    if content is None:
        return [*lines, *_hanging(start, f"= {formula_of(column)}", width), "no reading yet"]
    cell, evidence = content.cell(column, row), content.evidence(column, row)
    if column.formula and f"= {column.formula}" not in evidence.arithmetic:
        lines += _hanging("  ", column.formula, width)
    result = () if cell.value is None else (f"= {in_words(column, cell.value)}",)
    if column.shown is not None and isinstance(cell.value, int | float) and len(evidence.arithmetic) > 1:
        own = replace(column, shown=None)  # the unit of the numbers above
        result = (f"= {column.shown.worked(own.amount(cell.value, unit=False))}", *result)
    for at, text in enumerate((*evidence.arithmetic, *result)):
        lines += _hanging(" " * len(start) if at else start, text, width)
    if cell.value is None:
        lines += textwrap.wrap(f"unknown: {cell.why.sentence()}" if cell.why else "unknown", width)
    for text in _marks(cell):
        lines += _hanging("  ", text, width)
    held = held_against("column", column.id) if isinstance(column, CounterColumn) else ""
    remarks = (f"follows {column.document}" if column.document else "", held)
    more = [line for text in further for line in _hanging("", as_sentence(text), width)]
    return [*lines, *past, *([""] if more else []), *more,
            *evidence_lines(evidence, width, tuple(filter(None, remarks)))]


def evidence_lines(evidence: CellEvidence, width: int, more: Sequence[str] = ()) -> list[str]:
    """Readings and remarks, each after an empty line, with further remarks."""
    lines: list[str] = [""] if evidence.readings else []
    for first, *rest in evidence.readings:
        lines += _hanging("", first, width)
        for text in rest:
            lines += _hanging("    ", text, width)
    remarks = (*evidence.remarks, *more)
    return [*lines, *([""] if remarks else []), *(line for text in remarks for line in _hanging("", text, width))]


def _marks(cell: Cell) -> list[str]:
    marks: list[str] = []
    for mark in cell.marks:
        reasons = cell.disputed if mark is DISPUTED else (cell.why.sentence(),) if mark is PARTIAL and cell.why else ()
        marks += [f"{mark.sign} {mark.name}: {text}" for text in reasons or (mark.meaning,)]
    return marks


def past_lines(column: Column[Any], ring: HistoryRing | None, top: float | None, seq: int) -> list[str]:
    """Least, greatest and mean of a cell since they were last reset; none if its history was not kept."""
    if ring is None or not ring.count or ring.mean is None:
        return [] if column.decimals < 0 else ["  min, mean and max are kept from now on"]
    shown = top or nice_top(ring.high)
    low, mean, high = (in_words(column, number) for number in (ring.low, ring.mean, ring.high))
    return [f"  over {ring.count} interval{'s' * (ring.count != 1)}: min {low}  mean {mean}  max {high}",
            f"  {spark(ring.values(HISTORY), shown, 30, seq)}  0 to {in_words(column, shown)}"]


def _hanging(start: str, text: str, width: int) -> list[str]:
    """Wrap a text at its blanks; further lines start below the first word after `start`."""
    return textwrap.wrap(text, max(30, width), initial_indent=start, subsequent_indent=" " * (len(start) + 2),
                         break_long_words=False, break_on_hyphens=False)
