"""Points of threads on the roofline: what each did in a second of its own run time, by its own counters.

A thread runs on one core at a time, so it stands below the roofs of one core; time in which it did not run says nothing
of how well its code uses the core, and is left out.
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
from turbotui.quantities.unavailable import Reason, Unavailable

EVERY_THREAD: Final = Application("all", everything=True, events=FLOPS)
"""All threads of the machine; where not all events find a counter together, sets are multiplexed."""
THREADS: Final = SnapshotRequest(by=Grouping.THREAD)


@dataclass(frozen=True, slots=True)
class Note:
    """A note beside points, in full and in short.

    Attributes:
        text: the whole of it.
        short: the same in a few words, where there is little room.
    """

    text: str
    short: str


@dataclass(frozen=True, slots=True)
class TaskPoints:
    """Points of the threads of one interval, with notes.

    Attributes:
        points: those whose operations are counted, by falling run time.
        notes: what cannot be placed and why, or what the numbers leave out, the most important first.
        few: threads that did not run while a set was on that their place needs. Those whose operations are counted are
            among the points, the others are nowhere else.
    """

    points: tuple[RooflinePoint, ...]
    notes: tuple[Note, ...]
    few: int = 0

    @property
    def why(self) -> str:
        """The notes in full; "" where nothing has to be said."""
        return "; ".join(note.text for note in self.notes)


def task_points(report: Report, sizing: Sizing, seconds: float) -> TaskPoints:
    """Compute the points of the threads of a report.

    Args:
        report: of one application over one interval.
        sizing: how accesses become bytes.
        seconds: machine time at the end of the interval, as of the other points.
    """
    if report.error:
        return TaskPoints((), (Note(f"threads are not watched: {report.error}", "threads are not watched"),))
    numerics = report.numerics
    definition = numerics.definition
    if definition is None or not numerics.has_flops:
        return TaskPoints((), () if numerics.why is None else (_no_place(numerics.why),))
    lacking = {row.key for row in report.rows if _lacks(row, report)}
    found = (_point(row, definition, sizing, seconds, lacks=row.key in lacking) for row in report.rows)
    points = tuple(point for point in found if point is not None)
    known = {point.task for point in points if not point.not_scheduled}
    few = len(lacking - known)
    low = sum(row.incomplete for row in report.rows)
    said: list[Note] = []
    if points and all(point.gbytes is None for point in points) and numerics.why is not None:
        said.append(_no_place(numerics.why))
    if low:
        said.append(Note(f"{low} threads shared their counters: their counts are too low", f"{low} counted too low"))
    if report.set_count > 1:
        said.append(Note(f"threads: {report.set_count} multiplexed sets of events, joined by instructions (~)",
                         f"~ {report.set_count} sets multiplexed"))
    if few:
        said.append(Note(f"{few} thread{'s' * (few > 1)} did not run in each set's time slice",
                         f"{few} not in each time slice"))
    if numerics.double_only:
        said.append(Note("threads: double precision only, the other events found no counter", "double only"))
    return TaskPoints(points, tuple(said), few)


def _lacks(row: TaskRow, report: Report) -> bool:
    """Whether a thread ran, but not while each set was on: a counter of the definition is unknown."""
    return report.set_count > 1 and row.run_seconds > 0 and not report.numerics.counted <= row.counts.keys()


def _no_place(why: Unavailable) -> Note:
    """A note why threads have no place; without the remedy to ask for events that are asked for already."""
    told = f"{why.reason.value}: {why.detail}" if why.reason is Reason.IN_USE else why.sentence()
    return Note(f"threads have no place: {told}", "threads have no place")


def _point(
    row: TaskRow, definition: MetricDefinition, sizing: Sizing, seconds: float, *, lacks: bool
) -> RooflinePoint | None:
    ran = row.run_seconds
    if ran <= 0:
        return None
    if any(term.event not in row.counts for term in definition.flops):
        return None  # the thread did not run in a time slice of the set
    found = counted(definition, {name: count / ran for name, count in row.counts.items()}, sizing)
    if found is None:
        return None
    place = SYSTEM_ROW if row.last_cpu < 0 else cpu_row(row.last_cpu)
    # Of some of the widths neither the mean nor the most frequent one can be told, even where a core may lack others.
    widths = all(width.event in row.counts for width in definition.widths)
    moved = None if found.width is WidthModel.MIX and not widths else found.bytes
    return RooflinePoint(
        place, f"{row.name or '(no name)'} {row.tid if row.tid is not None else ''}".strip(), found.flops / 1e9,
        None if moved is None else moved / 1e9, found.flops / moved if moved else None,
        found.dominant if widths else "", None if moved is None else found.width, seconds, ran,
        estimated=bool(row.estimated), task=row.key, single=found.single, half=found.half,
        not_scheduled=lacks and moved is None,
    )
