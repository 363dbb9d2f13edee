"""Draws the overview as lines: its parts, their heights, their content; without Textual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, Final

from turbotui.cell_widths import flush_right
from turbotui.dataclass import dataclass
from turbotui.features.overview.charts import Chart, ChartSource, chart_of, chosen, is_empty
from turbotui.features.overview.core_map import CoreMapPlan, map_lines, plan_map
from turbotui.features.overview.cpu_numbers import CpuNumbers, CpuSource, number_span
from turbotui.features.overview.kept_lines import KeptLines
from turbotui.features.overview.meters import MeterPlan, meter_lines, plan_meters
from turbotui.features.overview.standouts import Standouts, standout_lines
from turbotui.features.overview.task_lines import task_lines
from turbotui.features.overview.top_tasks import ProcessLook, TopTask
from turbotui.machine.topology import Topology
from turbotui.quantities.columns import CounterColumn
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import History
from turbotui.widgets.cells import MARK_AMBER, StyleRole
from turbotui.widgets.levels import FULL_LEVELS, LEVELS, FrameLevels
from turbotui.widgets.painter import TextSegment, merged
from turbotui.widgets.panel import Line, Span, Target
from turbotui.widgets.spark import area, begun, length_of, roles, stretched

_DOTTED: Final = "┈"
_CUT: Final = "─"
_AT_LIMIT: Final = 0.97


def picture(chart: Chart, width: int, height: int) -> list[list[TextSegment]]:
    """Draw the area of a chart with its limits, lines in the colour of their level."""
    lines = area(stretched(chart.past, width), chart.top, width, height)
    segments: list[list[TextSegment]] = []
    words: dict[int, list[str]] = {}
    for limit in chart.limits:  # limits of one value share a line: "PL1 TDP 700"
        labels = words.setdefault(max(0, height - 1 - int(limit.value / chart.top * height)), [])
        value = f"{chart.target[0].as_shown(limit.value):,.0f}"
        labels[:] = [*labels[:-1], limit.word, value] if labels[-1:] == [value] else [*labels, limit.word, value]
    for at, (text, role) in enumerate(zip(lines, roles(height), strict=True)):
        label = words.get(at)
        segments.append([(text, role)] if label is None else _limited(text, role, f" {' '.join(label)} "))
    return segments


def _limited(text: str, role: StyleRole, label: str) -> list[TextSegment]:
    """Draw a line of an area with a limit's line through it, and the limit's words at the left."""
    full = FULL_LEVELS[LEVELS.index(role)]
    words = dict(enumerate(label, 1)) if len(label) + 2 <= len(text) else {}
    return merged([(words.get(at, _CUT), full) if char == "█" else (words[at], StyleRole.DIM) if at in words
                   else (_DOTTED, StyleRole.RULE) if char == " " else (char, role) for at, char in enumerate(text)])


def framed(chart: Chart, width: int, height: int, seconds: float, cursor: Target | None) -> list[Line]:
    """Draw a chart in a frame, with its value in the upper edge and its time span in the lower one."""
    inner = max(0, width - 2)
    title, reached = figure_of(chart), chart.ceiling is not None and chart.share >= _AT_LIMIT
    mark = MARK_AMBER if reached else ""
    role = StyleRole.AMBER if reached else StyleRole.SUMMARY
    words = f" {chart.word} "
    room = inner - len(words) - len(mark) - len(title) - 2
    head = (Span("┌", StyleRole.RULE), Span(words, StyleRole.TITLE, chart.target),
            Span(mark + title, StyleRole.CELL if cursor == chart.target else role, chart.target),
            Span(" " + "─" * max(0, room + 1), StyleRole.RULE), Span("┐", StyleRole.RULE))
    edge = Span("│", StyleRole.RULE)
    body = [(edge, *[Span(text, role) for text, role in line], edge) for line in picture(chart, inner, height - 2)]
    length = f" {length_of(seconds * (len(begun(chart.past[-inner:] if inner else ())) or inner))} " if seconds else ""
    words = length[:max(0, inner - 1)]
    rule = "─" * max(0, inner - 1 - len(words))
    return [head, *body, (Span("└─"[:inner + 1], StyleRole.RULE), Span(words, StyleRole.DIM),
                          Span(f"{rule}┘", StyleRole.RULE))]


def figure_of(chart: Chart) -> str:
    """Format the value of a chart in a fixed width: "41.0 %"."""
    column = chart.target[0]
    unit = column.shown_unit
    decimals = 1 if unit == "%" else 0
    widest = f"{column.as_shown(chart.top):,.{decimals}f}"
    text = "—" if chart.value is None else f"{column.as_shown(chart.value):,.{decimals}f}"
    return f"{flush_right(chart.signs + text, len(widest))} {unit}".rstrip()


_NARROWEST: Final = 30
"""The least characters of a usual chart; other charts need `_WIDER` for each."""
_WIDER: Final = 40
_BESIDE: Final = 110
"""The width from which tasks stand beside the rows of CPUs."""
_LEFT: Final = 72
"""The least characters of rows of CPUs with tasks beside them."""
_BOTH: Final = 7
"""The height from which both rows of CPUs and tasks below them are shown: that of 80x24 with a line of the tour.

