"""Highlighted rows among many: the busiest, with the hottest and the slowest of the busy; without Textual."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, cast

from turbotui.cell_widths import fitted, flush_left, flush_right
from turbotui.dataclass import dataclass
from turbotui.features.overview.cpu_numbers import (
    IDLE,
    CpuNumbers,
    CpuSource,
    bar_spans,
    idle_spans,
    idle_states,
    kind_of,
    number_span,
)
from turbotui.machine.topology import Topology
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import RowId, Scope, cpu_row
from turbotui.sampling.frame import Frame
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.panel import Line, Span

MARGIN: Final = 0.02
"""The share by which a row must exceed another to pass it, so that similar rows do not swap places."""
_SLOW: Final = 0.95
"""The share of the fastest clock below which a busy CPU is slow."""
_IDLE_LOAD: Final = 5.0  # percent of load up to which no CPU is busier than another one
_BUSY_ENOUGH: Final = 50.0  # percent of load from which a slow CPU matters
_SHARES: Final = (("slowest", 0.25), ("hottest", 0.25))
"""The words of rows that are not there for their load alone, and their share of all rows."""
_ORDER: Final = " busiest first"
_WORD: Final = 9
_BAR: Final = 40
_MHZ: Final = 7
_HEAT: Final = 5
_IDLE: Final = IDLE + 2


def settled(before: Sequence[RowId], values: Mapping[RowId, float], count: int, idle: float = -math.inf) -> list[RowId]:
    """Return the rows with the greatest values, in an order that changes only if clearly wrong.

    Args:
        idle: a value up to which rows keep their places and take no others; those above it are in order; by
            default a row passes another one that it exceeds by `MARGIN`.
    """
    def beyond(row: RowId, other: RowId) -> bool:
        return values[row] > values[other] + MARGIN * abs(values[other])

    def wrong(row: RowId, other: RowId) -> bool:
        return beyond(row, other) if idle == -math.inf else values[row] > max(values[other], idle)

    kept = [row for row in before if row in values][:count]
    standing = set(kept)
    for row in sorted(values, key=values.__getitem__, reverse=True)[:2 * count]:
        if row in standing:
            continue
        if len(kept) < count:
            kept.append(row)
            continue
        least = min(kept, key=lambda row: values[row])
        if values[row] <= idle or not beyond(row, least):
            break
        kept[kept.index(least)] = row
    for end in range(1, len(kept)):  # insertion sort, so that rows that do not pass stay
        at = end
        while at > 0 and wrong(kept[at], kept[at - 1]):
            kept[at - 1], kept[at] = kept[at], kept[at - 1]
            at -= 1
    return kept


@dataclass(frozen=True, slots=True)
class Standout:
    """A highlighted row, and the reason."""

    row: RowId
    word: str  # "" for its load


class Standouts:
    """Chooses highlighted rows, and keeps them in their places."""

    def __init__(self) -> None:
        self._before: dict[str, list[RowId]] = {}

    def choose(self, frame: Frame, numbers: CpuNumbers, count: int) -> list[Standout]:
        """Choose at most `count` rows, in order of load: the hottest, the slowest of the busy, and the busiest.

        The busiest rows are on top whatever else they are: a row below them is there for its word, which all rows have
        that are as hot or as slow.
        """
        busy, heat = _known(frame, numbers.busy), _known(frame, numbers.heat)
        loaded = {row for row, value in busy.items() if value >= _BUSY_ENOUGH}
        slow = _slow(frame, {row: value for row, value in _known(frame, numbers.clock).items() if row in loaded})
        by_chance = numbers.clock is not None and numbers.clock.error is not None  # which is slowest at a moment
        slow = {} if by_chance else slow
        rows: dict[RowId, None] = {}
        least: dict[str, float] = {}  # a row with as much as a chosen one has its word, too
        for (word, share), values in zip(_SHARES, (slow, heat), strict=True):
            wanted = min(len(values), max(1, int(count * share)), count - len(rows)) if count >= 4 else 0
            settled_rows = self._settle(word, values, wanted)
            least[word] = min((values[row] for row in settled_rows), default=math.inf)
            rows |= dict.fromkeys(settled_rows)
        for_load = self._settle("", {row: value for row, value in busy.items() if row not in rows}, count - len(rows),
                                _IDLE_LOAD)
        rows |= dict.fromkeys(for_load)
        order = tuple(self._settle("order", {row: busy.get(row, 0.0) for row in rows}, len(rows), _IDLE_LOAD))
        heats = [None] * len(order) if numbers.heat is None else frame.cells(numbers.heat, order)
        words = ["slowest" if slow.get(row, -math.inf) >= least["slowest"] else
                 "hottest" if isinstance(value, int | float) and value >= least["hottest"] else ""
                 for row, value in zip(order, heats, strict=True)]
        if for_load and len(set(words)) == 1:  # what is true of all rows singles out none
            words = [""] * len(words)
        return [Standout(row, word) for row, word in zip(order, words, strict=True)]

    def _settle(self, word: str, values: Mapping[RowId, float], count: int, idle: float = -math.inf) -> list[RowId]:
        chosen = self._before[word] = settled(self._before.get(word, ()), values, count, idle) if count > 0 else []
        return chosen


def _slow(frame: Frame, clocks: Mapping[RowId, float]) -> dict[RowId, float]:
    """Return the negative clocks of busy CPUs that are clearly below the fastest busy one of their kind of core."""
    fastest: dict[str, float] = {}
    kinds = {row: kind_of(frame, row.key[0]) for row in clocks}
    for row, clock in clocks.items():
        fastest[kinds[row]] = max(clock, fastest.get(kinds[row], 0.0))
    return {row: -clock for row, clock in clocks.items() if clock < _SLOW * fastest[kinds[row]]}


def _known(frame: Frame, column: CounterColumn | None) -> dict[RowId, float]:
    """Return a column's values other than 0, each once, by the first CPU of its instance."""
    if column is None:
        return {}
    cells = frame.cells(column, frame.rows(column.scope))
    rows = _first_cpus(frame.topology, column.scope)
    if set(map(type, cells)) == {float} and 0.0 not in cells:  # usually
        return dict(zip(rows, cast("Sequence[float]", cells), strict=True))
    return {row: float(value) for row, value in zip(rows, cells, strict=True)
            if isinstance(value, int | float) and value}


