"""A recording as a Chrome trace: counters of columns, threads by CPU, regions, and what happened as instants.

A mean over an interval stands from the interval's start, a reading such as a temperature from the moment of its tick;
both until the next sample. An unknown value gives no sample: a slice on the track that is named after the counter says
since when, until when and why, and the sum that lacks a part is such a slice, with the value, and no sample.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from turbotui import __version__
from turbotui.dataclass import dataclass
from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.diagnosis.memory_meter import watch_memory
from turbotui.diagnosis.recorded_looks import RecordedLooks
from turbotui.feature_list import FEATURES, part_called
from turbotui.features.export.model import LongColumn, RecordedTime, by_level, rows_of_level
from turbotui.machine.host import HostKind
from turbotui.quantities.columns import Category, CounterColumn, Value
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.sentences import several
from turbotui.quantities.signals import Behavior
from turbotui.quantities.tables import Cell
from turbotui.recording.journal import Journal
from turbotui.sampling.frame import Frame
from turbotui.tables.envelope import Envelope, timestamp
from turbotui.tables.frame_table import FrameTable
from turbotui.tables.layout import Layout
from turbotui.tables.row_names import row_name, scope_word
from turbotui.tables.trace_events import TracedRows, TraceEvents, TraceRoom, TraceSlice

_JOIN: Final = 10_000_000
"""ns by which an interval may begin after the end of the one before without a gap."""
_APART: Final = 10 * 10**9
"""ns for which a cause that comes back is not told again."""
_DIGITS: Final = 7
"""Significant digits of a sample that is no whole number."""
_GONE: Final = ("unknown", "the recording has no such row in this interval")
_NOT_RECORDED: Final = ("unknown", "nothing was recorded")
_NO_ROOM: Final = ("unknown", "left out, to keep the trace below its greatest size")

Note = tuple[str, str]
"""What a slice beside a counter says: its name, and why."""


class _Series:
    """A counter of a row: its last sample, and what has to be said of its values since when."""

    __slots__ = ("group", "last", "name", "note", "since_ns", "unit")

    def __init__(self, group: str, name: str, unit: str) -> None:
        self.group, self.name, self.unit = group, name, unit
        self.last: float | None = None
        self.note: Note | None = None
        self.since_ns = 0


def default_columns(journal: Journal, level: Scope | None) -> tuple[LongColumn, ...]:
    """The dashboard's default columns, as far as the recording has what they are made of."""
    signals = journal.signals | journal.capabilities.constants().keys()
    return tuple(LongColumn(column, level or (Scope.SYSTEM if column.whole_only else column.scope), {})
                 for column in journal.catalog.columns
                 if column.default and column.category is not Category.TOPOLOGY and column.needs
                 and signals.issuperset(column.needs))


@dataclass(frozen=True, slots=True)
class Thinned:
    """The interval and the number of slices at which a recording fits into a trace."""

    seconds: float  # of an interval; 0 for those of the recording
    slices: int  # the greatest number of slices of threads in an interval
    room: TraceRoom
    words: str = ""  # what was done, for people; "" for nothing


