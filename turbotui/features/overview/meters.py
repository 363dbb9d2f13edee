"""Meters for each CPU of a machine with few CPUs; without Textual."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from typing import Final

from turbotui.cell_widths import fitted, flush_left
from turbotui.dataclass import dataclass
from turbotui.features.overview.cpu_numbers import (
    IDLE,
    NUMBER,
    CpuSource,
    bar_spans,
    idle_spans,
    idle_states,
    kind_of,
    number_span,
)
from turbotui.features.overview.kept_lines import KeptLines
from turbotui.quantities.scope import cpu_row
from turbotui.widgets.cells import UNKNOWN, StyleRole
from turbotui.widgets.panel import Line, Span
from turbotui.widgets.spark import area, roles, spark, stretched

LEAST: Final = 37
"""Characters of the narrowest meter."""
_GOOD: Final = 64
"""Characters from which a meter is complete."""
_BOX: Final = 5
"""Lines from which a CPU has a chart of its own."""
_MHZ, _HEAT = 7, 5
"""Characters of a clock and a temperature with the blank before."""
_SPARK: Final = 30
_CPU: Final = "CPU"


@dataclass(frozen=True, slots=True)
class MeterPlan:
    """The arrangement of meters."""

    across: int  # meters in a line
    down: int  # lines of meters
    width: int  # characters of a meter
    height: int  # lines of a meter: 1, or those of a chart in a frame

    @property
    def lines(self) -> int:
        """The lines of all meters, with the headings above those of one line."""
        return self.down * self.height + (self.height == 1)


def plan_meters(cpus: int, width: int, lines: int, most: int) -> MeterPlan | None:
    """Arrange the meters of that many CPUs; None if they do not fit.

    Args:
        lines: the most lines for meters of one line.
        most: the most lines for meters with charts.
    """
    for room in (_GOOD, LEAST):
        across = max(1, min(cpus, width // room))
        down = -(-cpus // across)
        if down + 1 <= lines and width // across >= LEAST:
            across = -(-cpus // down)  # as few as that many lines need, so that meters are wider
            height = most // down
            return MeterPlan(across, down, width // across, height if height >= _BOX else 1)
    return None


def meter_lines(source: CpuSource, plan: MeterPlan, kept: KeptLines) -> list[Line]:
    """Draw all meters, from top to bottom and then from left to right."""
    cpus = source.frame.topology.cpus
    label = len(str(max(cpus, default=0))) + 2 + (5 if any(kind_of(source.frame, cpu) for cpu in cpus) else 0)

    def draw(cpu: int) -> list[Line]:
        return _box(source, cpu, plan) if plan.height > 1 else [_meter(source, cpu, plan.width, label)]

    runs = bool(source.runs)  # then each line has room for a name
    boxes = []
    for cpu in cpus:
        lit = source.cursor[0].id if source.cursor is not None and source.cursor[1] == cpu_row(cpu) else ""
        boxes.append(kept.get((cpu, runs, source.runs.get(cpu), lit), partial(draw, cpu)))
    lines: list[Line] = []
    if plan.height == 1:
        each = _heading(source, cpus[0], plan.width, label)
        lines.append(tuple(each for _ in range(plan.across)))
    for row in range(plan.down):
        beside = [boxes[at] for at in range(row, len(boxes), plan.down)]
        lines += [tuple(chain.from_iterable(parts)) for parts in zip(*beside, strict=True)]
    return lines


def _heading(source: CpuSource, cpu: int, width: int, label: int) -> Span:
    """The names and units of a meter's numbers, each above its own."""
    numbers = source.numbers
    words = {column.id: word for column, word in (
        (numbers.busy, "Busy%"), (numbers.clock, "MHz"),
        (numbers.heat, "" if numbers.heat is None else numbers.heat.shown_unit)) if column is not None}
    text = " " * (label - (6 if label > 6 else 1) - len(_CPU)) + _CPU
    at = 0
    for span in _meter(source, cpu, width, label):
        end = at + span.cells
        name = "" if span.target is None else span.target[0].id
        is_number = any(letter.isdigit() for letter in span.text) or span.text.strip().endswith(UNKNOWN)
        if at >= label and is_number:  # a bar has no digits
            word = words.get(name, "")
            text = flush_left(text, end - len(word)) + word if word else f"{flush_left(text, at)}idle in"
        at = end
    return Span(fitted(text, width), StyleRole.TITLE)


