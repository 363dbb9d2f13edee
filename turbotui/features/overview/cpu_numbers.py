"""The overview's numbers of a CPU: load, clock, temperature, idle state; without Textual."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from turbotui.cell_widths import flush_left, flush_right
from turbotui.dataclass import dataclass
from turbotui.quantities.columns import ColumnId, CounterColumn, Value
from turbotui.quantities.scope import RowId
from turbotui.quantities.unavailable import Reason
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import History
from turbotui.widgets.cells import ALARM_MARKS, UNKNOWN, StyleRole, alarm
from turbotui.widgets.levels import FrameLevels, level_bar, role_of
from turbotui.widgets.panel import Span, Target

_HARDWARE_IDLE: Final[tuple[ColumnId, ...]] = ("CPU%c1e", "CPU%c1", "CPU%c3", "CPU%c6", "CPU%c7")
"""Idle states as counted by hardware, or, if there are none, as requested by the kernel."""
KINDS: Final = {"P": "P", "E": "E", "LP": "LP-E"}
"""Core types, as people write them."""
NUMBER: Final = 5
"""Characters of Busy%."""
_STATE: Final = 8
"""Characters of an idle state's name: haltpoll."""
IDLE: Final = _STATE + 5
"""Characters of an idle state and its share: "C6      100 %"."""

MOST_CHARTED: Final = 32
"""The number of CPUs up to which each has a chart of its load over time."""


@dataclass(frozen=True, slots=True)
class CpuNumbers:
    """The columns of a CPU that this machine has."""

    # busy, clock, heat: None if not available
    busy: CounterColumn | None
    clock: CounterColumn | None
    heat: CounterColumn | None
    idle: tuple[tuple[str, CounterColumn], ...]  # columns of idle states, with their words

    @property
    def columns(self) -> tuple[CounterColumn, ...]:
        """All columns that the numbers need."""
        columns = (self.busy, self.clock, self.heat)
        return (*(column for column in columns if column is not None), *(column for _, column in self.idle))


@dataclass(frozen=True, slots=True)
class CpuSource:
    """The data from which lines of CPUs are drawn."""

    frame: Frame  # the newest one
    numbers: CpuNumbers  # columns
    history: History  # the past of cells
    runs: Mapping[int, str]  # the task that runs on a CPU, by its number; empty if unknown
    cursor: Target | None  # the cell under the cursor
    levels: FrameLevels  # cells' shares of their possible range

    def past(self, row: RowId, count: int) -> Sequence[float]:
        """The last loads of a CPU, oldest first; none on a machine with more CPUs than are charted."""
        busy = self.numbers.busy
        if busy is None or len(self.frame.topology.cpus) > MOST_CHARTED:
            return ()
        return self.history.series(busy, row, count)


def cpu_numbers(has: Iterable[CounterColumn], busy: CounterColumn | None,
                clock: CounterColumn | None, heat: CounterColumn | None) -> CpuNumbers:
    """Choose the columns of a CPU among the available ones; three are the summary line's."""
    there = {column.id: column for column in has}
    hardware = [(f"C{name[5:]}".replace("e", "E"), there[name]) for name in _HARDWARE_IDLE if name in there]
    asked = [(column.id.removesuffix("%").split()[0][:_STATE], column) for column in there.values()
             if any(need.startswith("cpuidle.") and need.endswith(".time") for need in column.needs)]
    return CpuNumbers(busy, clock, heat, tuple(hardware or asked))


IdleState: TypeAlias = "tuple[str, float | None, CounterColumn] | None"
"""The idle state in which a CPU spent most of an interval: word, share in percent, column; None if all are unknown.

Without a share, this state is unknown and may have lasted longer than all that are known; without a word, the CPU was
busy all the time.
"""


def idle_states(frame: Frame, numbers: CpuNumbers, rows: tuple[RowId, ...]) -> list[IdleState]:
    """Return the idle states of CPUs."""
    cells = [frame.cells(column, rows) for _, column in numbers.idle]
    loads = [None] * len(rows) if numbers.busy is None else frame.cells(numbers.busy, rows)
    return [_longest(frame, row, load, list(zip(values, numbers.idle, strict=True)))
            for row, load, values in zip(rows, loads, zip(*cells, strict=True) if cells else [()] * len(rows),
                                         strict=True)]


def _longest(frame: Frame, row: RowId, load: Value, states: Sequence[tuple[Value, tuple[str, CounterColumn]]]
             ) -> IdleState:
    known = [(float(value), *state) for value, state in states if isinstance(value, (int, float))]
    if not known:
        return None
    share, word, column = max(known, key=lambda state: state[0])
    left = 100.0 - share - (load if isinstance(load, (int, float)) else 0.0)  # the most that an unknown one can have
    if share < left:
        for value, (unknown, its_column) in reversed(states):
            if value is None and frame.why_unknown(its_column, row).reason is not Reason.NO_HARDWARE:
                return unknown, None, its_column
    return "" if share < 0.05 and left < 0.05 else word, share, column


def kind_of(frame: Frame, cpu: int) -> str:
    """Return a CPU's core type; "" if all cores have the same type."""
    kind = frame.topology.places[cpu].core_type or ""
    return KINDS.get(kind, kind)


# Spans of a line, each of a constant width


def bar_spans(column: CounterColumn, row: RowId, value: Value, width: int, cursor: Target | None) -> list[Span]:
    """Draw a bar and the number beside it."""
    share = value / 100 if isinstance(value, (int, float)) else None
    role = StyleRole.DIM if share is None else role_of(share)
    text = flush_right(UNKNOWN, NUMBER) if share is None else f"{100 * share:{NUMBER}.1f}"
    target = column, row
    bar = [Span(text, role, target) for text, role in level_bar(share, width - 1)]
    return [*bar, Span(" " * min(1, width), role, target),
            Span(text, StyleRole.CELL if cursor == target else role, target)]


def number_span(source: CpuSource, column: CounterColumn, row: RowId, width: int, value: Value) -> Span:
    """Draw an integer in the colour of its level, with the signs of its marks and of the column's thresholds."""
    shown = column.as_shown(value)
    text = f"{shown:,.0f}" if isinstance(shown, (int, float)) else UNKNOWN
    over = alarm(column, value)
    if value is not None:
        text = source.frame.signs(column, row) + ("" if over is None else ALARM_MARKS[over]) + text
    role = over or source.levels.roles(source.frame, column, (row,), (value,))[0]
    target = column, row
    return Span(flush_right(text, width), StyleRole.CELL if source.cursor == target else
                StyleRole.DIM if value is None else role, target)


def idle_spans(state: IdleState, row: RowId, cursor: Target | None) -> Sequence[Span]:
    """Draw an idle state and its share."""
    if state is None:
        return [Span(" " * IDLE)]
    word, share, column = state
    target = column, row
    number = flush_right(UNKNOWN, 3) if share is None else f"{share:3.0f} %"
    text = flush_left(f"{flush_left(word, _STATE)}{number}"[:IDLE] if word else "not idle", IDLE)
    return [Span(text, StyleRole.CELL if cursor == target else StyleRole.DIM, target)]
