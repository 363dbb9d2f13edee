"""turbostat's text layout: TABs, headers, `-` for the topology of the summary row (docs/specs/turbostat.md 1.3).

Values of a core or package are printed on the first row of that core or package, and a row ends where its data ends, as
scripts that parse turbostat expect. A row without data is not printed. There is no place for marks: a sum, mean or
maximum of which a part is unknown is `-`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from turbotui.cell_widths import flush_left, flush_right
from turbotui.machine.topology import Topology
from turbotui.quantities.columns import ColumnId, CounterColumn, Value
from turbotui.quantities.scope import SYSTEM_ROW, RowId
from turbotui.sampling.frame import Frame
from turbotui.tables.layout import Layout
from turbotui.tables.text import UNKNOWN, format_cell, format_cells

OUT_OF_RANGE = "nan"
"""What turbostat prints for an impossible percentage (docs/specs/turbostat.md 0)."""

_WIDE_FROM = 9_999_999  # a sum above this makes counts eight characters wide from then on (docs/specs/turbostat.md 1.3)
_WIDE = 8
_COUNTS: frozenset[ColumnId] = frozenset({"IRQ", "NMI"})
_RAW_NAME = 8  # raw words of 64 bits have names at least this wide (docs/specs/turbostat.md 1.3)
_RAW_DIGITS = 16
# fixed widths, followed by a TAB even at the end of a line (docs/specs/turbostat.md 1.3)
_CLOCKS: dict[ColumnId, str] = {"usec": "5.0f", "Time_Of_Day_Seconds": "17.6f"}


class TurbostatText:
    """Frames as turbostat prints them, each preceded by a line that says SIMULATED if nothing was measured."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._counts = tuple(column for column in layout.columns
                             if column.id in _COUNTS or "cpuidle" in column.groups)
        self._header = ""
        self._printed = 0
        self._wide = False
        self._printed_rows: tuple[Topology | None, Sequence[RowId], list[tuple[int, ...] | None]] = (None, (), [])

    def lines(self, frame: Frame) -> Iterator[str]:
        """Header if due, summary, rows."""
        layout = self._layout
        if not layout.columns:
            yield ""  # docs/specs/turbostat.md 1.3: one empty line an interval
            return
        if layout.label:
            yield f"# {layout.label}: no number below was {layout.kind.measured}"
        counts = () if self._wide else (frame.cell(column, SYSTEM_ROW) for column in self._counts)
        if any(isinstance(count, (int, float)) and count > _WIDE_FROM for count in counts):
            self._wide, self._header = True, ""
        # every interval has a header; with only a summary the first, and every n-th line if asked for
        every = layout.header_every if layout.summary_only else 1
        if not self._printed or (every is not None and self._printed % every == 0):
            self._header = self._header or "\t".join(map(self._title, layout.columns))
            yield self._header
        self._printed += 1
        yield self._line([self._summary(frame, column) for column in layout.columns])
        rows = layout.row_ids(frame)
        places = self._places_of_values(frame, rows)
        texts = [self._texts(frame, column, rows, at) for column, at in zip(layout.columns, places, strict=True)]
        yield from filter(None, map(self._line, zip(*texts, strict=True)))

    def end(self) -> Iterator[str]:
        """No lines at the end: every interval was complete when written."""
        return iter(())

    def _places_of_values(self, frame: Frame, rows: Sequence[RowId]) -> list[tuple[int, ...] | None]:
        """The places of the rows in which each column has a value; None for every row; found once per topology.

        A value of a core or package stands in the core's or package's first row.
        """
        topology, before, places = self._printed_rows
        if topology is not frame.topology or before != rows:
            places = []
            for column in self._layout.columns:
                at = tuple(number for number, row in enumerate(rows)
                           if not column.whole_only and frame.first_of_home(column, row))
                places.append(None if len(at) == len(rows) else at)
            self._printed_rows = frame.topology, rows, places
        return places

    def _title(self, column: CounterColumn) -> str:
        if self._wide and column.id in _COUNTS:
            return flush_right(column.title, _WIDE)
        if "added" in column.groups and column.decimals < 0 and column.width == _RAW_DIGITS:
            return flush_left(column.title, _RAW_NAME)
        return column.title

    def _summary(self, frame: Frame, column: CounterColumn) -> str:
        if column.identity:
            return UNKNOWN
        rows = (SYSTEM_ROW,)
        [value] = frame.bare_cells(column, rows)
        if value is None and column.unit == "%" and any(frame.out_of_range(column, rows)):
            return OUT_OF_RANGE
        return self._printed_values(column, (value,), hexadecimal=False)[0]

    def _texts(self, frame: Frame, column: CounterColumn, rows: Sequence[RowId], at: Sequence[int] | None) -> list[str]:
        """The cells of a column in these rows: empty but at the places that have a value."""
        if at == ():
            return [""] * len(rows)
        values = frame.bare_cells(column, rows)
        places = range(len(rows)) if at is None else at
        shown = values if at is None else [values[place] for place in at]
        texts = [""] * len(rows)
        for place, text in zip(places, self._printed_values(column, shown, hexadecimal=True), strict=True):
            texts[place] = text
        if column.unit == "%" and None in shown:
            impossible = frame.out_of_range(column, rows)
            for place in places:
                if impossible[place]:
                    texts[place] = OUT_OF_RANGE
        return texts

    def _printed_values(self, column: CounterColumn, values: Sequence[Value], *, hexadecimal: bool) -> Sequence[str]:
        if (clock := _CLOCKS.get(column.id)) is not None:
            return [f"{value:{clock}}" if isinstance(value, int | float) else format_cell(column, value)
                    for value in values]
        texts = format_cells(column, values, hexadecimal=hexadecimal)
        return [flush_right(text, _WIDE) for text in texts] if self._wide and column.id in _COUNTS else texts

    def _line(self, cells: Iterable[str]) -> str:
        """Join cells with TABs; a line ends where its data ends, except after a clock."""
        line = "\t".join(cells).rstrip("\t")  # no cell has a TAB of its own (`untrusted.one_line`)
        return f"{line}\t" if line and self._layout.columns[line.count("\t")].id in _CLOCKS else line
