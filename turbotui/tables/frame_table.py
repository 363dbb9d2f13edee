"""The CPU table: rows of a frame and columns of the catalog as a `Table`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import CounterColumn, Value
from turbotui.quantities.formula_text import formula_of
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.tables import Cell, CellColumn, CellEvidence, Identity
from turbotui.sampling.frame import Frame
from turbotui.tables.envelope import Envelope
from turbotui.tables.formats import Format
from turbotui.tables.frame_evidence import frame_evidence
from turbotui.tables.layout import PLACES, Layout, place_of

NAME = "cpus"


@dataclass(frozen=True, slots=True)
class FrameTable:
    """A frame as a table: the machine's row and the rows of a layout, or chosen rows."""

    frame: Frame
    layout: Layout
    chosen: tuple[RowId, ...] | None = None

    @property
    def name(self) -> str:
        return NAME

    @property
    def identity(self) -> Sequence[str]:
        """Words that identify a row: the levels of the topology by sysfs ids."""
        return tuple(scope.value for scope in PLACES)

    @property
    def columns(self) -> Sequence[CounterColumn]:
        return self.layout.columns

    @property
    def rows(self) -> Sequence[RowId]:
        return (SYSTEM_ROW, *self.layout.row_ids(self.frame)) if self.chosen is None else self.chosen

    def identify(self, row: RowId) -> Identity:
        return Identity(row.scope.value, place_of(self.frame, row))

    def values(self, column: CounterColumn, rows: Sequence[RowId]) -> Sequence[Value]:
        return self.frame.cells(column, rows)

    def cell(self, column: CounterColumn, row: RowId) -> Cell:
        """Return a cell; the machine's row has no position in the topology."""
        frame = self.frame
        value = None if column.identity and row is SYSTEM_ROW else frame.cell(column, row)
        if value is None:
            return Cell(None, frame.why(column, row))
        outstanding = column.rule is not None and bool(frame.cell(column.rule, row))
        lacking = frame.lacking(column, row)
        return Cell(value, lacking, frame.estimated(column, row), lacking is not None, frame.disputed(column, row),
                    frame.old(column, row), outstanding)

    def cells(self, column: CounterColumn, rows: Sequence[RowId]) -> CellColumn:
        """Return the cells of a column; of one without marks only what is unknown is looked at one by one."""
        if column.identity or not self.frame.is_unmarked(column):
            return CellColumn.of([self.cell(column, row) for row in rows])
        values = self.frame.cells(column, rows)
        return CellColumn(values, {at: Cell(None, self.frame.why_unknown(column, rows[at]))
                                   for at, value in enumerate(values) if value is None})

    def bare(self, column: CounterColumn, rows: Sequence[RowId]) -> Sequence[Value]:
        return self.frame.bare_cells(column, rows)

    def evidence(self, column: CounterColumn, row: RowId) -> CellEvidence:
        return frame_evidence(self.frame, column, row)

    def own_rows(self, column: CounterColumn) -> Sequence[RowId]:
        """Rows that hold each value once: those of the column's own level."""
        whole = column.whole_only or column.scope is Scope.SYSTEM or self.layout.summary_only
        return (SYSTEM_ROW,) if whole else self.frame.rows(column.scope)

    def formula(self, column: CounterColumn) -> str:
        return formula_of(column)


def envelope_of(frame: Frame, layout: Layout) -> Envelope:
    """The envelope of an interval of the CPU table."""
    return Envelope(layout.machine, layout.kind, frame.newer.wall_ns, frame.seconds, layout.meaning)


class TableOfFrames:
    """Frames in a format for tables."""

    def __init__(self, layout: Layout, written: Format) -> None:
        self._layout = layout
        self._format = written

    def lines(self, frame: Frame) -> Iterator[str]:
        yield from self._format.lines(envelope_of(frame, self._layout), FrameTable(frame, self._layout))

    def end(self) -> Iterator[str]:
        yield from self._format.end()
