"""A recording as a long table: one row for each interval and CPU, core, package ..., with that level's columns.

Signals are columns, too: the increase of a counter, the value of a gauge at the interval's end, a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError, UsageError
from turbotui.quantities.columns import Category, CounterColumn
from turbotui.quantities.formula_text import formula_of
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.signals import Behavior, Signal, SignalId
from turbotui.quantities.units import Unit
from turbotui.recording.journal import Journal
from turbotui.sampling.frame import Frame
from turbotui.sampling.sweep import ValueOf
from turbotui.tables.layout import PLACES

_BEHAVES: Mapping[Behavior, str] = {
    Behavior.COUNTER: "the increase over the interval",
    Behavior.GAUGE: "the value at the end of the interval",
    Behavior.CONSTANT: "known from the start, the same in every row",
}


@dataclass(frozen=True, slots=True)
class LongColumn:
    """A column of the long table."""

    column: CounterColumn  # the column with the values
    level: Scope  # the level of rows that have values; others have None
    facts: Mapping[str, str]  # facts by name: unit, origin, description

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.id

    @property
    def is_text(self) -> bool:
        """Whether the values are texts."""
        return self.column.decimals < 0 and self.column.unit in {"", Unit.TEXT.value}


@dataclass(frozen=True, slots=True)
class RecordedTime:
    """The time of a recording that is exported."""

    journal: Journal  # the open recording
    # begin_ns, end_ns: in ns since 1970
    begin_ns: int
    end_ns: int
    every: float  # seconds of an interval; 0 for the recorded intervals
    # told of the frames of a time, of which it may leave out the last, and for what they are read
    watched: Callable[[Iterator[Frame], int, int, str], Iterator[Frame]] = lambda frames, _begin, _end, _what: frames

    def frames(self, what: str = "") -> Iterator[Frame]:
        """The frames whose intervals lie within the time; `what` they are read for, if not to be exported."""
        frames = self.journal.frames(self.begin_ns, self.end_ns, self.every, within=True)
        return self.watched((frame for frame in frames if frame.older is not None), self.begin_ns, self.end_ns, what)


def signal_columns(time: RecordedTime, level: Scope | None, *, elapsed: bool) -> tuple[LongColumn, ...]:
    """Return columns for the signals that were read in that time, and for constants.

    Args:
        level: the level of all rows, to which finer signals are reduced; None for each signal's own.
        elapsed: whether to add the seconds between the two readings of each counter.

    Raises:
        TurbotuiError: the time has no interval, or a signal's meaning changes within it.
    """
    signals: dict[SignalId, tuple[Signal, str]] = {}
    for frame in time.frames("first, which columns there are"):
        for name in frame.newer.values:
            _note(signals, frame, name)
        if not signals.keys() >= frame.capabilities.constants().keys():
            for name in frame.capabilities.constants():
                _note(signals, frame, name)
    if not signals:
        raise TurbotuiError(f"{time.journal.paths[0]} has no interval in that time: choose a longer one")
    columns: list[LongColumn] = []
    for signal, source in (signals[name] for name in sorted(signals)):
        columns.append(_of_signal(signal, source, level))
        if elapsed and signal.behavior is Behavior.COUNTER:
            columns.append(_elapsed(signal, level))
    return tuple(columns)


def _note(signals: dict[SignalId, tuple[Signal, str]], frame: Frame, name: SignalId) -> None:
    signal = frame.capabilities.signals[name]
    known = signals.setdefault(name, (signal, frame.capabilities.provider[name].title))[0]
    if known is not signal and _kind(known) != _kind(signal):
        raise TurbotuiError(f"{name} is {' '.join(_kind(known))} at first and {' '.join(_kind(signal))} later: export "
                            "the times one by one, with --from-time and --to-time")


def _kind(signal: Signal) -> tuple[str, ...]:
    return (signal.behavior.value, "in", signal.unit.value, "of a", signal.scope.value)


def _of_signal(signal: Signal, source: str, level: Scope | None) -> LongColumn:
    column = CounterColumn(id=signal.id, unit=signal.unit.value, decimals=-1, needs=(signal.id,),
                           compute=ValueOf(signal), category=Category.OTHER, scope=signal.scope)
    return LongColumn(column, level or signal.scope, _known_facts({
        "unit": signal.unit.value, "scope": signal.scope.value, "kind": signal.behavior.value, "origin": signal.origin,
        "source": source, "document": signal.document, "reduce": signal.reduce.value,
        "meaning": _BEHAVES[signal.behavior],
    }))


def _elapsed(signal: Signal, level: Scope | None) -> LongColumn:
    column = CounterColumn(id=f"{signal.id}.seconds", unit="s", decimals=-1, needs=(signal.id,),
                           compute=lambda row: row.elapsed(signal.id), category=Category.OTHER, scope=signal.scope)
    return LongColumn(column, level or signal.scope, {
        "unit": "s", "scope": signal.scope.value, "kind": "gauge", "origin": signal.origin,
        "meaning": f"time between the two readings of {signal.id}"})


def named_columns(journal: Journal, words: Iterable[str], level: Scope | None) -> tuple[LongColumn, ...]:
    """Return columns of the recording's catalog.

    Args:
        level: the level of all rows; None for each column's own.

    Raises:
        UsageError: a word is neither, or all columns only locate a row.
    """
    chosen = [column for column in journal.catalog.select(words) if column.category is not Category.TOPOLOGY]
    if not chosen:
        raise UsageError("--columns names no column that measures something: where a row is stands in every row")
    return tuple(LongColumn(column, level or (Scope.SYSTEM if column.whole_only else column.scope), _known_facts({
        "unit": column.unit, "scope": column.scope.value, "formula": formula_of(column), "meaning": column.help,
        "document": column.document, "needs": ", ".join(column.needs),
    })) for column in chosen)


def _known_facts(facts: Mapping[str, str]) -> Mapping[str, str]:
    return {name: text for name, text in facts.items() if text}


def by_level(columns: Sequence[LongColumn]) -> Mapping[Scope, Sequence[LongColumn]]:
    """Group columns by level, coarse to fine."""
    levels = (Scope.SYSTEM, *PLACES)
    columns_of = {scope: [column for column in columns if column.level is scope] for scope in levels}
    return {scope: some for scope, some in columns_of.items() if some}


def rows_of_level(frame: Frame, level: Scope) -> Sequence[RowId]:
    """Return the rows of a level; one for the machine."""
    return (SYSTEM_ROW,) if level is Scope.SYSTEM else frame.rows(level)