def _meter(source: CpuSource, cpu: int, width: int, label: int) -> Line:
    """Draw one meter of exactly that many characters; parts are dropped from the right."""
    frame, numbers, row, cursor = source.frame, source.numbers, cpu_row(cpu), source.cursor
    kind = kind_of(frame, cpu)
    digits = label - (6 if label > 6 else 1)
    name = Span(flush_left(f"{cpu:>{digits}} {kind}", label), StyleRole.TITLE, None if numbers.busy is None else
                (numbers.busy, row))
    after: list[Span] = []
    if numbers.clock is not None:
        after.append(number_span(source, numbers.clock, row, _MHZ, frame.cell(numbers.clock, row)))
    if numbers.heat is not None:
        after.append(number_span(source, numbers.heat, row, _HEAT, frame.cell(numbers.heat, row)))
    used = label + NUMBER + 2 + sum(span.cells for span in after)
    if numbers.idle and width - used - IDLE >= 14:
        after += [Span("  "), *idle_spans(idle_states(frame, numbers, (row,))[0], row, cursor)]
        used += IDLE + 2
    who = source.runs.get(cpu, "")
    if source.runs and width - used - 18 >= 14:
        after.append(Span(f"  {fitted(who, 15)} ", StyleRole.DIM))
        used += 18
    room = width - used
    if numbers.busy is None:
        return (name, *after, Span(" " * (width - label - sum(span.cells for span in after))))
    value = frame.cell(numbers.busy, row)
    before: list[Span] = []
    if room >= 2 * _SPARK:
        past = source.past(row, 60)
        size = min(60, room // 2)
        before.append(Span(spark(past, 100.0, size, frame.seq) + " ", StyleRole.SPARK, (numbers.busy, row)))
        room -= size + 1
    return (name, *before, *bar_spans(numbers.busy, row, value, room, cursor), *after, Span("  "))


def _box(source: CpuSource, cpu: int, plan: MeterPlan) -> list[Line]:
    """Draw a CPU with its load over time in a frame, and its other numbers in the upper edge."""
    frame, numbers, row, cursor = source.frame, source.numbers, cpu_row(cpu), source.cursor
    inner, edge = plan.width - 2, Span("│", StyleRole.RULE)
    title: list[Span] = [Span(f" CPU {cpu} {kind_of(frame, cpu)}".rstrip() + " ", StyleRole.TITLE,
                              None if numbers.busy is None else (numbers.busy, row))]
    past: Sequence[float] = ()
    if numbers.busy is not None:
        value = frame.cell(numbers.busy, row)
        title += [*bar_spans(numbers.busy, row, value, max(0, min(40, inner - 60)), cursor), Span(" % ")]
        past = source.past(row, inner)
    if numbers.clock is not None:
        title += [number_span(source, numbers.clock, row, _MHZ, frame.cell(numbers.clock, row)), Span(" MHz ")]
    if numbers.heat is not None:
        title += [number_span(source, numbers.heat, row, _HEAT, frame.cell(numbers.heat, row)),
                  Span(f" {numbers.heat.shown_unit} ")]
    room = inner - sum([span.cells for span in title])
    if numbers.idle and room > IDLE + 4:
        idle = [Span("  "), *idle_spans(idle_states(frame, numbers, (row,))[0], row, cursor), Span(" ")]
        title += idle
        room -= sum([span.cells for span in idle])
    if (who := source.runs.get(cpu, "")) and room > 20:
        title.append(Span(f" {fitted(who, 15)} ", StyleRole.DIM))
        room -= 17
    lines: list[Line] = [(Span("┌", StyleRole.RULE), *title, Span("─" * max(0, room) + "┐", StyleRole.RULE))]
    height = plan.height - 2
    for text, role in zip(area(stretched(past, inner), 100.0, inner, height), roles(height), strict=True):
        lines.append((edge, Span(text, role), edge))
    return [*lines, (Span(f"└{'─' * inner}┘", StyleRole.RULE),)]