def _first_cpus(topology: Topology, scope: Scope) -> Sequence[RowId]:
    if scope is Scope.CPU:
        return topology.rows(scope)
    return [cpu_row(instance.cpus[0]) for instance in topology.instances(scope)]


def standout_lines(source: CpuSource, rows: Sequence[Standout], width: int) -> list[Line]:
    """Draw a title, and a line of exactly `width` characters for each row."""
    frame, numbers, runs, cursor = source.frame, source.numbers, source.runs, source.cursor
    digits = max(4, len(str(max(frame.topology.cpus, default=0))) + 1)
    hybrid = any(place.core_type for place in frame.topology.places.values())
    used = digits + 1 + 5 * hybrid + 6 + _WORD
    after: list[tuple[str, int]] = []
    if numbers.clock is not None:
        after.append(("MHz", _MHZ))
    if numbers.heat is not None:
        after.append((numbers.heat.shown_unit, _HEAT))
    if numbers.idle and width - used - sum(size for _, size in after) >= _IDLE + 14:
        after.append(("  idle in", _IDLE))
    if runs and width - used - sum(size for _, size in after) >= 16 + 20:
        after.append((" runs", 16))
    bar = max(0, min(_BAR, width - used - sum(size for _, size in after)))
    title = fitted(f"{'CPU':>{digits}}{_ORDER if bar > len(_ORDER) else ''}", digits + 1 + 5 * hybrid + bar) + "Busy% "
    title += "".join((flush_left if word.startswith(" ") else flush_right)(word, size) for word, size in after)
    lines: list[Line] = [(Span(fitted(title, width), StyleRole.TITLE),)]
    names = {word for word, _ in after}
    chosen = tuple(standout.row for standout in rows)  # computed together, a column at a time
    busy, clock, heat = ([None] * len(rows) if column is None else frame.cells(column, chosen)
                         for column in (numbers.busy, numbers.clock, numbers.heat))
    idle = idle_states(frame, numbers, chosen) if "  idle in" in names else [None] * len(rows)
    for at, shown_row in enumerate(rows):
        row, cpu = shown_row.row, shown_row.row.key[0]
        target = None if numbers.busy is None else (numbers.busy, row)
        spans = [Span(f"{cpu:>{digits}} ", StyleRole.PLAIN, target)]
        if hybrid:
            spans.append(Span(f"{flush_left(kind_of(frame, cpu), 5)}", StyleRole.TITLE, target))
        if numbers.busy is not None:
            spans += [*bar_spans(numbers.busy, row, busy[at], bar, cursor), Span(" ")]
        if numbers.clock is not None:
            spans.append(number_span(source, numbers.clock, row, _MHZ, clock[at]))
        if numbers.heat is not None:
            spans.append(number_span(source, numbers.heat, row, _HEAT, heat[at]))
        if "  idle in" in names:
            spans += [Span("  "), *idle_spans(idle[at], row, cursor)]
        if " runs" in names:
            spans.append(Span(f" {fitted(runs.get(cpu, ''), 15)}", StyleRole.PLAIN))
        spans.append(Span(f" {shown_row.word}", StyleRole.DIM))
        lines.append((*spans, Span(" " * max(0, width - sum(span.cells for span in spans)))))
    return lines
