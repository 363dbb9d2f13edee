"""The state of the roofline screen: rows, roofs, axes, and the past; without Textual."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from turbotui.features.roofline.level_points import LETTERS, LevelPoint, LevelVerdict, level_verdict
from turbotui.features.roofline.live import IntervalPoints, RooflinePoint, read_points
from turbotui.features.roofline.plot import Plot, plot_within
from turbotui.features.roofline.region_points import RegionPoint, points_of_totals
from turbotui.features.roofline.roof_plot import Dot, Picture
from turbotui.features.roofline.roofs import RoofSet
from turbotui.features.roofline.screen_axes import FlatRoofs, RoofAxes, can_draw, levels_of, name_of
from turbotui.features.roofline.sharing import WorkingCores
from turbotui.features.roofline.task_points import Note, task_points
from turbotui.features.roofline.traffic import MemoryTraffic
from turbotui.features.roofline.verdict_text import memory_note
from turbotui.features.roofline.verdicts import LevelRoofs, core_weights, roofs_for
from turbotui.features.tasks.region_totals import RegionTotals
from turbotui.features.tasks.report import Report
from turbotui.machine.machine import Machine
from turbotui.quantities.definition import Definition
from turbotui.quantities.metric_definitions import MetricDefinition
from turbotui.quantities.roofline import Sizing, WidthModel
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.sampling.frame import Frame

KEPT: Final = 600
"""The number of past intervals of each row for the trail."""
MOST_KEPT: Final = 5_000
"""The most points of all rows but the machine's, 900 bytes each: with more than 8 rows each has a shorter trail."""
MOST: Final = 2_000
"""The most past points that are drawn."""
SIZINGS: Final = (
    Sizing(WidthModel.MIX), Sizing(WidthModel.PRECISION), Sizing(WidthModel.GIVEN, 8.0),
    Sizing(WidthModel.GIVEN, 16.0), Sizing(WidthModel.GIVEN, 32.0), Sizing(WidthModel.GIVEN, 64.0),
)
TRAILS: Final = ("of the point under the cursor", "of all points", "off")


