"""The values of columns over a span of a recording, and the facts of the span."""

from __future__ import annotations

import math
import shlex
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError
from turbotui.features.diff.spans import RecordedSpan
from turbotui.machine.small_files import line_of
from turbotui.quantities.columns import Category, ColumnId, CounterColumn, Value
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame
from turbotui.untrusted import one_line

Key: TypeAlias = tuple[ColumnId, RowId]
"""A column in a row."""

_USUAL: Final = 0.25  # intervals that are longer or shorter by more than this share are left out
_OF_THE_READING: Final = frozenset({"usec", "Time_Of_Day_Seconds"})  # times of the reading


@dataclass(frozen=True, slots=True)
class SpanFacts:
    """The facts of a span."""

    name: str  # the span as the user wrote it
    machine: str  # the machine's name
    missing: tuple[str, ...]  # sentences about unreadable parts of the recording
    # facts, by name, in which two spans should agree; "" if the recording does not tell
    circumstances: Mapping[str, str]
    # begin_ns, end_ns: of its intervals, in ns since 1970
    begin_ns: int
    end_ns: int
    intervals: int  # the number of compared intervals
    seconds: float  # the median length of an interval
    left_out: int  # intervals that were longer or shorter than the others by more than a quarter


@dataclass(slots=True)
class Series:
    """A column in a row over a span."""

    column: CounterColumn  # the recording's column
    row: RowId
    numbers: list[float] = field(default_factory=list)  # the known values, in order of time
    words: dict[str, None] = field(default_factory=dict)  # the texts that occurred
    why: Unavailable | None = None  # the reason of the last unknown value

    def take(self, value: Value) -> None:
        """Add the value of the next interval."""
        if isinstance(value, str):
            self.words[value] = None
        elif value is not None and math.isfinite(value):
            self.numbers.append(value)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two compared spans."""

    number: int  # 0 for the first, 1 for the second
    facts: SpanFacts
    series: Mapping[Key, Series]


def comparable_columns(columns: Iterable[CounterColumn], named: Collection[ColumnId] = ()) -> tuple[CounterColumn, ...]:
    """Return the columns about a machine's activity, without rows' positions, times of reading, and register bits.

    Args:
        named: columns that are always compared.
    """
    return tuple(column for column in columns if column.id in named or (
        column.category is not Category.TOPOLOGY and not column.bits and not column.hexadecimal
        and column.id not in _OF_THE_READING))


def rows_of(frame: Frame, column: CounterColumn, level: Scope) -> Sequence[RowId]:
    """Return the rows of a level for a column; those of the column's own level if that is coarser."""
    if column.whole_only or Scope.SYSTEM in (level, column.scope):
        return (SYSTEM_ROW,)
    return frame.rows(column.scope if column.scope.rank > level.rank else level)


class GatheredSeries:
    """The values of columns in the rows of a level, from frames that are taken in order of time.

    Args:
        columns: of the frames' catalog.
        level: of the rows.
        usual: seconds of an interval; much longer or shorter ones (gaps, the first) are left out, because counts grow
            with the interval.

    Attributes:
        by_key: the series of each column in each row.
        lengths: seconds of each interval.
        ends: begin and end of each, in ns since 1970.
        left_out: how many intervals were left out.
    """

    def __init__(self, columns: Sequence[CounterColumn], level: Scope, usual: float) -> None:
        self.by_key: dict[Key, Series] = {}
        self.lengths: list[float] = []
        self.ends: list[int] = []
        self.left_out = 0
        self._columns, self._level, self._usual = columns, level, usual

    def take(self, frame: Frame) -> None:
        """Take the next frame."""
        seconds = frame.seconds
        if frame.older is None or seconds is None or abs(seconds / self._usual - 1.0) > _USUAL:
            self.left_out += 1
            return
        self.lengths.append(seconds)
        self.ends += [frame.older.wall_ns, frame.newer.wall_ns]
        for column in self._columns:
            rows = rows_of(frame, column, self._level)
            for row, value in zip(rows, frame.bare_cells(column, rows), strict=True):
                if (series := self.by_key.get((column.id, row))) is None:
                    series = self.by_key[column.id, row] = Series(column, row)
                series.take(value)
                if value is None and series.why is None:
                    series.why = (frame.why(column, row) or frame.lacking(column, row)
                                  or Unavailable(Reason.NOT_READ, "this recording does not have it"))


def side_of(span: RecordedSpan, number: int, gathered: GatheredSeries, usual: float) -> Side:
    """Make a side of what was gathered of a span's frames.

    Args:
        number: 0 for the first side, 1 for the second.
        usual: seconds of an interval that were asked for.

    Raises:
        TurbotuiError: the span has no such interval.
    """
    lengths, ends = gathered.lengths, gathered.ends
    if not lengths:
        raise TurbotuiError(f"{span.name} has {span.seconds:.3g} s, and no interval of {usual:g} s: "
                            "choose a shorter --every or a longer time")
    facts = SpanFacts(
        name=span.name, machine=span.journal.machine.host.name,
        missing=tuple(one_line(part.text) for part in span.journal.missing), circumstances=_circumstances(span),
        begin_ns=min(ends), end_ns=max(ends), intervals=len(lengths),
        seconds=statistics.median(lengths), left_out=gathered.left_out)
    return Side(number, facts, gathered.by_key)


def _circumstances(span: RecordedSpan) -> Mapping[str, str]:
    machine, header = span.journal.machine, span.journal.header_at(min(span.end_ns, span.journal.last_ns))
    host, model = machine.host, machine.model
    stepping = " ".join(str(number) for number in (model.family, model.model, model.stepping) if number is not None)
    return {
        "machine": host.name,
        "processor": " ".join(filter(None, (model.name, f"({stepping})" if stepping else ""))),
        "number of CPUs": str(len(machine.topology.cpus)),
        "microcode": model.microcode,
        "kernel": line_of(host, "/proc/sys/kernel/osrelease"),
        "kernel command line": line_of(host, "/proc/cmdline"),
        "turbotui": header.version,
        "recorded command": one_line(shlex.join(header.command)),
    }
