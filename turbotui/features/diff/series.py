"""The values of columns over a span of a recording, and what is to be known of the span itself."""

from __future__ import annotations

import math
import shlex
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.features.diff.spans import RecordedSpan, kept_text
from turbotui.quantities.columns import Category, ColumnId, CounterColumn, Value
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame
from turbotui.untrusted import one_line

Key: TypeAlias = tuple[ColumnId, RowId]
"""A column in a row."""

_USUAL: Final = 0.25  # intervals that are longer or shorter by more than this part are left out
_OF_THE_READING: Final = frozenset({"usec", "Time_Of_Day_Seconds"})  # tell of when it was read, not of the machine


@dataclass(frozen=True, slots=True)
class SpanFacts:
    """What is true of a whole span.

    Attributes:
        name: as the person wrote it.
        machine: its name.
        missing: sentences of what cannot be read of the recording.
        circumstances: by name what two spans should have in common; "" where the recording does not tell.
        begin_ns, end_ns: of its intervals, in ns since 1970.
        intervals: how many were compared.
        seconds: length of one, the median.
        left_out: intervals that were longer or shorter than the others by more than a quarter.
    """

    name: str
    machine: str
    missing: tuple[str, ...]
    circumstances: Mapping[str, str]
    begin_ns: int
    end_ns: int
    intervals: int
    seconds: float
    left_out: int


@dataclass(slots=True)
class Series:
    """A column in a row over a span.

    Attributes:
        column: as that recording has it.
        row: of which row.
        numbers: what is known, in order of time.
        words: the texts that it was.
        why: the reason of the last value that was unknown.
    """

    column: CounterColumn
    row: RowId
    numbers: list[float] = field(default_factory=list)
    words: dict[str, None] = field(default_factory=dict)
    why: Unavailable | None = None

    def take(self, value: Value) -> None:
        """The value of the next interval."""
        if isinstance(value, str):
            self.words[value] = None
        elif value is not None and math.isfinite(value):
            self.numbers.append(value)


@dataclass(frozen=True, slots=True)
class Side:
    """One of two spans that are compared.

    Attributes:
        number: 0 for the first, 1 for the second.
    """

    number: int
    facts: SpanFacts
    series: Mapping[Key, Series]


def comparable_columns(columns: Iterable[CounterColumn], named: Collection[ColumnId] = ()) -> tuple[CounterColumn, ...]:
    """The columns that say what a machine did: not where a row is, nor when it was read, nor the bits of a register.

    Args:
        columns: of a catalog.
        named: columns that are compared in any case.
    """
    return tuple(column for column in columns if column.id in named or (
        column.category is not Category.TOPOLOGY and not column.bits and not column.hexadecimal
        and column.id not in _OF_THE_READING))


def rows_of(frame: Frame, column: CounterColumn, level: Scope) -> Sequence[RowId]:
    """The rows of a level that have values of a column of their own: those of its own level where that is coarser."""
    if column.whole_only or Scope.SYSTEM in (level, column.scope):
        return (SYSTEM_ROW,)
    return frame.rows(column.scope if column.scope.rank > level.rank else level)


def gathered(span: RecordedSpan, number: int, *, usual: float, every: float, level: Scope,
             columns: Sequence[CounterColumn]) -> Side:
    """Read a span.

    Args:
        span: of a recording that is open.
        number: of the side.
        usual: seconds of an interval; those that are much longer or shorter (gaps, a first one) are left out, as counts
            of an interval grow with it.
        every: what the recording is asked for: as long, or 0 for as it was recorded.
        level: of the rows.
        columns: of that recording's catalog.
    """
    found: dict[Key, Series] = {}
    lengths: list[float] = []
    ends: list[int] = []
    left_out = 0
    for frame in span.frames(every):
        seconds = frame.seconds
        if frame.older is None or seconds is None or abs(seconds / usual - 1.0) > _USUAL:
            left_out += 1
            continue
        lengths.append(seconds)
        ends += [frame.older.wall_ns, frame.newer.wall_ns]
        for column in columns:
            _take(found, frame, column, rows_of(frame, column, level))
    facts = SpanFacts(
        name=span.name, machine=span.journal.machine.host.name,
        missing=tuple(one_line(one.text) for one in span.journal.missing), circumstances=_circumstances(span),
        begin_ns=min(ends, default=span.begin_ns), end_ns=max(ends, default=span.end_ns), intervals=len(lengths),
        seconds=statistics.median(lengths or [usual]), left_out=left_out)
    return Side(number, facts, found)


def _take(found: dict[Key, Series], frame: Frame, column: CounterColumn, rows: Sequence[RowId]) -> None:
    for row, value in zip(rows, frame.cells(column, rows), strict=True):
        series = found.get((column.id, row))
        if series is None:
            series = found[column.id, row] = Series(column, row)
        series.take(value)
        if value is None and series.why is None:
            series.why = frame.why(column, row) or Unavailable(Reason.NOT_READ, "this recording does not have it")


def _circumstances(span: RecordedSpan) -> Mapping[str, str]:
    machine, header = span.journal.machine, span.journal.header_at(min(span.end_ns, span.journal.last_ns))
    host, model = machine.host, machine.model
    stepping = " ".join(str(one) for one in (model.family, model.model, model.stepping) if one is not None)
    return {
        "machine": host.name,
        "processor": " ".join(filter(None, (model.name, f"({stepping})" if stepping else ""))),
        "number of CPUs": str(len(machine.topology.cpus)),
        "microcode": model.microcode,
        "kernel": kept_text(host, "/proc/sys/kernel/osrelease"),
        "kernel command line": kept_text(host, "/proc/cmdline"),
        "turbotui": header.version,
        "recorded command": one_line(shlex.join(header.command)),
    }
