"""The table of a top-down analysis: a row for each part of the machine, a column for each node, the hottest path."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.features.topdown.bars import bar_text
from turbotui.features.topdown.engine import PART_OF_CORE, EventGroup, GroupCounts, TopdownCounters
from turbotui.features.topdown.model import UNSPLIT, TopdownRow, count_name
from turbotui.features.topdown.places import MOVING, CpuSet, RowLevel
from turbotui.features.topdown.trees import Node
from turbotui.quantities.columns import PERCENT, Column, Value
from turbotui.quantities.sentences import several
from turbotui.quantities.tables import Cell, CellEvidence, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame


class _Counted:
    """A group's counts in an interval, prepared for rows."""

    def __init__(self, group: EventGroup, counts: GroupCounts) -> None:
        self.branch, self.key, self.why = group.branch, (group.branch.pmu, group.parent), counts.why
        self.title = group.request.text
        self.missing = counts.missing
        self.columns = tuple(counts.counts.values())
        self.names = [count_name(group.branch, group.parent, name, several=False) for name in counts.counts]
        self.long_names = [count_name(group.branch, group.parent, name, several=True) for name in counts.counts]
        self.ran = counts.ran
        self._known = [None not in each for each in zip(*self.columns, strict=True)]
        if self._known and (cores := group.branch.cores):  # the slots of a core are of use with all of its CPUs only
            torn = {core for core, known in zip(cores, self._known, strict=True) if not known}
            self._known = [core not in torn for core in cores]
        self._all = all(self._known)

    def known(self, at: Sequence[int]) -> Sequence[int]:
        return at if self._all else [position for position in at if self._known[position]]


def rows_of(counters: TopdownCounters, frame: Frame | None, wanted: Sequence[CpuSet]) -> tuple[TopdownRow, ...]:
    """Return the rows of an interval."""
    counted = [_Counted(group, counters.counted(frame, group)) for group in counters.groups()]
    return tuple([_row(counters, counted, place) for place in wanted])


def _row(counters: TopdownCounters, counted: Sequence[_Counted], place: CpuSet) -> TopdownRow:
    positions = counters.positions(place.cpus)
    counts: dict[str, float] = {}
    ran: dict[tuple[str, str], float] = {}
    missing: dict[str, Unavailable] = {}
    whys: dict[tuple[str, str], Unavailable] = {}
    partial: set[tuple[str, str]] = set()
    for group in counted:
        if not (at := positions.get(group.branch.pmu)):
            continue
        if group.why is not None:
            whys[group.key] = group.why
            continue
        known = group.known(at)
        if not known:
            whys[group.key] = PART_OF_CORE if group.branch.cores else Unavailable(
                Reason.NOT_READ, f"{group.title} is not counted on these CPUs")
            continue
        if len(known) < len(at):
            partial.add(group.key)
        for name, why in group.missing.items():
            missing[count_name(group.branch, group.key[1], name, several=len(positions) > 1)] = why
        for name, column in zip(group.names if len(positions) == 1 else group.long_names, group.columns, strict=True):
            counts[name] = math.fsum([column[position] or 0.0 for position in known])  # known: none is None
        times = [group.ran[position] for position in known]
        if times and None not in times:
            ran[group.key] = math.fsum([part or 0.0 for part in times]) / len(times)
    branches = tuple([branch for branch in counters.branches if branch.pmu in positions])
    return TopdownRow(place, branches, counts, ran, whys, frozenset(partial), missing=missing)


TOPDOWN: Final = "topdown"
REGIONS: Final = "regions"
TABLES: Final = (TOPDOWN, REGIONS)
BAR_WIDTH: Final = 40
TopdownColumn: TypeAlias = Column[TopdownRow]
_NOTHING: Final = Unavailable(Reason.NOT_READ, "this row has no such value")
_METHOD: Final = "Yasin, A Top-Down Method, ISPASS 2014"


