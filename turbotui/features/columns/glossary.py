"""The column glossary as Markdown, from the catalog itself: docs/columns.md carries it and a test keeps it true."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.formula_text import formula_of
from turbotui.quantities.signal_words import legend

BEGIN, END = "<!-- columns: begin (turbotui columns --markdown) -->", "<!-- columns: end -->"


def glossary_lines(columns: Iterable[CounterColumn]) -> Iterator[str]:
    """A table of every column, each id once, in print order."""
    yield "| column | scope | unit | what it says | formula |"
    yield "|---|---|---|---|---|"
    seen: set[str] = set()
    formulas = ""
    for column in columns:
        if column.id in seen:
            continue
        seen.add(column.id)
        mark = "" if column.default else " ¹"
        cells = (f"`{column.id}`{mark}", column.scope.value, column.unit, column.help, formula_of(column))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        formulas += cells[-1]
    yield ""
    yield from (f"- {line}." for line in legend(formulas))
