"""Prints tables of top-down analyses: as text with bars and advice, or in another format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from turbotui.commands.formats import text_lines
from turbotui.commands.intervals import IntervalOutput
from turbotui.features.topdown.engine import TopdownCounters
from turbotui.features.topdown.model import TopdownRow
from turbotui.features.topdown.places import CpuSet, RowLevel, places
from turbotui.features.topdown.tables import (
    BAR,
    BY_TIME,
    HOTTEST,
    RAN,
    TOPDOWN,
    TOTAL,
    TopdownColumn,
    node_of,
    region_table,
    table_of,
    topdown_table,
)
from turbotui.machine.machine import Machine
from turbotui.quantities.sentences import several
from turbotui.quantities.tables import RowTable
from turbotui.sampling.frame import Frame
from turbotui.tables.envelope import Envelope


class TopdownPrinter:
    """Prints the table of every interval."""

    def __init__(self, counters: TopdownCounters, level: RowLevel, levels: int, output: IntervalOutput,
                 notes: tuple[str, ...] = ()) -> None:
        self._notes = notes
        self._counters = counters
        self.level = level
        self._levels = levels
        self._output = output

    def all(self, machine: Machine, frames: Iterable[Frame]) -> None:
        """Print all intervals, until SIGINT at the latest."""
        with self._output.until_interrupted():
            for frame in frames:
                self._interval(machine, frame)

    def _interval(self, machine: Machine, frame: Frame) -> None:
        rows: Sequence[CpuSet] = places(frame.topology, self.level)
        table = topdown_table(self._counters, frame, self.level, rows, self._levels)
        self.write(machine, (table,), frame.seconds, wall_ns=frame.newer.wall_ns)

    def rows(self, machine: Machine, rows: Sequence[TopdownRow], seconds: float, *,
             regions: Sequence[TopdownRow] = (), notes: Sequence[str] = (), wall_ns: int | None = None) -> None:
        """Print rows of threads, and regions of a command."""
        tables = [table_of(self._counters, self.level, rows, self._levels)]
        if regions:
            tables.append(region_table(self._counters, regions, self._levels))
        self.write(machine, tables, seconds, notes=notes, wall_ns=wall_ns)

    def write(self, machine: Machine, tables: Sequence[RowTable[TopdownRow]], seconds: float | None, *,
              notes: Sequence[str] = (), wall_ns: int | None = None) -> None:
        """Print tables of one interval.

        Args:
            seconds: the length of the interval.
            notes: notes for the reader.
            wall_ns: the end of the interval; None for now.
        """
        facts = {branch.pmu: branch.tree.title for branch in self._counters.branches}
        faults = (row.fault() for table in tables for row in table.rows)
        host = machine.host
        envelope = Envelope(host.name, host.kind, host.wall_ns() if wall_ns is None else wall_ns, seconds, facts=facts,
                            notes=tuple(dict.fromkeys((*filter(None, faults), *notes, *self._notes))))
        self._output.write(envelope, tables, lambda: _text(envelope, tables, facts.values(), self._shallow()))

    def _shallow(self) -> Iterator[str]:
        """Yield a note on each tree that ends above the requested level."""
        for tree in {branch.tree.name: branch.tree for branch in self._counters.branches}.values():
            if tree.deepest < self._levels:
                yield f"{tree.title}: has {'level 1' if tree.deepest == 1 else f'levels 1 to {tree.deepest}'} only"

    def end(self) -> None:
        """End the output."""
        self._output.end()


def _text(envelope: Envelope, tables: Sequence[RowTable[TopdownRow]], trees: Iterable[str],
          remarks: Iterable[str]) -> Iterator[str]:
    """Format tables with bars in place of ids, and advice on the largest loss."""
    yield envelope.heading(TOPDOWN)
    yield f"# {'; '.join(dict.fromkeys(trees))}"
    asleep = sum(_is_asleep(row) for table in tables for row in table.rows)
    tables = [replace(table, rows=[row for row in table.rows if not _is_asleep(row)]) for table in tables]
    for number, table in enumerate(tables):
        if number:
            yield "# marked regions"
        ran = next(column for column in table.columns if column.id == RAN.id)
        shared = any((ran.compute(row) or 100.0) != 100.0 for row in table.rows)
        name = table.columns[0]
        ids = [column for column in table.columns if column.id in ("PID", "TID", "Type")
               and any(column.compute(row) is not None for row in table.rows)]
        kept = (name, *ids, BAR, *_shown(table), *((ran,) if shared else ()), HOTTEST)
        yield from text_lines(envelope, replace(table, columns=kept))
    if asleep:
        yield f"# {several(asleep, 'thread')} did not run"
    yield from (f"# ! {text}" for text in envelope.notes)
    rows = [row for table in tables for row in table.rows]
    hottest = {node.id: node for row in rows if not row.fault() for node in row.hottest_path()}
    for node in hottest.values():
        yield f"# {node.words.title}: {node.words.sentence} Try: {node.words.advice}."
    whys = dict.fromkeys(cell.why.sentence() for table in tables for row in table.rows for column in _measured(table)
                         for cell in [table.cell(column, row)] if cell.why is not None)
    yield from (f"# - {why}" for why in (*remarks, *whys))
    yield ""


def _measured(table: RowTable[TopdownRow]) -> Sequence[TopdownColumn]:
    apart = {HOTTEST.id, TOTAL.id, RAN.id, BY_TIME.id}
    return [column for column in table.columns if not column.identity and column.id not in apart]


def _shown(table: RowTable[TopdownRow]) -> Sequence[TopdownColumn]:
    """Return the columns of numbers that some row has; all of them if no row has any.

    A category of level 1 that lacks an event is shown as unknown, so that the others do not look like the whole.
    """
    measured = _measured(table)
    parts = {node.id for row in table.rows if row.missing for node in row.nodes()}
    return [column for column in measured if node_of(column) in parts
            or any(table.cell(column, row).value is not None for row in table.rows)] or measured


def _is_asleep(row: TopdownRow) -> bool:
    """Tell whether a row is a thread that did not run, of which there may be thousands; text omits them."""
    return row.place.level is RowLevel.THREAD and row.busy == 0