def _of_place(name: str) -> Callable[[TopdownRow], Value]:
    return lambda row: getattr(row.place, name)


NAME: Final[TopdownColumn] = Column("Place", "", -1, (), _of_place("name"), width=12, priority=0, identity=True,
                                    help="The row: a part of the machine, a thread, or a region.")
_IDENTITY: Final = {
    RowLevel.MACHINE: (),
    RowLevel.PACKAGE: ("package",),
    RowLevel.KIND: ("kind",),
    RowLevel.CORE: ("package", "core", "kind"),
    RowLevel.CPU: ("package", "core", "cpu", "kind"),
    RowLevel.THREAD: ("pid", "tid", "kind"),
    RowLevel.COMMAND: (),
    RowLevel.REGION: (),
}
_IDS: Final[dict[str, TopdownColumn]] = {
    "package": Column("Package", "", 0, (), _of_place("package"), width=7, identity=True,
                      help="The package that contains the row."),
    "core": Column("Core", "", 0, (), _of_place("core"), width=4, identity=True,
                   help="The core that contains the row."),
    "cpu": Column("CPU", "", 0, (), _of_place("cpu"), width=4, identity=True, help="The CPU of the row."),
    "pid": Column("PID", "", 0, (), _of_place("pid"), width=7, identity=True, help="The id of the process."),
    "tid": Column("TID", "", 0, (), _of_place("tid"), width=7, identity=True, help="The id of the thread."),
    "kind": Column("Type", "", -1, (), lambda row: row.place.kind or None, width=4, identity=True,
                   help="The core type: P, E, LP, or an Arm capacity class."),
}


@dataclass(frozen=True, slots=True)
class _Share:
    node: str

    def __call__(self, row: TopdownRow) -> Value:
        return row.percent(self.node)


def node_column(node: Node) -> TopdownColumn:
    """Make the column of a node."""
    return Column(node.words.column, "%", 1, (), _Share(node.id), width=max(6, len(node.words.column)),
                  priority=node.level, scale=PERCENT, document=node.document,
                  help=f"{node.words.heading}, level {node.level}. {node.words.sentence}")


def node_of(column: TopdownColumn) -> str:
    """Return the node of a column; "" for other columns."""
    return column.compute.node if isinstance(column.compute, _Share) else ""


def _hottest(row: TopdownRow) -> Value:
    if row.fault():
        return None
    node = row.hottest()
    return None if node is None else node.words.title


def _slots(row: TopdownRow) -> Value:
    slots = row.slots()
    return None if slots is None or row.refused is not None or row.unsplit else slots * 1e-9


def _ran(row: TopdownRow) -> Value:
    values = list(row.ran.values())
    return 100.0 * min(values) if values else None


def _ran_first(row: TopdownRow) -> Value:
    values = [ran for (_pmu, parent), ran in row.ran.items() if not parent]
    return 100.0 * min(values) if values else None


HOTTEST: Final[TopdownColumn] = Column("Hottest", "", -1, (), _hottest, width=15, priority=0, document=_METHOD,
                                       help="The category of level 1 with the largest share, without useful work.")
TOTAL: Final[TopdownColumn] = Column("Sum%", "%", 1, (), TopdownRow.total, width=6, priority=4, document=_METHOD,
                                     help="The sum of the categories of level 1; if it is not about 100, the shares "
                                          "are doubtful.")
SLOTS: Final[TopdownColumn] = Column("GSlots", "10^9", 2, (), _slots, width=8, priority=5, document=_METHOD,
                                     accumulates=True,
                                     help="Slots of the interval in thousands of millions; cycles where the core "
                                     "cannot tell slots.")
RAN: Final[TopdownColumn] = Column("Ran%", "%", 0, (), _ran, width=4, priority=5,
                                   document="perf_event_open(2), time_running",
                                   help="The share of the interval in which the counters ran; counts are scaled to the "
                                        "whole interval.")