In less there are tasks alone, because the map has the CPUs.
"""
_LEAST_TASKS: Final = 2
_TWO: Final = 22
"""The height of the charts' part from which charts may stand in two rows."""
_FEW: Final = 4
"""The room for tasks grows in steps of this many, so that parts above seldom move."""
_ROWS: Final = 10
"""The number of highlighted rows if tasks are shown below them."""
_FIGURES: Final = {"Load": 5, "Clock": 7, "Power": 7, "Heat": 5}
"""Charts whose value stands beside each package's cores, and its characters."""
_BETWEEN: Final = 1
_NO_PAST: Final = "not kept of the past: 7 has tasks of times when it was shown or recorded"
"""The text in place of tasks at a past moment."""


@dataclass(frozen=True, slots=True)
class OverviewInputs:
    """The data of a picture."""

    frame: Frame  # the newest frame, or one of the past
    history: History  # the past before it
    look: ProcessLook | None  # the polled tasks; None if there are none, or if the past is shown
    has_tasks: bool  # whether tasks will be available
    seconds: float  # the length of an interval
    levels: FrameLevels  # cells' shares of their possible range
    cursor: Target | None  # the cell under the cursor
    note: Line = ()  # the last line; empty for none
    past: bool = False  # whether the frame is one of the past
    unseen: str = ""  # what tasks cannot be seen; "" if all can


@dataclass(frozen=True, slots=True)
class Parts:
    """The lines of each part."""

    charts: int  # lines of charts, including frames
    meters: MeterPlan | None  # the arrangement of meters; None if there are too many CPUs
    core_map: CoreMapPlan | None  # lines of the map of many CPUs
    rows: int  # lines of highlighted CPUs, without the title
    tasks: int  # lines of tasks, without the title
    beside: bool  # whether tasks stand beside the rows
    gap: int  # empty lines between parts
    note: bool  # whether there is a last line