def thinned(time: RecordedTime, columns: Sequence[LongColumn], room: TraceRoom | None = None) -> Thinned:
    """Return the interval at which a trace of these columns has room."""
    room = room or TraceRoom()
    journal, seconds = time.journal, (time.end_ns - time.begin_ns) / 1e9
    recorded = sum(time.begin_ns <= clock <= time.end_ns for clock in journal.clocks()) - 1
    if time.every:
        recorded = min(recorded, math.ceil(seconds / time.every) + 1)
    recorded = max(1, recorded)
    topology = journal.machine.topology
    values = sum(len(some) * (1 if level is Scope.SYSTEM else len(topology.rows(level)))
                 for level, some in by_level(columns).items())
    most = max(1, room.samples // max(1, values))
    if recorded <= most:
        return Thinned(time.every, max(1, room.slices // recorded), room)
    every = _round_up(seconds / most)
    intervals = math.ceil(seconds / every) + 1
    return Thinned(every, max(1, room.slices // intervals), room,
                   f"intervals are joined to {every:g} s, for {values:,} counters of {recorded:,} intervals would be "
                   "too large: choose --columns, --by or a shorter time (--from-time, --to-time) to see more")


def _round_up(seconds: float) -> float:
    """The next of 1, 2, 5, 10, 20 ... seconds."""
    power = 10.0 ** math.floor(math.log10(seconds))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= seconds)


class TraceExport:
    """Writes a recording as a Chrome trace.

    Args:
        time: what is exported, at the interval of `limits`.
        limits: what the trace has room for.
    """

    def __init__(self, machine: str, columns: Sequence[LongColumn], time: RecordedTime, limits: Thinned) -> None:
        journal = time.journal
        self._machine, self._journal, self._limits = machine, journal, limits
        self._levels = by_level(columns)
        self._layouts = {level: Layout(tuple(column.column for column in some), machine=machine, kind=HostKind.RECORDED)
                         for level, some in self._levels.items()}
        self._series: dict[tuple[str, RowId], _Series] = {}
        self._names: dict[RowId, str] = {}
        self._events = TraceEvents(limits.room)
        self._span = time.begin_ns, time.end_ns
        self._began_ns = self._end_ns = 0
        self._passed = self._intervals = 0
        self._last_marks: dict[str, int] = {}
        self._diagnosis = MachineDiagnosis(journal.catalog, recorded=True)
        memory = watch_memory(journal.machine, journal.definitions())
        self._diagnosis.memory = None if memory is None else memory.share
        self._looks = RecordedLooks(journal.rows)
        self._rows = tuple(rows for feature in FEATURES for rows in part_called(feature.traced, TracedRows, journal))

    def begin(self) -> Iterator[str]:
        """Return no line, because the first event needs the first interval."""
        return iter(())

    def interval(self, frame: Frame) -> Iterator[str]:
        """Return the events of an interval."""
        start_ns, end_ns = 0 if frame.older is None else frame.older.wall_ns, frame.newer.wall_ns
        if not self._intervals:
            self._began_ns = self._end_ns = start_ns
            self._events.begin(start_ns)
            self._events.instant(Envelope(self._machine, HostKind.RECORDED, end_ns).label, start_ns, "trace")
        if start_ns < self._end_ns - _JOIN or end_ns <= start_ns:
            self._passed += 1  # the wall clock was set back: this time is in the trace already
            return iter(())
        self._intervals += 1
        if start_ns > self._end_ns + _JOIN:
            for series in self._series.values():
                self._note(series, self._end_ns, _NOT_RECORDED)
        seen: set[tuple[str, RowId]] = set()
        for level, columns in self._levels.items():
            rows = rows_of_level(frame, level)
            for column in columns:
                seen.update(self._column(frame, level, column.column, rows))
        for key, series in self._series.items():
            if key not in seen:
                self._note(series, start_ns, _GONE)
        for piece in chain.from_iterable(added.slices(frame, self._limits.slices) for added in self._rows):
            self._events.slice(piece)
        self._diagnosis.seen = self._looks.at(frame)
        self._diagnosis.push(frame)
        for finding in self._diagnosis.findings():
            if (last := self._last_marks.get(finding.rule.id)) is None or frame.newer.wall_ns > last + _APART:
                self._events.instant(f"finding: {finding.sentence}", frame.newer.wall_ns, "findings")
            self._last_marks[finding.rule.id] = frame.newer.wall_ns
        self._end_ns = end_ns
        return iter(self._events.take())

    def _column(self, frame: Frame, level: Scope, column: CounterColumn,
                rows: Sequence[RowId]) -> Sequence[tuple[str, RowId]]:
        """Add the samples of a column in an interval; returns the keys of its series."""
        cells = FrameTable(frame, self._layouts[level]).cells(column, rows)
        is_mean = frame.older is not None and not _is_reading(frame, column)
        at_ns = frame.older.wall_ns if is_mean and frame.older is not None else frame.newer.wall_ns
        for at, (row, value) in enumerate(zip(rows, cells.bare, strict=True)):
            series = self._series.get((column.id, row))
            if series is None:
                name = column.id if row == SYSTEM_ROW else f"{column.id} {self._row_name(frame, row)}"
                series = self._series[column.id, row] = _Series("machine" if level is Scope.SYSTEM
                                                                else f"{scope_word(level)}s", name, column.unit)
            self._note(series, at_ns, _noted(column, value, cells.noted.get(at)))
            if isinstance(value, int | float) and not isinstance(value, bool):
                self._sample(series, at_ns, value)
        return [(column.id, row) for row in rows]

    def _sample(self, series: _Series, at_ns: int, value: float) -> None:
        exact = isinstance(value, int) or not value
        sample = value if exact else round(value, _DIGITS - 1 - math.floor(math.log10(abs(value))))
        if sample == series.last:
            return  # a counter holds its last value
        if self._events.counter(series.group, series.name, series.unit, at_ns, sample):
            series.last = sample
        else:
            self._note(series, at_ns, _NO_ROOM)

    def _note(self, series: _Series, at_ns: int, note: Note | None) -> None:
        """Say something of a counter from a moment on; a slice says it once something else is to be said."""
        before = series.note
        if before is not None and note is not None and before[0] == note[0]:
            return
        if before is not None:
            name, why = before
            self._events.slice(TraceSlice(series.group, f"{series.name}: unknown or marked", name, series.since_ns,
                                          at_ns, {"why": why} if why else None), "notes")
        series.note, series.since_ns = note, at_ns

    def _row_name(self, frame: Frame, row: RowId) -> str:
        if row not in self._names:
            name = row_name(frame.topology, row)
            if row.scope in (Scope.CORE, Scope.DIE) and frame.topology.varies(Scope.PACKAGE):
                name += f" of package {row.key[0]}"  # packages number their cores alike
            self._names[row] = name
        return self._names[row]

    def end(self, stopped: str) -> Iterator[str]:
        """Return what is known at the end, and the facts of the whole trace; what is missing, if a signal ended it."""
        for series in self._series.values():
            self._note(series, self._end_ns, None)
        begin_ns, end_ns = self._span
        for event in self._journal.events():
            if begin_ns <= event.wall_ns <= (self._end_ns if stopped else end_ns):
                text = event.text if event.text.startswith(event.kind) else f"{event.kind}: {event.text}"
                self._events.instant(text, event.wall_ns, event.kind)
        self._events.instant(stopped or "end of the trace", self._end_ns, "trace")
        thinned_words = [*filter(None, (self._limits.words,)), *self._events.left_out_words(),
                         *(word for rows in self._rows for word in rows.thinned())]
        for words in thinned_words:
            print(f"turbotui: trace: {words}", file=sys.stderr)
        if self._passed:
            passed = f"left out: {several(self._passed, 'interval')}, as the wall clock was set back over time before"
            print(f"turbotui: trace: {passed}", file=sys.stderr)
            thinned_words.append(passed)
        return self._events.finish(self._facts(thinned_words) | ({"stopped": stopped} if stopped else {}))

    def _facts(self, thinned_words: Sequence[str]) -> dict[str, object]:
        return {
            "turbotui": __version__, "machine": self._machine, "kind": HostKind.RECORDED.value,
            "was": self._journal.header.was.value, "processor": self._journal.machine.model.name,
            "clock": "the wall clock of the recording's ticks; ts 0 is `began`",
            "began": timestamp(self._began_ns), "began_ns": str(self._began_ns), "ended": timestamp(self._end_ns),
            "intervals": self._intervals,
            "counters": "a mean stands from the start of its interval, a reading from its moment, until the next "
                        "sample; while a value is unknown there is none, and a slice of the track beside says why",
            "thinned": list(thinned_words),
            "notes": [note for rows in self._rows for note in rows.notes()],
        }


def _is_reading(frame: Frame, column: CounterColumn) -> bool:
    """Whether a column's values are read at the end of the interval, and are no means over it."""
    signals = frame.capabilities.signals
    return bool(column.needs) and all(
        name in signals and signals[name].behavior is not Behavior.COUNTER for name in column.needs)


def _noted(column: CounterColumn, value: Value, cell: Cell | None) -> Note | None:
    """What a reader has to know of a cell beside its number; None for nothing."""
    known = value if cell is None else cell.value
    if isinstance(known, str):
        return known, ""
    if cell is None:
        return None
    if known is None:
        return "unknown", "" if cell.why is None else cell.why.sentence()
    names = [mark.name for mark in cell.marks]
    why = "; ".join((*cell.disputed, *((cell.why.sentence(),) if cell.why is not None else ())))
    if value is None:  # what must not be read without its mark
        return f"{', '.join(names)}: {column.amount(known)}", why
    return (", ".join(names), why) if names else None
