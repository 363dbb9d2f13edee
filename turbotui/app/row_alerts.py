"""Alerts about rows other than CPUs, whose tables features read in the background."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, Protocol, TypeAlias, cast

from turbotui.app.sessions import PlayedSession, RowReadingSession, WatchedSession
from turbotui.app.settings import PersonalSettings
from turbotui.dataclass import dataclass
from turbotui.errors import UsageError, nearest_or_all
from turbotui.feature import part
from turbotui.feature_list import FEATURES
from turbotui.installed_features import failure_of
from turbotui.machine.machine import Machine
from turbotui.quantities.alerts import AlertRule, parse_alert
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.alerting import Alert, AlertWatch
from turbotui.sampling.frame import Frame
from turbotui.sampling.row_tables import KindDefinition, KindRow, known_kinds, row_table
from turbotui.widgets.kind_rows import NAMING
from turbotui.widgets.row_content import RowContent

Publish: TypeAlias = Callable[[RowContent[Any], int, int], None]
"""Takes a table of rows with the start and end of its interval, in ns since 1970; called on any thread."""
_MOST_WAITING: Final = 8
"""Maximum number of a table's intervals that wait for the next frame."""


class BackgroundTable(Protocol):
    """Reads a table repeatedly on a thread of its own, as long as the dashboard runs."""

    @property
    def columns(self) -> Sequence[Column[Any]]:
        """The columns that can be watched."""

    def begin(self, columns: Sequence[Column[Any]], publish: Publish) -> None:
        """Start reading what these columns need."""

    def tick(self, frame: Frame) -> None:
        """End the table's interval together with a frame's; never waits."""

    def why_none(self) -> str:
        """Why there is nothing to read; "" if there is."""

    def stop(self) -> None:
        """Close everything."""


@dataclass(frozen=True, slots=True)
class ContentMoment:
    """An interval of a table of rows."""

    content: RowContent[Any]
    begin_ns: int
    end_ns: int

    def rows(self, _rule: AlertRule) -> Sequence[Hashable]:
        return self.content.rows

    def cells(self, column: Column[Any], rows: Sequence[Hashable], *, at_least: bool = False) -> Sequence[Value]:
        """Values of a column; an unknown one is None, whatever the reason, as is one that lacks a part."""
        pairs = [(self.content.cell(column, row), self.content.get(row)) for row in rows]
        # of a kind's row only the least that a value can be lacks a part
        return [cell.value if at_least and cell.partial and isinstance(row, KindRow) else cell.bare
                for cell, row in pairs]

    def words(self, row: Hashable) -> str:
        return self.content.words(row)

    def name(self, row: Hashable) -> str:
        return self.content.name(self.content.whole.columns[0], row)


class KindTable:
    """A `BackgroundTable` of the rows of a kind, which frames have."""

    def __init__(self, session: WatchedSession, definition: KindDefinition) -> None:
        self.columns: Sequence[Column[Any]] = definition.columns
        self._session = session
        self._definition = definition
        self._publish: Publish | None = None
        self._why = ""

    def begin(self, _columns: Sequence[Column[Any]], publish: Publish) -> None:
        # the words of a condition may be in any text
        self._publish = publish
        if isinstance(self._session, RowReadingSession):
            self._session.read_rows(self, (self._definition.source,))

    def tick(self, frame: Frame) -> None:
        differences = frame.kind(self._definition.source.kind.id)
        if isinstance(differences, Unavailable):
            self._why = differences.sentence()
        elif self._publish is not None and differences.older is not None and differences.missed is None:
            self._why = ""
            content = RowContent(row_table(self._definition, differences), NAMING)
            self._publish(content, differences.older.wall_ns, differences.newer.wall_ns)

    def why_none(self) -> str:
        return self._why

    def stop(self) -> None:
        if isinstance(self._session, RowReadingSession):
            self._session.read_rows(self, ())


class RowAlerts:
    """The alerts about one table, with their reader."""

    def __init__(self, table: str, rules: Sequence[AlertRule], reader: BackgroundTable) -> None:
        self.table, self.rules = table, tuple(rules)
        self.watch = AlertWatch(rules, lambda _topology, _row: "")
        self._reader = reader
        self._is_begun = False
        self._failure = ""
        self._waiting: deque[ContentMoment] = deque(maxlen=_MOST_WAITING)

    @property
    def why_none(self) -> str:
        """Why no alerts are possible; "" if they are."""
        return self._failure or self._reader.why_none()

    def take(self, frame: Frame) -> tuple[Sequence[Alert], Sequence[Alert]]:
        """Start the next interval, and check what was read since the last frame; returns begun and ended alerts."""
        if not self._failure:
            try:
                if not self._is_begun:
                    self._is_begun = True
                    self._reader.begin(self.watch.columns, self._publish)
                self._reader.tick(frame)
            except Exception as error:  # noqa: BLE001 - raised again where it is turbotui's own
                self._failure = failure_of(error)
        begun: list[Alert] = []
        ended: list[Alert] = []
        while self._waiting:
            begins, ends = self.watch.take_moment(self._waiting.popleft())
            begun += begins
            ended += ends
        return begun, ended

    def _publish(self, content: RowContent[Any], begin_ns: int, end_ns: int) -> None:
        if begin_ns < end_ns:
            self._waiting.append(ContentMoment(content, begin_ns, end_ns))

    def close(self) -> None:
        """Close what is read."""
        if self._is_begun and not self._failure:
            self._reader.stop()


def row_alerts(settings: PersonalSettings, session: WatchedSession) -> tuple[list[RowAlerts], list[str], list[str]]:
    """Make the alerts of a user's settings on tables other than that of CPUs.

    Returns:
        The alerts by table; sentences about alerts that are impossible here; about malformed alerts, with line numbers.
    """
    readers = {table: reference for feature in FEATURES for table, reference in feature.background}
    rules: dict[str, list[AlertRule]] = {}
    made: dict[str, BackgroundTable] = {}
    absent: list[str] = []
    problems: list[str] = []
    for at, request in settings.alerts:
        if not request.table:
            continue
        kind = None if request.table in readers else known_kinds().get(request.table)
        if request.table not in readers and kind is None:
            why = f"no table is called {request.table}{nearest_or_all(request.table, (*readers, *known_kinds()))}"
            problems.append(settings.problem("table", why, ("alert",), at))
            continue
        if kind is None and (session.collector is not None or isinstance(session, PlayedSession)):
            absent.append(f"{request.when}: {request.table} can be watched on the machine itself only, and this one "
                          "is recorded or read by a collector")
            continue
        if request.table not in made:
            try:
                made[request.table] = KindTable(session, kind) if kind is not None else cast(
                    "Callable[[Machine], BackgroundTable]", part(readers[request.table]))(session.machine)
            except Exception as error:  # noqa: BLE001 - as above
                problems.append(settings.problem("table", failure_of(error, readers[request.table]), ("alert",), at))
                continue
        names = {column.id.lower(): column for column in made[request.table].columns}
        try:
            rule = parse_alert(request, lambda name, names=names: names.get(name.lower()))  # type: ignore[misc]  # a default binds it
        except UsageError as error:
            problems.append(settings.problem("when", f"when: {error}", ("alert",), at))
            continue
        rules.setdefault(request.table, []).append(rule)
    return [RowAlerts(table, of_table, made[table]) for table, of_table in rules.items()], absent, problems
