"""The table of the roofline screen's points, and the evidence of their cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypedDict

from turbotui.features.roofline.live import RooflinePoint
from turbotui.features.roofline.result import JudgedPoint
from turbotui.features.roofline.result_tables import POINT_COLUMNS, judge_column
from turbotui.features.roofline.screen_view import SIZINGS, RoofView
from turbotui.features.roofline.verdict_text import verdict_text
from turbotui.features.tasks.application_totals import multiplexing_sentence
from turbotui.features.tasks.columns import TIMES
from turbotui.features.tasks.region_totals import RegionTotals
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.tables import TaskRow
from turbotui.quantities.columns import Column, ColumnId, CounterColumn
from turbotui.quantities.sentences import several
from turbotui.quantities.tables import CellEvidence, RowTable
from turbotui.tables.frame_evidence import frame_evidence
from turbotui.widgets.cells import UNKNOWN
from turbotui.widgets.row_content import Naming, RowContent


class _Look(TypedDict, total=False):
    width: int
    decimals: int
    priority: int
    default: bool


_LOOKS: Final[Mapping[ColumnId, _Look]] = {
    "name": {"priority": 0},
    "AI": {"width": 7, "priority": 0},
    "GFLOP/s": {"width": 8, "decimals": 3, "priority": 0},
    "GB/s": {"width": 8, "decimals": 2, "priority": 1},
    "of roof": {"width": 7, "priority": 0},
    "bound": {"width": 7, "priority": 0},
    "by": {"width": 20, "priority": 1},
    "width": {"width": 7, "priority": 2},
    "below": {"default": False},
    "attainable": {"width": 10, "default": False},
    "length": {"default": False},
    "bytes by": {"width": 42, "default": False},
    "roofs": {"width": 50, "default": False},
}
"""The columns on a screen; columns of work beside a point are hidden until the user chooses them."""
POINT_TABLE_COLUMNS: Final = tuple(
    replace(column, **_LOOKS.get(column.id, _Look(default=False))) for column in POINT_COLUMNS)
_NAMING: Final = Naming[JudgedPoint](lambda row: row.point.identity, lambda row: row.point.name,
                                     lambda row: row.point.name)
_COUNTED_AS: Final = {"AI": "AI", "GFLOP/s": "GFLOP/s", "GB/s": "CoreGB/s"}
"""The column of the CPU table that counts the same thing."""


def points_content(view: RoofView, points: Sequence[RooflinePoint], counters: Mapping[ColumnId, CounterColumn],
                   seq: int) -> RowContent[JudgedPoint]:
    """Make the table of points."""
    rows = [JudgedPoint(point, view.roofs(point.row)) for point in points]
    wide = max((len(row.point.name) for row in rows), default=4)
    columns = tuple(replace(column, width=wide) if column.identity else column for column in POINT_TABLE_COLUMNS)
    return RowContent(RowTable("points", "point", columns, rows, judge_column,
                               lambda column, row: _evidence(view, counters, column, row)), _NAMING, seq)


def _evidence(view: RoofView, counters: Mapping[ColumnId, CounterColumn], column: Column[JudgedPoint],
              row: JudgedPoint) -> CellEvidence:
    """Return the counts behind a point, and its verdict."""
    lines = (verdict_text(row.point, row.choice), f"roofs: {row.choice.source}")
    if row.point.is_region:
        totals = view.totals
        return CellEvidence(remarks=lines) if totals is None else CellEvidence(
            readings=tuple(_of_region(row.point, totals)), remarks=(*lines, *totals.notes()))
    thread = _row_of(row, view.report)
    if view.report is not None and thread is not None:
        return CellEvidence(readings=(_sums(row, thread, view.report), _counts(thread, view.report)),
                            remarks=(*lines, *_rest(thread, view.report)))
    counter = counters.get(_COUNTED_AS.get(column.id, "GFLOP/s"))
    if view.frame is None or counter is None or row.point.task:
        return CellEvidence(remarks=lines)
    counted = frame_evidence(view.frame, counter, row.point.row)
    # the CPU table's columns know only one size of accesses
    same = column.id in _COUNTED_AS and SIZINGS[view.sizing] == SIZINGS[0]
    return CellEvidence(counted.arithmetic if same else (), counted.readings, (*lines, *counted.remarks))


def _of_region(point: RooflinePoint, totals: RegionTotals) -> Iterator[tuple[str, ...]]:
    """Return the counts of a region's point."""
    region = next((region for region in totals.regions if region.name == point.name), None)
    if region is None:
        return
    since = f"of {totals.seconds:.3f} s since the command's first mark"
    yield (f"open: {region.seconds:.3f} s, which rates are of, {since}",
           f"entered: {several(region.entries, 'time')}",
           f"by time: {region.apportioned:.3f} s of these, of which its share by time of a reading is taken",
           f"CPU time of all threads meanwhile: {region.run_ns / 1e9:.3f} s")
    for kind in region.kinds:
        yield (f"{kind.definition}: {kind.instructions:,.0f} instructions, {kind.cycles:,.0f} cycles",
               *(f"{key}: {count:,.0f} in {counted.seconds:.3f} s" for counted in kind.sets
                 for key, count in counted.counts.items()))


def _row_of(row: JudgedPoint, report: Report | None) -> TaskRow | None:
    if report is None or not row.point.task:
        return None
    return next((candidate for candidate in report.rows if candidate.key == row.point.task), None)


def _sums(judged: JudgedPoint, row: TaskRow, report: Report) -> tuple[str, ...]:
    """Return the sums of a thread's counts."""
    point = judged.point
    mark = point.signs
    place = f", last on cpu {row.last_cpu}" if row.last_cpu >= 0 else ""
    lines = [f"ran: {row.run_seconds:.3f} s of {report.seconds:.3f} s{place}; rates are per second in which it ran",
             f"FLOPs: {mark}{point.gflops * point.length * 1e9:,.0f}, {mark}{point.gflops:.4g} GFLOP/s"]
    if point.gbytes is not None and point.width is not None:
        lines.append(f"bytes: {mark}{point.gbytes * point.length * 1e9:,.0f}, {mark}{point.gbytes:.4g} GB/s; "
                     f"by: {point.width.value}")
    elif point.not_scheduled:
        lines.append("bytes: not known, it did not run while each set was on")
    else:
        why = report.numerics.why
        lines.append("bytes: not counted" + ("" if why is None else f", {why.sentence()}"))
    lines.append(f"width: mostly {point.dominant}" if point.dominant else "width: not counted")
    return tuple(lines)


def _counts(row: TaskRow, report: Report) -> tuple[str, ...]:
    """Return each event's count in the interval; unknown if the thread never ran during its set's time slice."""
    lines = ["counts of the interval:"]
    for name in report.names:
        if name in TIMES:
            continue  # already shown above in seconds
        count = row.counts.get(name)
        text = f"{UNKNOWN}, it did not run while this was counted" if count is None else (
            f"{'~' * (name in row.estimated)}{count:,}")
        lines.append(f"{name}: {text}")
    return tuple(lines)


def _rest(row: TaskRow, report: Report) -> list[str]:
    """Describe how a thread was counted."""
    lines = []
    if report.set_count > 1:
        lines.append(multiplexing_sentence(report.set_count))
        always = [name for name in report.names if name not in row.estimated and name not in TIMES]
        lines.append(f"counted by every set: {', '.join(always)}")
        lines.append("multiplexed: " + ", ".join(name for name in report.names if name in row.estimated))
    if row.incomplete:
        lines.append("its counters were shared with somebody else: its counts are too low")
    if report.numerics.note:
        lines.append(report.numerics.note)
    return lines
