"""Keep reading the columns of a screen for a while after the user left it, so that on return the numbers are there."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, Generic, TypeVar

from turbotui.app.sessions import RowReadingSession, WatchedSession
from turbotui.dataclass import dataclass
from turbotui.machine.topology import Topology
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.signals import SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.row_workers import RowSource
from turbotui.sampling.selection import free_columns, why_absent
from turbotui.sources.source import Source


class AbsentColumns:
    """The reasons of a session's unavailable columns, forgotten when its capabilities or its catalog change."""

    def __init__(self, session: WatchedSession) -> None:
        self._session = session
        self._reasons: dict[ColumnId, Unavailable | None] = {}
        self._computed_from: tuple[object, ...] = ()

    def why(self, column: CounterColumn, topology: Topology) -> Unavailable | None:
        """Return why a column is unavailable now, None if it is available: a counter may be lost at run time."""
        session = self._session
        latest = None if session.latest is None else session.latest.capabilities
        by = (session.capabilities, latest, session.catalog)
        before = self._computed_from
        if len(by) != len(before) or any(a is not b for a, b in zip(by, before, strict=True)):
            self._computed_from = by
            self._reasons.clear()
        if column.id not in self._reasons:
            reason = why_absent(column, session.capabilities, topology)
            if reason is None and latest is not None:
                reason = next((latest.missing[name] for name in column.needs if name in latest.missing), None)
            self._reasons[column.id] = reason
        return self._reasons[column.id]


KEEP_READING: Final = 300.0
"""Seconds for which the columns of a screen are read after the user left it."""

T = TypeVar("T")


@dataclass(slots=True)
class _Beside:
    """Sources, signals and rows that one screen reads in addition to columns."""

    sources: tuple[Source, ...]
    signals: frozenset[SignalId]
    rows: tuple[RowSource, ...] = ()
    until: float | None = None  # when they are closed, on the clock; None while their screen is shown
    lasting: bool = False  # whether they are read whatever other screens read


class ColumnRequests:
    """The columns that are read for the screens: those shown now, those shown recently, and those that cost nothing.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, session: WatchedSession, clock: Callable[[], float] = time.monotonic) -> None:
        self._session = session
        self._clock = clock
        self._now: dict[ColumnId, CounterColumn] = {}
        self._until: dict[ColumnId, tuple[CounterColumn, float]] = {}
        self._beside: dict[object, _Beside] = {}

    def want(self, columns: Iterable[CounterColumn], hidden: Collection[ColumnId] = ()) -> None:
        """Read these columns from now on; earlier columns are read for `KEEP_READING` seconds longer.

        Args:
            hidden: columns that the user removed, which are not read any longer.
        """
        until = self._clock() + KEEP_READING
        wanted = {column.id: column for column in columns}
        self._until |= {name: (column, until) for name, column in self._now.items()}
        self._until = {name: until for name, until in self._until.items() if name not in wanted and name not in hidden}
        self._now = wanted
        self._ask()

    def read_also(self, owner: object, sources: Sequence[Source], signals: frozenset[SignalId], *,
                  lasting: bool = False, rows: Sequence[RowSource] = ()) -> None:
        """Read signals of sources for one screen; those of other screens are read for `KEEP_READING` seconds longer.

        Args:
            owner: the screen that shows them; its earlier request is replaced.
            sources: sources of signals that the session does not know.
            signals: what to read; none for nothing beside columns.
            lasting: whether to go on until the owner's next request.
            rows: sources of rows to read.
        """
        until = self._clock() + KEEP_READING
        for other, beside in self._beside.items():
            if beside.until is None and other is not owner and not beside.lasting:
                beside.until = until
        self._beside.pop(owner, None)
        if sources or signals or rows:
            self._beside = {owner: _Beside(tuple(sources), signals, tuple(rows), lasting=lasting), **self._beside}
        self._ask_beside()

    def look(self, frame: Frame) -> None:
        """Stop reading columns whose time is over, or whose counters the shown columns need."""
        now = self._clock()
        gone = {name for name, (_column, until) in self._until.items() if until <= now}
        closed = [owner for owner, beside in self._beside.items() if beside.until is not None and beside.until <= now]
        if self._until or self._beside:
            if any(why.reason is Reason.NO_DESCRIPTORS for why in frame.capabilities.missing.values()):
                gone |= self._until.keys()
                closed = [owner for owner, beside in self._beside.items() if beside.until is not None]
            elif self._crowded(frame):
                gone |= {name for name, (column, _until) in self._until.items()
                         if _can_be_multiplexed(column, frame.capabilities)}
        if gone:
            self._until = {name: until for name, until in self._until.items() if name not in gone}
            self._ask()
        if closed:
            self._beside = {owner: beside for owner, beside in self._beside.items() if owner not in closed}
            self._ask_beside()

    def _crowded(self, frame: Frame) -> bool:
        """Whether a shown column is multiplexed while invisible columns also use counters."""
        if not any(_can_be_multiplexed(column, frame.capabilities) for column, _until in self._until.values()):
            return False
        return any(frame.estimated(column, SYSTEM_ROW) for column in self._now.values()
                   if _can_be_multiplexed(column, frame.capabilities))

    def _ask(self) -> None:
        free = (column.id for column in free_columns(self._session.catalog, self._session.capabilities))
        self._session.want({*self._now, *self._until, *free})

    def _ask_beside(self) -> None:
        by_id: dict[str, Source] = {}
        signals: frozenset[SignalId] = frozenset()
        for beside in self._beside.values():  # if two screens count on a PMU, the visible one opens it
            by_id = {source.id: source for source in beside.sources} | by_id
            signals |= beside.signals
        self._session.read_also(tuple(by_id.values()), signals)
        if isinstance(self._session, RowReadingSession):
            self._session.read_rows(self, [source for beside in self._beside.values() for source in beside.rows])


def _can_be_multiplexed(column: CounterColumn, capabilities: Capabilities) -> bool:
    signals = (capabilities.signals.get(name) for name in (*column.needs, *column.wants))
    return any(signal is not None and bool(signal.running) for signal in signals)


class RecentScreens(Generic[T]):
    """Screens left less than `KEEP_READING` seconds ago, which still keep what they need of each frame."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[T, float] = {}

    def beside(self, here: T) -> tuple[T, ...]:
        """Recently left screens, without the current one."""
        now = self._clock()
        self._seen = {screen: at for screen, at in self._seen.items() if now - at < KEEP_READING} | {here: now}
        return tuple(screen for screen in self._seen if screen is not here)
