"""Points of threads on the roofline: rates over each thread's own running time, by its own counters.

A thread runs on one core at a time, so one core's roofs apply. Time in which it did not run tells nothing about how
well its code uses the core, and is left out.
"""

from __future__ import annotations

from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.roofline.live import RooflinePoint
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.live import SnapshotRequest
from turbotui.features.tasks.numerics import FLOPS
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.quantities.metric_definitions import MetricDefinition
from turbotui.quantities.roofline import Sizing, WidthModel, counted
from turbotui.quantities.scope import SYSTEM_ROW, cpu_row
from turbotui.quantities.sentences import several
from turbotui.quantities.unavailable import Reason, Unavailable

EVERY_THREAD: Final = Application("all", everything=True, events=FLOPS)
"""All threads of the machine, with multiplexed sets if not all events fit the counters."""
THREADS: Final = SnapshotRequest(by=Grouping.THREAD)


@dataclass(frozen=True, slots=True)
class Note:
    """A note beside points, in full and in short."""

    text: str  # the full text
    short: str  # a few words for little room


@dataclass(frozen=True, slots=True)
class TaskPoints:
    """Points of the threads of one interval, with notes."""

    points: tuple[RooflinePoint, ...]  # the points of threads with counted operations, longest running time first
    notes: tuple[Note, ...]  # notes on threads without a position and on incomplete numbers, the most important first
    # the number of threads that did not run during a time slice that their point needs. Those with counted operations
    # are among the points; the others appear nowhere else.
    few: int = 0

    @property
    def why(self) -> str:
        """The full notes; "" if there are none."""
        return "; ".join(note.text for note in self.notes)


def task_points(report: Report, sizing: Sizing, seconds: float) -> TaskPoints:
    """Compute the points of the threads of a report.

    Args:
        seconds: machine time at the end of the interval, as for other points.
    """
    if report.error:
        return TaskPoints((), (Note(f"threads are not watched: {report.error}", "threads are not watched"),))
    numerics = report.numerics
    definition = numerics.definition
    if definition is None or not numerics.has_flops:
        return TaskPoints((), () if numerics.why is None else (_no_place(numerics.why),))
    lacking = {row.key for row in report.rows if _lacks(row, report)}
    each_point = (_point(row, definition, sizing, seconds, lacks=row.key in lacking) for row in report.rows)
    points = tuple(point for point in each_point if point is not None)
    few = len(lacking - {point.task for point in points if not point.not_scheduled})
    low = sum(row.incomplete for row in report.rows)
    notes: list[Note] = []
    if points and all(point.gbytes is None for point in points) and numerics.why is not None:
        notes.append(_no_place(numerics.why))
    if low:
        notes.append(Note(f"{several(low, 'thread')} with shared counters: counts too low", f"{low} counted too low"))
    if report.set_count > 1:
        notes.append(Note(f"threads: {report.set_count} multiplexed sets of events, joined by instructions (~)",
                          f"~ {report.set_count} sets multiplexed"))
    if few:
        notes.append(Note(f"{few} thread{'s' * (few > 1)} did not run in each set's time slice",
                          f"{few} not in each time slice"))
    if numerics.double_only:
        notes.append(Note("threads: double precision only, the other events found no counter", "double only"))
    return TaskPoints(points, tuple(notes), few)


def _lacks(row: TaskRow, report: Report) -> bool:
    """Tell whether a thread ran, but not during every set's time slice, so that a counter is unknown."""
    return report.set_count > 1 and row.run_seconds > 0 and not report.numerics.counted <= row.counts.keys()


def _no_place(why: Unavailable) -> Note:
    """Make the note why threads have no position, without a remedy for events that are already requested."""
    reason = f"{why.reason.value}: {why.detail}" if why.reason is Reason.IN_USE else why.sentence()
    return Note(f"threads have no place: {reason}", "threads have no place")


def _point(row: TaskRow, definition: MetricDefinition, sizing: Sizing, seconds: float, *,
           lacks: bool) -> RooflinePoint | None:
    ran = row.run_seconds
    if ran <= 0:
        return None
    if any(term.event not in row.counts for term in definition.flops):
        return None  # the thread did not run during the set's time slice
    counts = counted(definition, {name: count / ran for name, count in row.counts.items()}, sizing)
    if counts is None:
        return None
    place = SYSTEM_ROW if row.last_cpu < 0 else cpu_row(row.last_cpu)
    # With some widths unknown, neither their mean nor the most frequent one can be determined.
    widths = all(width.event in row.counts for width in definition.widths)
    moved = None if counts.width is WidthModel.MIX and not widths else counts.bytes
    return RooflinePoint(
        place, f"{row.name or '(no name)'} {row.tid if row.tid is not None else ''}".strip(), counts.flops / 1e9,
        None if moved is None else moved / 1e9, counts.flops / moved if moved else None,
        counts.dominant if widths else "", None if moved is None else counts.width, seconds, ran,
        estimated=bool(row.estimated), task=row.key, single=counts.single, half=counts.half,
        not_scheduled=lacks and moved is None,
    )
