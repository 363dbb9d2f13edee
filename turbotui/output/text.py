"""turbostat's text layout: TAB-separated, a header before every interval, `-` for the topology of the summary row.

Values of a core or package stand on the first row of that core or package, and a row ends where its data ends, as
scripts that read turbostat expect (turbostat-spec 1.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from turbotui.quantities.columns import Category, Cell, Column
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.sampling.frame import Frame

UNKNOWN = "-"


def format_cell(column: Column, value: Cell, *, hexadecimal: bool = False) -> str:
    """One value with its column's decimals; `-` for unknown. No padding, no unit."""
    if value is None:
        return UNKNOWN
    if isinstance(value, str):
        return value
    if hexadecimal and column.hexadecimal:
        return f"0x{round(value):x}"
    return f"{value:.{max(column.decimals, 0)}f}"


def header_line(columns: Sequence[Column]) -> str:
    """The column names."""
    return "\t".join(column.title for column in columns)


def summary_line(frame: Frame, columns: Sequence[Column]) -> str:
    """The row of the whole machine."""
    return "\t".join(
        UNKNOWN if column.category is Category.TOPOLOGY else format_cell(column, frame.cell(column, SYSTEM_ROW))
        for column in columns
    ).rstrip("\t")


def row_line(frame: Frame, columns: Sequence[Column], row: RowId) -> str:
    """The row of one CPU."""
    cells = [
        format_cell(column, frame.cell(column, row), hexadecimal=True)
        if not column.whole_only and frame.first_of_home(column, row)
        else ""
        for column in columns
    ]
    return "\t".join(cells).rstrip("\t")


def frame_lines(frame: Frame, columns: Sequence[Column], *, summary_only: bool = False) -> Iterator[str]:
    """Header, summary and one line for each CPU."""
    if not columns:
        yield ""  # turbostat-spec 1.3: one empty line an interval
        return
    yield header_line(columns)
    yield summary_line(frame, columns)
    if not summary_only:
        for row in frame.rows(Scope.CPU):
            yield row_line(frame, columns, row)