def parts(topology: Topology, width: int, height: int, *, has_tasks: bool, note: bool,
          most: int | None = None) -> Parts:
    """Divide the room: charts keep a quarter, and get what other parts leave.

    Args:
        most: the most tasks; None if unknown.
    """
    note = note and height >= 14
    gap = 1 if height >= 34 else 0
    room = height - note
    least = max(4, min(6, room // 3), round(room * 0.28))
    tasks = max(4, round(room * 0.22)) if has_tasks and room >= 16 else 0
    tasks = tasks if most is None else min(tasks, most)
    left = room - least - (tasks + 1 + gap if tasks else 0) - gap
    boxes = max(left if not tasks else 0, round(room * 0.34), 0 if most is None else (room - tasks) // 2 - 2)
    if (meters := plan_meters(len(topology.cpus), width, left, min(left, boxes))) is not None:
        used = meters.lines + gap
        if tasks:
            tasks = max(tasks, min(round(room * 0.3), room - least - used - gap - 1))
            tasks = tasks if most is None else min(tasks, most)
            used += tasks + 1 + gap
        return Parts(max(least, room - used), meters, None, 0, tasks, False, gap, note)
    core_map = plan_map(topology, width, max(room // 4, min(room // 2, room - least - _ROWS - 1)))
    left = room - least - len(core_map.lines) - 2 * gap
    beside = bool(tasks) and width >= _BESIDE
    if tasks and not beside and left < _BOTH:
        rows, tasks = 0, max(0, left - 1 - gap)
    elif tasks and not beside:
        free = left - 2 - gap
        rows = min(_ROWS, free - max(_LEAST_TASKS, free // 3))
        tasks = min(2 * _ROWS, free - rows)
        if most is not None and most < tasks:
            tasks = most
            rows = min(2 * _ROWS, free - tasks)
    else:
        rows = max(0, min(left - 1, max(_ROWS, room // 3)))
        tasks = rows if beside else 0
    used = len(core_map.lines) + gap + (rows + 1 + gap if rows else 0)
    used += tasks + 1 + gap if tasks and not beside else 0
    return Parts(max(least, room - used), None, core_map, rows, tasks, beside, gap, note)


class OverviewPainter:
    """Draws the overview, and remembers positions that must not change."""

    def __init__(self, sources: Sequence[ChartSource], numbers: CpuNumbers) -> None:
        self._sources = sources
        self._numbers = numbers
        self._standouts = Standouts()
        self._shown: tuple[str, ...] = ()
        self._parts: Parts | None = None
        self._for: tuple[object, ...] = ()
        self._kept = KeptLines()
        self._most: int | None = None
        self._tasks: tuple[Sequence[TopTask], tuple[object, ...], list[Line]] = ((), (), [])
        self.charts: tuple[Chart, ...] = ()
        self.map_top = 0

    @property
    def map_plan(self) -> CoreMapPlan | None:
        """The last drawn map, whose first line is `map_top`."""
        return None if self._parts is None else self._parts.core_map

    def lines(self, inputs: OverviewInputs, width: int, height: int) -> list[Line]:
        """Draw all lines."""
        frame = inputs.frame
        if inputs.look is not None and inputs.look.tasks:
            self._most = max(self._most or 0, -(-len(inputs.look.tasks) // _FEW) * _FEW)
        key = (frame.topology, width, height, inputs.has_tasks, bool(inputs.note), self._most)
        if self._parts is None or key != self._for:
            self._for = key
            self._parts = parts(frame.topology, width, height, has_tasks=inputs.has_tasks, note=bool(inputs.note),
                                most=self._most)
        plan = self._parts
        gap: list[Line] = [()] * plan.gap
        if self._kept.begin(frame, *key[1:], inputs.history, inputs.history.pushed, inputs.seconds):
            self.charts = tuple(chart_of(source, frame, inputs.history, width) for source in self._sources)
        lines = self._chart_lines(inputs, width, plan.charts)
        if plan.meters is not None:
            lines += [*gap, *meter_lines(self._source(inputs), plan.meters, self._kept)]
        elif plan.core_map is not None and self._numbers.busy is not None:
            lines += gap
            self.map_top = len(lines)
            lines += self._map_lines(inputs, plan.core_map, self._numbers.busy, width)
        lines += self._row_lines(inputs, plan, width, gap)
        lines += [()] * max(0, height - plan.note - len(lines))
        return [*lines[:height - plan.note], *([inputs.note] if plan.note else [])]

    def _map_lines(self, inputs: OverviewInputs, plan: CoreMapPlan, busy: CounterColumn, width: int) -> list[Line]:
        """Draw the map, with the figures of each package if there is room at the right."""
        frame, cursor = inputs.frame, inputs.cursor
        lines = [tuple(Span(text, role) for text, role in line) for line in
                 map_lines(plan, frame, busy, None if cursor is None else cursor[1])]
        room = width - plan.width - _BETWEEN
        figures = [(source.column, size) for source in self._sources
                   if (size := _FIGURES.get(source.spec.word)) is not None]
        while figures and sum(size + 1 + len(column.shown_unit) for column, size in figures) > room:
            figures.pop()
        source = self._source(inputs)
        for at, line in enumerate(plan.lines):
            if (row := line.package) is None:
                continue
            if not line.names:  # the name is that of the number: a search for it goes there
                role = StyleRole.CELL if cursor == (busy, row) else StyleRole.TITLE
                lines[at] = (replace(lines[at][0], target=(busy, row), role=role), *lines[at][1:])
            if figures:
                after = [Span(" " * (plan.width + _BETWEEN - sum(span.cells for span in lines[at])))]
                for column, size in figures:
                    after += [number_span(source, column, row, size, frame.cell(column, row)),
                              Span(f" {column.shown_unit}", StyleRole.DIM)]
                lines[at] = (*lines[at], *after)
        return lines

    def _source(self, inputs: OverviewInputs) -> CpuSource:
        runs = {} if inputs.look is None else inputs.look.runs
        return CpuSource(inputs.frame, self._numbers, inputs.history, runs, inputs.cursor, inputs.levels)

    def _chart_lines(self, inputs: OverviewInputs, width: int, height: int) -> list[Line]:
        usual = [source.spec.usual for source in self._sources]
        count = max(1, min(sum(usual), width // _NARROWEST))
        while count < len(usual) and width // (count + 1) >= (_WIDER if count >= sum(usual) else _NARROWEST):
            count += 1
        full = sum(not is_empty(*pair, self._shown) for pair in zip(self.charts, usual, strict=True))
        rows = 2 if height >= _TWO and count < full else 1
        at = chosen(self.charts, usual, min(rows * count, len(usual)), self._shown)
        self._shown = tuple(self.charts[order].word for order in at)
        across = -(-len(at) // rows)
        lines: list[Line] = []
        for row in range(rows):
            high = height * (row + 1) // rows - height * row // rows
            in_row = at[row * across:(row + 1) * across]
            frames = [self._framed(inputs, chart, width * (order + 1) // len(in_row) - width * order // len(in_row),
                                   high)
                      for order, chart in enumerate(in_row)]
            lines += [tuple(chain.from_iterable(beside)) for beside in zip(*frames, strict=True)]
        return lines

    def _framed(self, inputs: OverviewInputs, at: int, room: int, height: int) -> list[Line]:
        chart = self.charts[at]
        lit = inputs.cursor if inputs.cursor == chart.target else None
        return self._kept.get((chart.word, room, height, lit is None), partial(
            framed, chart, room, height, inputs.seconds, lit))

    def _row_lines(self, inputs: OverviewInputs, plan: Parts, width: int, gap: list[Line]) -> list[Line]:
        tasks, seconds = ((), 0.0) if inputs.look is None else (inputs.look.tasks, inputs.look.seconds)
        absent = _NO_PAST if inputs.past else ""
        joined: list[Line] = []
        if plan.rows and self._numbers.busy is not None:
            rows = self._standouts.choose(inputs.frame, self._numbers, plan.rows)
            left = min(max(_LEFT, width // 2), width) if plan.beside else width
            lines = standout_lines(self._source(inputs), rows, left)
            if plan.beside:
                right = [*self._task_lines(tasks, width - left, plan.tasks, " │ ", seconds, absent, inputs.unseen)]
                lines += [(Span(" " * left),)] * (len(right) - len(lines))
                right += [(Span(" │", StyleRole.RULE),)] * (len(lines) - len(right))
                lines = [(*spans, *other) for spans, other in zip(lines, right, strict=True)]
            joined += [*gap, *lines]
        if plan.tasks and not plan.beside:
            joined += [*gap, *self._task_lines(tasks, width, plan.tasks, "", seconds, absent, inputs.unseen)]
        return joined

    def _task_lines(self, tasks: Sequence[TopTask], *of: Any) -> list[Line]:
        """Draw lines of tasks, once for each poll, because most frames have no new tasks."""
        if self._tasks[0] is not tasks or self._tasks[1] != of:
            self._tasks = tasks, of, task_lines(tasks, *of[:3], seconds=of[3], absent=of[4], unseen=of[5])
        return self._tasks[2]
