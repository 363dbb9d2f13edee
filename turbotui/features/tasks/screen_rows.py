"""Contents of the tasks screen, made from the watcher's snapshots."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from turbotui.cell_widths import begin_of, cut, fitted, flush_left, flush_right
from turbotui.dataclass import dataclass
from turbotui.features.tasks.columns import TASK_COLUMNS, TaskColumn, TaskInputs, extra_columns
from turbotui.features.tasks.energy import share_out, why_not
from turbotui.features.tasks.fact_columns import ARGUMENTS
from turbotui.features.tasks.live import Lane, TaskSnapshot
from turbotui.features.tasks.process_tree import ProcessTree, folded_sums, still_rows, tree_lines, tree_of
from turbotui.features.tasks.screen_text import task_evidence
from turbotui.features.tasks.tables import TaskRow
from turbotui.features.tasks.task_table import TASKS, judge_task, says_something
from turbotui.features.tasks.timeline import place_texts, place_width
from turbotui.machine.tasks.proc_facts import TaskLooks
from turbotui.machine.topology import Topology
from turbotui.quantities.columns import Value
from turbotui.quantities.tables import RowTable
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.energy import Energy
from turbotui.widgets.cells import UNKNOWN, Slot, StyleRole
from turbotui.widgets.content import Line
from turbotui.widgets.geometry import Geometry
from turbotui.widgets.headings import Heading
from turbotui.widgets.painter import FOLDED, OPEN, TextSegment, merged
from turbotui.widgets.row_content import Naming, RowContent, RowPainter, RowView
from turbotui.widgets.slots import row_slots
from turbotui.widgets.table_view import RowList

THIN: Final = tuple(StyleRole[f"LANE_{lane}"] for lane in range(8))
FULL: Final = tuple(StyleRole[f"LANE_{lane}_FULL"] for lane in range(8))
"""Colours of CPUs 0 to 7; further ones begin again, and the number tells them apart."""
FILLED: Final = 0.5  # share of a place from which it is drawn filled
_NAME: Final = 15  # characters that the kernel keeps of a name (proc(5), comm)


def lane_head(window: float, places: int, cell: int) -> list[TextSegment]:
    """The time scale above a timeline: seconds before the last sample, at the quarters."""
    text = [" "] * (places * cell)
    for quarter in range(4):
        word = f"|-{window * (4 - quarter) / 4:g} s"
        at = places * cell * quarter // 4
        text[at : at + len(word)] = word
    line = "".join(text)[: places * cell]
    return [(f" {'TID':>7} {'Command':<{_NAME}} CPU%  ", StyleRole.TITLE), (line, StyleRole.TITLE)]


LANE_LEFT: Final = 8 + 1 + _NAME + 1 + 6
"""Characters before the lanes."""


def lane_cell(cpus: Iterable[int]) -> int:
    """Width of a timeline cell: that of the largest CPU number, so that no two CPUs look alike."""
    return place_width(max(cpus, default=0))


def lane_segments(lane: Lane, cell: int) -> list[TextSegment]:
    """A thread's timeline: the number of the CPU it ran on, filled if it ran at least half of the time.

    A point where it did not run, blank where nobody watched yet.
    """
    row = lane.row
    tid = UNKNOWN if row.tid is None else str(row.tid)
    head = f" {flush_right(tid, 7)} {fitted(row.name, _NAME)} {100 * lane.busy:4.0f}  "
    segments: list[TextSegment] = [(head, StyleRole.DIM if row.ended else StyleRole.PLAIN)]
    for at, (stretch, word) in enumerate(zip(lane.stretches, place_texts(lane.stretches, cell), strict=True)):
        if stretch is None:
            segments.append((" " * cell if at < lane.unwatched else word, StyleRole.DIM))
        else:
            segments.append((word, (FULL if stretch.share >= FILLED else THIN)[stretch.cpu % len(THIN)]))
    return merged(segments)


NAME: Final = "Command"
"""The column that has the tree."""
_NAMES: Final = (20, 36)
"""Characters of it, at least and at most."""
_DEEPEST: Final = 9
"""Steps to the right."""


def _words(row: TaskRow) -> str:
    return f"{row.application} {row.pid} {row.tid} {row.name}"


def _in_words(row: TaskRow) -> str:
    parts = [row.application, row.name or "(no name)", "" if row.pid is None else f"PID {row.pid}",
             "" if row.tid is None else f"TID {row.tid}", "" if row.threads == 1 else f"{row.threads} threads"]
    return " · ".join(part for part in parts if part)


NAMING: Final = Naming[TaskInputs](lambda inputs: inputs.row.key, lambda inputs: _words(inputs.row),
                                   lambda inputs: _in_words(inputs.row))


class TaskContent(RowContent[TaskInputs]):
    """The tasks of an interval and the threads of its timeline, some of which did not run in the interval.

    Args:
        energy: why there is no share of the energy; None where there is.
        lanes: of a timeline, busiest first; None for a table of numbers.
        tree: who made whom; None where rows stand in no tree.
        folded: processes of it that are folded.
    """

    def __init__(self, table: RowTable[TaskInputs], seq: int = 0, energy: Unavailable | None = None,
                 lanes: Sequence[Lane] | None = None, *, tree: ProcessTree | None = None,
                 folded: Iterable[Hashable] = ()) -> None:
        super().__init__(table, NAMING, seq)
        self.tree = tree
        if tree is not None:
            self._by_key |= folded_sums(self._by_key, tree, folded)
        self.energy = energy
        self.lanes = None if lanes is None else {lane.row.key: lane for lane in lanes}

    def _lane(self, row: Hashable) -> Lane | None:
        return (self.lanes or {}).get(str(row))

    def words(self, row: Hashable) -> str:
        lane = self._lane(row)
        return super().words(row) if lane is None else _words(lane.row).lower()

    def name(self, column: TaskColumn, row: Hashable) -> str:
        lane = self._lane(row)
        return super().name(column, row) if lane is None else _in_words(lane.row)


AMOUNTS: Final = "task-amounts"
"""Name of the table of a span: its columns and their order are chosen apart from those of intervals."""
_AMOUNTS: Final = frozenset({"CPU%", "Time_s", "GB", "~J", ARGUMENTS})
_ARGUMENTS_LEAST: Final = 12
"""Characters of arguments beside amounts at 80 characters, at least; they are widened to the room that is left."""


def amount_columns(columns: Iterable[TaskColumn]) -> tuple[TaskColumn, ...]:
    """The columns of a table of amounts: with amounts instead of rates, unless somebody chooses others."""
    return tuple(replace(column, default=column.id in _AMOUNTS or (column.identity and column.default),
                         width=_ARGUMENTS_LEAST if column.id == ARGUMENTS else column.width)
                 for column in map(_in_gigabytes, columns))


def _in_gigabytes(column: TaskColumn) -> TaskColumn:
    """The column of bytes in GB, because nobody reads the eleven digits of a minute; others as they are."""
    if column.id != "Bytes":
        return column
    return replace(column, id="GB", unit="GB", decimals=3, width=9, compute=_gigabytes)


def _gigabytes(inputs: TaskInputs) -> Value:
    count = inputs.numerics.bytes(inputs.row.counts)
    return None if count is None else count / 1e9


def known_columns(snapshot: TaskSnapshot) -> tuple[TaskColumn, ...]:
    """Every column, including one for each counter asked for by name."""
    live = [report for report in snapshot.reports if report.names]
    names = tuple(dict.fromkeys(name for report in live for name in report.names))
    definition = frozenset[str]().union(*(report.numerics.counters for report in live))
    every = (*TASK_COLUMNS, *extra_columns(names, definition))
    return tuple(sorted(every, key=lambda column: column.id == ARGUMENTS))  # last, and as wide as there is room


@dataclass(frozen=True, slots=True)
class PastTasks:
    """A snapshot of one interval, with its energy."""

    snapshot: TaskSnapshot
    spent: Energy  # energy of the interval
    seq: int  # its number
    looks: TaskLooks = field(default_factory=lambda: TaskLooks(None))  # what /proc said of them
    joules: Mapping[str, float] | None = None  # by the key of a row, of several intervals; None for a single one
    end_ns: int | None = None  # end of the frame's interval, in ns since 1970; None if no frame ended it


def content_of(kept: PastTasks, topology: Topology, folded: Iterable[Hashable] = (),
               cpu: int | None = None, *, name: str = TASKS) -> TaskContent:
    """The content of the table with a name for an interval, on one CPU only if it is given."""
    snapshot, energy = kept.snapshot, kept.spent
    live = [report for report in snapshot.reports if report.names]
    why = next(filter(None, (why_not(report, energy) for report in live)), None)
    columns = tuple(column for column in known_columns(snapshot)
        if says_something(column, snapshot.request.by, snapshot.reports, why, several=len(snapshot.reports) > 1))
    if name != TASKS:
        columns = amount_columns(columns)
    rows: list[TaskInputs] = []
    for report in live:
        joules = share_out(report, energy, topology) if kept.joules is None else kept.joules
        task_rows = [row for row in report.rows
                     if (not row.ended or row.counts["run"]) and (cpu is None or cpu in row.loads)]
        if snapshot.request.tree:
            task_rows += still_rows(task_rows, snapshot.ancestry)
        rows += [TaskInputs(row, report.seconds, report.numerics, joules.get(row.key), kept.looks, report.parallel)
                 for row in task_rows]
    rows.sort(key=lambda inputs: (inputs.row.pid or 0, inputs.row.tid or 0, inputs.row.name))
    table = RowTable(name, snapshot.request.by.value, columns, tuple(rows), judge_task(why),
                     lambda column, inputs: task_evidence(snapshot, why, inputs, column.id))
    lanes = [lane for lane in snapshot.lanes if cpu is None or cpu in lane.row.cpus]
    tree = tree_of((row.row for row in rows), snapshot.ancestry) if snapshot.request.tree else None
    return TaskContent(table, kept.seq, why, lanes if snapshot.request.window else None, tree=tree, folded=folded)


class TaskRows(RowList[RowContent[TaskInputs], TaskColumn, Hashable]):
    """Sorted task rows; timelines keep their own order, without those certain to fail the filter."""

    def arranged(self, content: RowContent[TaskInputs], view: RowView[TaskInputs]) -> Sequence[Line[Hashable]]:
        if isinstance(content, TaskContent) and content.lanes is None and content.tree is not None:
            return tree_lines(content, content.tree, view, self.last)
        if not isinstance(content, TaskContent) or content.lanes is None:
            return super().arranged(content, view)
        return [Line(key) for key in content.lanes if view.filter.may_pass(content.words(key))]


class TreePainter(RowPainter[TaskInputs]):
    """Paints names indented by their depth in the tree."""

    def ids(self, content: RowContent[TaskInputs], line: Line[Hashable]) -> list[TextSegment]:
        segments = super().ids(content, line)
        row = content.get(line.row)
        at = next((at for at, slot in enumerate(self.fixed) if slot.column.id == NAME), None)
        if row is None or at is None:
            return segments
        text = "".join(part for part, _ in segments)
        start = sum(slot.outer for slot in self.fixed[:at])
        mark = " " if line.open is None else OPEN if line.open else FOLDED
        name = f" {'  ' * min(line.depth, _DEEPEST)}{mark} {row.row.name}{'' if line.open is not False else ' Σ'}"
        width = self.fixed[at].outer
        role = StyleRole.PLAIN if row.row.cpu_ns else StyleRole.DIM
        return [*([("•", StyleRole.TAGGED)] if text.startswith("•") else [(" ", StyleRole.PLAIN)]),
                (begin_of(text, start)[1:], role), (flush_left(cut(name, width), width), role),
                (text[len(begin_of(text, start + width)):], role)]


def tree_slots(view: RowView[TaskInputs], width: int) -> tuple[tuple[Slot, ...], tuple[Slot, ...]]:
    """Column slots with room for indented names."""
    fixed, moving = row_slots(view, width)
    wide = max(_NAMES[0], min(_NAMES[1], width // 4))
    own = NAME in view.arrangement.widths
    return tuple(replace(slot, width=wide) if slot.column.id == NAME and not own else slot
                 for slot in fixed), moving


@dataclass(kw_only=True)
class LanePainter(RowPainter[TaskInputs]):
    """Paints timelines of where threads ran, in place of numbers."""

    window: float  # seconds of the timeline
    places: int  # characters of a lane, by `cell`
    cell: int  # characters of one place

    def header(self, _geometry: Geometry) -> list[TextSegment]:
        """The heading above lanes: the time scale."""
        return lane_head(self.window, self.places, self.cell)

    def headings(self, _geometry: Geometry) -> list[Heading]:
        """The headings of columns; the time scale has none."""
        return []

    def place(self, _geometry: Geometry, _index: int) -> None:
        """None: a lane has no cells."""

    def lines(self, content: RowContent[TaskInputs], lines: Sequence[Line[Hashable]],
              _geometry: Geometry) -> list[list[TextSegment]]:
        lanes = content.lanes if isinstance(content, TaskContent) and content.lanes is not None else {}
        line_lanes = [lanes.get(str(line.row)) for line in lines]
        return [[(" did not run in this window", StyleRole.DIM)] if lane is None
                else lane_segments(lane, self.cell) for lane in line_lanes]