def _busy(row: TopdownRow) -> Value:
    return None if row.unsplit and not row.several else row.busy  # of all core types together it is known


BUSY: Final[TopdownColumn] = Column("CPU%", "%", 1, (), _busy, width=6, priority=0,
                                    document="perf_event_open(2), time_enabled",
                                    help="CPU time in the interval; 100 is one CPU.")


def _of_extent(name: str, factor: float = 1.0) -> Callable[[TopdownRow], Value]:
    def compute(row: TopdownRow) -> Value:
        value = None if row.extent is None else getattr(row.extent, name)
        return None if value is None else value * factor

    return compute


SLOTS_PERCENT: Final = "Slots%"
_REGION: Final[TopdownColumn] = replace(NAME, id="Region", help="Name of the region, as the command marks it.")
_EXTENT: Final[tuple[TopdownColumn, ...]] = (
    Column("Entered", "", 0, (), _of_extent("entries"), width=7, priority=0,
           help="Number of times that a thread entered the region."),
    Column("Seconds", "s", 3, (), _of_extent("seconds"), width=8, priority=0,
           help="Time in which the region was open in at least one thread."),
    Column("Time%", "%", 1, (), _of_extent("of_time", 100.0), width=6, priority=0, scale=PERCENT,
           help="Share of the time for which the command ran."),
    Column(SLOTS_PERCENT, "%", 1, (), _of_extent("of_slots", 100.0), width=6, priority=0, scale=PERCENT,
           help="Share of all slots of the command."),
)
BY_TIME: Final[TopdownColumn] = Column(
    "ByTime%", "%", 1, (), _of_extent("apportioned", 100.0), width=7, priority=5,
    help="Share of its time whose counts are its share by time of what was read together with other work.")
EXACT: Final = 0.05
"""The share of a region's time that may be apportioned without a mark."""


def region_table(counters: TopdownCounters, rows: Sequence[TopdownRow], levels: int = 1) -> RowTable[TopdownRow]:
    """Make the table of the regions of a command."""
    table = table_of(counters, RowLevel.REGION, rows, levels)
    _name, *others = table.columns
    return replace(table, name=REGIONS, columns=(_REGION, *_EXTENT, *others, BY_TIME))


def columns_of(counters: TopdownCounters, levels: int) -> tuple[TopdownColumn, ...]:
    """Return the columns of all trees' nodes down to a level, level by level."""
    nodes = [node for branch in counters.branches for node in branch.tree.nodes if node.level <= levels]
    columns: dict[str, TopdownColumn] = {}
    for node in sorted(nodes, key=lambda node: node.level):
        columns.setdefault(node.id, node_column(node))
    return tuple({column.id: column for column in columns.values()}.values())


def topdown_table(counters: TopdownCounters, frame: Frame | None, level: RowLevel, places: Sequence[CpuSet],
                  levels: int = 1) -> RowTable[TopdownRow]:
    """Make the table of an interval, of these rows and so many levels of columns; None before the first."""
    return table_of(counters, level, rows_of(counters, frame, places), levels)


def table_of(counters: TopdownCounters, level: RowLevel, rows: Sequence[TopdownRow],
             levels: int = 1) -> RowTable[TopdownRow]:
    """Make the table of given rows."""
    ran = RAN if levels > 1 else replace(RAN, compute=_ran_first)  # of the shown columns
    busy = (BUSY,) if level in MOVING else ()
    one_kind = level is RowLevel.THREAD and len(counters.branches) < 2
    ids = [_IDS[name] for name in _IDENTITY[level] if not (one_kind and name == "kind")]
    columns = (NAME, *ids, *busy, *columns_of(counters, levels), HOTTEST, TOTAL, SLOTS, ran)
    return RowTable(TOPDOWN, level.value, columns, rows, judge, basis)