class RoofView:
    """The state behind the screen.

    Args:
        environment: the environment, which tells where measured roofs are stored.

    Attributes:
        theory: whether measured roofs are ignored.
        bytes_by_level: whether the point under the cursor is shown at each memory level.
        cursor: the row or thread under the cursor.
        points: the present points of the level.
        unknown: the number of the level's rows that are not counted.
        forgotten: the number of threads whose past was dropped, because there were too many.
        why: the note on threads without a position or with incomplete numbers; "" for none.
        known: the ends of the intervals whose points the past has, in ns since 1970.
        passing: the rows that pass the table's filter and are drawn; None for all.
    """

    def __init__(self, machine: Machine, definitions: Sequence[MetricDefinition], environment: Mapping[str, str],
                 recorded: Sequence[Definition] | None = None) -> None:
        self._machine = machine
        self._definitions = definitions
        self._environment = environment
        self._topology = machine.topology
        self.levels = levels_of(machine.topology)
        self.level = next(at for at, level in enumerate(self.levels) if level.scope is Scope.CORE)
        self.sizing = 0
        self.trail = 0
        self.theory = False
        self.bytes_by_level = False
        self.cursor: RowId | str | None = None
        self.points: tuple[RooflinePoint, ...] = ()
        self.passing: frozenset[Hashable] | None = None
        self.unknown = 0
        self.machine: RooflinePoint | None = None
        self.forgotten = 0
        self.notes: tuple[Note, ...] = ()
        self.report: Report | None = None
        self.regions: tuple[RegionPoint, ...] = ()
        self.totals: RegionTotals | None = None
        self._past: dict[RowId | str, deque[RooflinePoint]] = {}
        self.known: set[int] = set()
        self._chosen: dict[tuple[object, ...], LevelRoofs] = {}
        self.axes = RoofAxes()
        self.flats = FlatRoofs()
        self._began: int | None = None
        self._seconds = 0.0  # from there to the end of the newest frame
        self.frame: Frame | None = None
        self._estimated = False
        self.traffic = MemoryTraffic(machine, recorded, by_cache=True)
        self._weights = core_weights(machine)
        self._at_work: WorkingCores | None = None

    # Frames

    def take(self, frame: Frame, *, estimated: bool, first_ns: int | None = None) -> None:
        """Take a frame; a repeated frame counts once.

        Args:
            first_ns: the end of the first kept interval, at which the past begins, in ns since 1970; None for this one.
        """
        if frame.older is None:
            return
        self._topology = frame.topology
        self.frame, self._estimated = frame, estimated
        if self._began is None:
            self._began = frame.older.started_ns - max(0, frame.older.wall_ns - (first_ns or frame.older.wall_ns))
        self._seconds = self._end(frame)
        reading = self._read(frame, estimated=estimated)
        self._at_work = reading.at_work
        self.machine = next((point for point in reading.points if point.row == SYSTEM_ROW), None)
        if self.tasks:
            self._remember(() if self.machine is None else (self.machine,))
        else:
            self.points = (*self._of_level(reading), *self._marked)
            self.unknown = reading.unknown
            self._remember((*reading.points, *self._marked))
            self.known.add(frame.newer.wall_ns)
            self._settle()

    def lacking(self, ends: Sequence[int]) -> Sequence[int]:
        """The intervals among the last ones whose points the past lacks and has room for, by their ends."""
        most = min(KEPT, max(1, MOST_KEPT // max(1, len(self.points))))
        if len(self.known) > 2 * KEPT:
            self.known.intersection_update(ends)
        return [end for end in ends[-most:] if end not in self.known]

    def fill(self, frame: Frame, report: Report | None, *, estimated: bool) -> None:
        """Add a kept frame that nobody saw to the past, and the report of all threads in it if points are threads."""
        reading = self._read(frame, estimated=estimated)
        threads = () if report is None else task_points(report, SIZINGS[self.sizing], self._end(frame)).points
        self._remember((*reading.points, *threads) if frame.older is not None else ())

    def points_of(self, frame: Frame, report: Report | None) -> tuple[RooflinePoint, ...]:
        """The points of a kept frame, or of the report of all threads in its interval if points are threads."""
        if not self.tasks:
            return self._of_level(self._read(frame, estimated=False))
        return () if report is None else task_points(report, SIZINGS[self.sizing], 0.0).points

    def _of_level(self, reading: IntervalPoints) -> tuple[RooflinePoint, ...]:
        return tuple(point for point in reading.points if point.row != SYSTEM_ROW or self.scope is Scope.SYSTEM)

    def take_regions(self, totals: RegionTotals | None) -> None:
        """Replace the command's regions, which are drawn with the next frame."""
        self.regions = () if totals is None else points_of_totals(totals, SIZINGS[self.sizing], self._topology)
        self.totals = totals

    @property
    def _marked(self) -> tuple[RooflinePoint, ...]:
        points = (region.point for region in self.regions if region.point is not None)
        return tuple(replace(point, seconds=self._seconds) for point in points)

    def take_tasks(self, report: Report) -> None:
        """Take a report of all threads, which are the points if points are threads."""
        self.report = report
        if not self.tasks:
            return
        task_values = task_points(report, SIZINGS[self.sizing], self._seconds)
        at_work = self._at_work
        points = task_values.points if at_work is None else tuple(
            replace(point, working=at_work.of(point.row)) for point in task_values.points)
        points = (*points, *self._marked)
        self.points, self.unknown, self.notes = points, 0, task_values.notes
        self._remember(points)
        self.known.update(() if self.frame is None else (self.frame.newer.wall_ns,))
        self._forget({point.identity for point in points})
        self._settle()

    def _forget(self, here: Collection[RowId | str]) -> None:
        """Drop the past of the threads that ended first if there are too many, and count them."""
        spare = len(self._past) - MOST
        if spare <= 0:
            return
        gone = [name for name in self._past if isinstance(name, str) and name not in here]
        for name in sorted(gone, key=lambda name: self._past[name][-1].seconds)[:spare]:
            del self._past[name]
            self.forgotten += 1

    def _remember(self, points: Iterable[RooflinePoint]) -> None:
        for point in points:
            past = self._past.setdefault(point.identity, deque(maxlen=KEPT))
            before = next((at for at in reversed(range(len(past))) if past[at].seconds <= point.seconds), -1)
            if before >= 0 and past[before].seconds == point.seconds:
                past[before] = point  # the same frame again
            elif len(past) < KEPT:
                past.insert(before + 1, point)
            elif before >= 0:
                past.popleft()
                past.insert(before, point)
        most = max(1, MOST_KEPT // max(1, len(self._past)))
        for name, past in self._past.items():
            while len(past) > most and name != SYSTEM_ROW:
                past.popleft()

    def _settle(self) -> None:
        """Move the cursor to a point if it is on none, and fit the axes."""
        if self.cursor is None or all(point.identity != self.cursor for point in self.points):
            busiest = max(self.points, key=lambda point: point.gflops, default=None)
            self.cursor = None if busiest is None else busiest.identity
        self.fit()

    def _read(self, frame: Frame, *, estimated: bool) -> IntervalPoints:
        scope = self.scope
        rows = [] if scope is None or scope is Scope.SYSTEM else [(row, name_of(frame.topology, row))
                                                                  for row in frame.rows(scope)]
        return read_points(frame, [*rows, (SYSTEM_ROW, "machine")], self._definitions, SIZINGS[self.sizing],
                           seconds=self._end(frame), estimated=estimated, weights=self._weights,
                           traffic=self.traffic.read(frame))

    def _end(self, frame: Frame) -> float:
        """When a frame ended, in seconds since the past began."""
        return (frame.newer.started_ns - (self._began or 0)) / 1e9

    # The visible state

    @property
    def scope(self) -> Scope | None:
        """The scope whose rows are points; None if points are threads."""
        return self.levels[self.level].scope

    @property
    def tasks(self) -> bool:
        """Whether points are threads."""
        return self.scope is None

    @property
    def placed(self) -> tuple[RooflinePoint, ...]:
        """The points that have a position on logarithmic axes, under the drawn roofs, and pass the filter."""
        return tuple(point for point in self.points if point.has_place and not self.flats.hides_points
                     and (self.passing is None or point.identity in self.passing))

    @property
    def why(self) -> str:
        """The full notes; "" if there are none."""
        return "; ".join(note.text for note in self.notes)

    @property
    def idle(self) -> int:
        """The number of rows without floating-point work or bytes, except threads that were seen too seldom."""
        return sum(not point.has_place and not point.not_scheduled for point in self.points)

    @property
    def under_cursor(self) -> RooflinePoint | None:
        """The point under the cursor."""
        return next((point for point in self.points if point.identity == self.cursor), None)

    @property
    def past(self) -> tuple[RooflinePoint, ...]:
        """All kept points of this level, including ended threads, oldest first; the content of the data file."""
        past_points = chain.from_iterable(points for name, points in self._past.items() if points[0].is_region or
                                          (None if isinstance(name, str) else name.scope) is self.scope)
        return tuple(sorted(past_points, key=lambda point: point.seconds))

    def roofs(self, row: RowId) -> LevelRoofs:
        """Return the roofs above a row."""
        instance = self._topology.instance(row)
        cpu = instance.cpus[0] if instance is not None and instance.cpus else -1
        kind = self._topology.places[cpu].core_type if cpu in self._topology.places else None
        small = row.scope.rank < Scope.PACKAGE.rank
        place = self._topology.row(Scope.PACKAGE, cpu) if small and cpu in self._topology.places else row
        key = (row.scope, kind, place, self.theory)
        if (chosen := self._chosen.get(key)) is None:
            chosen = self._chosen[key] = roofs_for(self._machine, row, self._environment, theory=self.theory)
        return chosen

    @property
    def choice(self) -> LevelRoofs:
        """The roofs to draw: those above the point under the cursor, or above the first possible one."""
        if (under := self.under_cursor) is not None:
            return self.roofs(under.row)
        return self.roofs(self._topology.instances(self.scope or Scope.CORE)[0].row)

    @property
    def drawn(self) -> RoofSet | None:
        """The roofs of the point under the cursor for the present working cores; None if there are none."""
        under = self.under_cursor
        return self.choice.under(None if under is None else under.working)

    @property
    def memory(self) -> str:
        """The note on the drawn roof of memory: its source, who shares it, or why there is none."""
        return memory_note(self.drawn, self.choice, self.traffic.note)

    @property
    def by_level(self) -> LevelVerdict | None:
        """The point under the cursor by memory level; None if not requested."""
        point = self.under_cursor
        return level_verdict(point, self.roofs(point.row)) if self.bytes_by_level and point is not None else None

    @property
    def level_points(self) -> tuple[LevelPoint, ...]:
        """The point under the cursor at each memory level beyond the first, where it is already drawn."""
        verdict = self.by_level
        if verdict is None or self.flats.hides_points:
            return ()
        return tuple(point for point in verdict.points if point.level != "L1")

    def picture(self) -> Picture | None:
        """The present picture; None while there are no axes."""
        if (plot := self.plot()) is None:
            return None
        placed = self.placed
        return Picture(
            plot,
            tuple(Dot(point.intensity or 0.0, point.gflops, point.dominant, point.name if point.is_region else "")
                  for point in placed),
            next((at for at, point in enumerate(placed) if point.identity == self.cursor), None),
            self._trail(),
            tuple((level_point.intensity, level_point.point.gflops, LETTERS[level_point.level])
                  for level_point in self.level_points
                  if level_point.intensity and level_point.point.gflops > 0),
        )

    def plot(self) -> Plot | None:
        """The roofs on the current axes; None if there are none."""
        if self.axes.now is None:
            self.fit()
        if self.axes.now is None:
            return None
        roofs = self.drawn
        if roofs is None or not can_draw(roofs):
            return Plot(f"{self.choice.source}", *self.axes.now, (), (), ())
        return plot_within(roofs, *self.axes.now, self.flats.of(self.under_cursor))

    def _trail(self) -> tuple[tuple[float, float], ...]:
        if TRAILS[self.trail] == "off" or self.flats.hides_points:
            return ()
        points = self._past.get(self.cursor or SYSTEM_ROW, ()) if self.trail == 0 else self.past
        return tuple((point.intensity or 0.0, point.gflops) for point in points
                     if point.has_place and point.seconds <= self._seconds)[-MOST:]

    # The user's actions

    def next_level(self) -> str:
        """Switch points to the next level, whose past is read from the kept frames."""
        self.level = (self.level + 1) % len(self.levels)
        self.known.clear()
        self.cursor, self.points, self.unknown, self.notes, self.report = None, (), 0, (), None
        self._again()
        return self.levels[self.level].word

    def next_sizing(self) -> str:
        """Switch to the next model of access widths, by which the past is counted anew from the kept frames."""
        self.sizing = (self.sizing + 1) % len(SIZINGS)
        self.take_regions(self.totals)
        self._past.clear()
        self.known.clear()
        self.forgotten = 0
        self._again()
        sizing = SIZINGS[self.sizing]
        given = f": {sizing.given:g} bytes" if sizing.model is WidthModel.GIVEN else ""
        return f"{sizing.model.value}{given}"

    def next_trail(self) -> str:
        """Switch the trail: the cursor's point, all points, or none."""
        self.trail = (self.trail + 1) % len(TRAILS)
        return TRAILS[self.trail]

    def swap_roofs(self) -> str:
        """Switch between measured and theoretical roofs."""
        self.theory = not self.theory
        self._refit()
        return self.choice.source

    def next_flats(self) -> str:
        """The flat roofs of the next number format, or those of the point under the cursor."""
        words = self.flats.next(self.drawn, self.under_cursor)
        self._refit()
        return words

    def swap_levels(self) -> bool:
        """Switch the bytes of each memory level, and tell whether they are shown now."""
        self.bytes_by_level = not self.bytes_by_level
        self._refit()
        return self.bytes_by_level

    def _refit(self) -> None:
        self.axes.forget()
        self.fit()

    def fit(self) -> None:
        """Fit the axes to roofs and points, unless the user set them."""
        levels = [(level_point.intensity, level_point.point.gflops) for level_point in self.level_points
                  if level_point.intensity and level_point.point.gflops > 0]
        self.axes.fit(self.drawn, [*((point.intensity or 0.0, point.gflops) for point in self.placed), *levels],
                      self.flats.of(self.under_cursor))

    def _again(self) -> None:
        if self.frame is not None:
            self.take(self.frame, estimated=self._estimated)
            if self.report is not None:
                self.take_tasks(replace(self.report))
        self._refit()