def judge(column: TopdownColumn, row: TopdownRow, value: Value) -> Cell:
    """Return a value with its marks, or why it is unknown."""
    node = node_of(column)
    if value is None:
        if node:
            return Cell(None, row.why(node))
        fault = row.fault()
        if column.id == HOTTEST.id and fault:
            return Cell(None, Unavailable(Reason.OUT_OF_RANGE, fault))
        if row.extent is None and any(column.id == held_column.id for held_column in (*_EXTENT, BY_TIME)):
            return Cell(None, _NOTHING)
        if row.unsplit and column.id in (SLOTS.id, BUSY.id, SLOTS_PERCENT):
            return Cell(None, UNSPLIT)
        first = row.first_unknown()
        return Cell(None, _NOTHING if first is None else row.why(first.id))
    parent = _parent(row, node) if node else ""
    keys = [(branch.pmu, behind) for branch in row.branches for behind in branch.tree.groups_behind(parent)]
    fault = row.fault(parent) if node or column.id == TOTAL.id else ""
    shared = row.extent is not None and row.extent.apportioned > EXACT
    return Cell(value, estimated=bool(node) and (shared or min([row.ran.get(key, 1.0) for key in keys]) < 1.0),
                partial=bool(row.partial) and not row.partial.isdisjoint(keys), disputed=(fault,) if fault else (),
                outstanding=bool(node) and row.stands_out(node))


def _parent(row: TopdownRow, node: str) -> str:
    return next((own_node.parent for branch in row.branches for own_node in [branch.tree.by_id.get(node)]
                 if own_node), "")


def basis(column: TopdownColumn, row: TopdownRow) -> CellEvidence:
    """Return the events behind a node, and its meaning."""
    name = node_of(column)
    readings: list[tuple[str, ...]] = []
    remarks: list[str] = []
    for branch in row.branches:
        if (node := branch.tree.by_id.get(name)) is None:
            continue
        for event in branch.tree.counted_for(node.parent):
            count = row.count(branch, node.parent, event)
            increase = "not counted in this interval" if count is None else f"{count:,.0f}"
            where = f"on {several(len(branch.cpus), 'CPU')}" if row.place.cpus else f"of {row.place.name}, on any CPU"
            readings.append((f"{event}: {increase}", f"perf {branch.event(event)} {where}"))
        ran = row.ran.get((branch.pmu, node.parent), row.ran.get((branch.pmu, "")))
        remarks += [f"{node.words.title}: {node.words.sentence}", f"what to try: {node.words.advice}",
                    f"{branch.tree.title}: share of all {_units(node)}, level {node.level}"]
        if ran is not None:
            remarks.append(f"its counters ran {100.0 * ran:.0f} % of the interval"
                           + ("; the rest is estimated" if ran < 1.0 else ""))
        remarks.append(f"stands out (▲) where {node.threshold}: {node.threshold_document}" if node.threshold else
                       "no threshold of its vendor is known, so that it never stands out (▲)")
        if node.metric:
            remarks.append(f"{node.metric} in the vendor's own table of metrics: --add metric:{node.metric}")
        fault = row.fault(node.parent)
        remarks += [fault] if fault else []
    if (part := row.extent) is not None:
        remarks.append("a region has what its whole program did while it was open in at least one thread: "
                       f"{part.seconds:.3f} s, {100.0 * part.of_time:.1f} % of the time that was counted")
    return CellEvidence(readings=tuple(readings), remarks=tuple(dict.fromkeys(remarks)))


def _units(node: Node) -> str:
    return "retired operations" if node.unit == "operations" else node.unit


def _bar(row: TopdownRow) -> Value:
    return bar_text(row, BAR_WIDTH) or None


BAR: Final[TopdownColumn] = Column("Bar", "", -1, (), _bar, width=BAR_WIDTH, priority=0, document=_METHOD,
                                   help="Level 1 as a bar of letters: R retiring, S bad speculation, F front end, B "
                                   "back end, T the sibling thread; ? where shares do not add up.")
