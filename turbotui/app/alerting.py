"""Alerts in the dashboard, shown by colour, a line, the bell, a mark on the time bar and a log entry."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from turbotui.app.past import PastEvent
from turbotui.app.sessions import WatchedSession
from turbotui.app.settings import PersonalSettings
from turbotui.cell_widths import cut, fitted
from turbotui.errors import UsageError
from turbotui.machine.host import HostKind
from turbotui.machine.own_files import append_bounded, state_folder
from turbotui.quantities.alerts import LEVELS, AlertRule, parse_alert
from turbotui.quantities.columns import Column, ColumnId, CounterColumn
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.alerting import Alert, AlertWatch
from turbotui.sampling.frame import Frame
from turbotui.tables.row_names import row_name
from turbotui.untrusted import one_line
from turbotui.widgets.cells import StyleRole, in_words
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.rows import row_words

if TYPE_CHECKING:  # most alerts are about CPUs
    from turbotui.app.row_alerts import RowAlerts

MOST_LOGGED: Final = 1 << 20
"""Size limit in bytes of the log and of the log before it."""
_ROLES: Final[Mapping[str, StyleRole]] = dict(zip(LEVELS, (StyleRole.AMBER, StyleRole.RED), strict=True))


def make_alerts(settings: PersonalSettings, session: WatchedSession,
                why_absent: Callable[[CounterColumn], Unavailable | None]) -> tuple[Alerting | None, tuple[str, ...]]:
    """The alerts of the user's settings on this machine; None without any.

    Args:
        why_absent: why a column is unavailable; None if it is available.

    Returns:
        The alerts, and a sentence with line number for each alert that cannot be understood.
    """
    rules: list[AlertRule] = []
    absent: list[str] = []
    problems: list[str] = []
    names = {column.id.lower(): column for column in session.catalog.columns}
    for at, request in settings.alerts:
        if request.table:
            continue
        try:
            rule = parse_alert(request, lambda name: names.get(name.lower()))
        except UsageError as error:
            problems.append(settings.problem("when", f"when: {error}", ("alert",), at))
            continue
        missing = [(column, why) for column in _counters(rule.filter.columns)
                   if (why := why_absent(column)) is not None]
        absent += [f"{request.when}: {column.id} is not here: {why.sentence()}" for column, why in missing[:1]]
        rules += [] if missing else [rule]
    tables: list[RowAlerts] = []
    if any(request.table for _, request in settings.alerts):
        from turbotui.app.row_alerts import row_alerts  # noqa: PLC0415 - most alerts are about CPUs

        tables, elsewhere, wrong = row_alerts(settings, session)
        absent += elsewhere
        problems += wrong
    host = session.machine.host
    wanted = rules or absent or tables
    return (Alerting(rules, absent, host.kind, host.name, tables) if wanted else None), tuple(problems)


def _counters(columns: Iterable[Column[Any]]) -> list[CounterColumn]:
    return [column for column in columns if isinstance(column, CounterColumn)]


class Alerting:
    """The alerts of one machine, on the user interface's thread; another thread writes the log.

    Args:
        absent: sentences about alerts whose columns this machine lacks.
        tables: conditions on other tables than that of CPUs.

    Attributes:
        trouble: why the log cannot be written; "" if it can, or if nothing had to be written yet.
    """

    def __init__(self, rules: Sequence[AlertRule], absent: Sequence[str], kind: HostKind, host: str,
                 tables: Sequence[RowAlerts] = ()) -> None:
        self.watch = AlertWatch(rules, row_words, row_name)
        self.tables = tuple(tables)
        self.rules, self.absent = tuple(rules), tuple(absent)
        self.trouble = ""
        self._frame: Frame | None = None
        self._kind, self._host = kind, host
        self._path = os.path.join(state_folder(os.environ), "alerts.log")
        self._writer: ThreadPoolExecutor | None = None

    @property
    def columns(self) -> Sequence[CounterColumn]:
        """Columns of CPUs that the alerts need."""
        return _counters(self.watch.columns)

    @property
    def active(self) -> Sequence[Alert]:
        """The current alerts, those about CPUs first."""
        return [alert for watch in (self.watch, *(table.watch for table in self.tables)) for alert in watch.active]

    def take(self, frame: Frame) -> tuple[tuple[PastEvent, ...], bool]:
        """Check an interval of a watched machine, and log alerts that begin and end.

        Returns:
            Marks for the time bar, and whether to ring the bell.
        """
        self._frame = frame
        begun, ended = map(list, self.watch.take(frame))
        for table in self.tables:
            begins, ends = table.take(frame)
            begun += begins
            ended += ends
        lines = [self.log_line(frame, alert) for alert in (*ended, *begun) if alert.rule.request.log]
        if lines:
            self._log("".join(lines))
        marks = tuple(PastEvent(alert.begun_ns, f"Alert {alert.rule.request.when}: {_rows_in_words(alert)}")
                      for alert in begun)
        return marks, any(alert.rule.request.bell for alert in begun)

    def replay(self, frame: Frame, *, played: bool) -> bool:
        """Check a moment of a recording, without writing the log.

        Args:
            played: whether it follows the moment before, whatever was left out at a high speed; after a jump, only
                conditions without a duration can be shown.

        Returns:
            Whether an alert with a bell begins.
        """
        if not played:
            self.watch.forget()
        self._frame = frame
        begun, _ = self.watch.take(frame, joined=played)
        return any(alert.rule.request.bell for alert in begun)

    # The log

    def _log(self, lines: str) -> None:
        if self._writer is None:  # a slow disk may delay the writer, but must not delay the screen
            self._writer = ThreadPoolExecutor(1, "alerts")
        self._writer.submit(self._write, lines.encode("utf-8", "replace"))

    def _write(self, lines: bytes) -> None:
        try:
            append_bounded(self._path, lines, MOST_LOGGED)
        except OSError as error:
            self.trouble = f"the log {self._path} cannot be written: {error.strerror}"
        else:
            self.trouble = ""

    def close(self) -> None:
        """Close the background readers and wait for the log."""
        for table in self.tables:
            table.close()
        if self._writer is not None:
            self._writer.shutdown()

    def log_line(self, frame: Frame, alert: Alert) -> str:
        """The log's line for the beginning or end of an alert: time, machine, condition, rows, value."""
        at = _time(alert.begun_ns if alert.ended_ns is None else alert.ended_ns)
        what = "begins" if alert.ended_ns is None else "ends"
        return one_line(f"{at} {self._kind.value} {self._host} {what} {sentence(frame, alert)}") + "\n"

    # On the screen

    def line(self, width: int) -> list[TextSegment]:
        """The line about current alerts; empty for none."""
        active, frame = self.active, self._frame
        if frame is None or not active:
            return []
        word = "ALERT" if self._kind is HostKind.REAL else f"{self._kind.value} ALERT"
        first = max(active, key=lambda alert: LEVELS.index(alert.rule.request.level))
        more = f" · {len(active) - 1} more" if len(active) > 1 else ""
        tail = f"{more} · ! lists them "
        text = cut(f" {word} {sentence(frame, first)}", width - len(tail))
        return [(fitted(text + tail, width), _ROLES[first.rule.request.level])]

    def cells(self) -> Mapping[ColumnId, Mapping[Hashable, StyleRole]]:
        """Roles of cells of CPUs that belong to alerts, by column and row."""
        return _cells(self.watch.active)

    def row_cells(self, name: str) -> Mapping[ColumnId, Mapping[Hashable, StyleRole]]:
        """Roles of cells of a table of rows that belong to alerts, by column and row."""
        return _cells([alert for table in self.tables if table.table == name for alert in table.watch.active])

    def current_lines(self) -> list[str]:
        """Lines about the current alerts; none before the first frame."""
        now = [f"  {sentence}" for sentence in self.sentences()] or ["  no alert goes on"]
        return [] if self._frame is None else ["NOW", *now, ""]

    def ended(self) -> Sequence[PastEvent]:
        """The alerts that ended, each at its end."""
        frame = self._frame
        over = [alert for watch in (self.watch, *(alerts.watch for alerts in self.tables)) for alert in watch.ended]
        return [] if frame is None else [PastEvent(alert.ended_ns or 0, f"Alert {sentence(frame, alert)}")
                                         for alert in over]

    def rule_lines(self) -> list[str]:
        """Lines about the conditions that are watched, those that cannot be, and the log."""
        rules = (*self.rules, *(rule for table in self.tables for rule in table.rules))
        lines = ["WATCHED FOR", *[f"  {rule.request.when}  (each "
                                  f"{f'row of {rule.request.table}' if rule.scope is None else rule.scope.value}"
                                  f"{'' if rule.request.bell else ', no bell'}"
                                  f"{'' if rule.request.log else ', no log'})" for rule in rules]]
        lines += [f"  {table.table} cannot be watched: {table.why_none}" for table in self.tables if table.why_none]
        lines += [f"  {reason}" for reason in self.absent]
        lines += ["", self.trouble or (f"The beginning and end of each go to {self._path}."
                                       if self._kind is not HostKind.RECORDED
                                       else "Of a recording nothing is written to the log.")]
        return lines


    def sentences(self) -> list[str]:
        """The current alerts, in words."""
        frame = self._frame
        return [] if frame is None else [sentence(frame, alert) for alert in self.active]


def _cells(alerts: Sequence[Alert]) -> dict[ColumnId, dict[Hashable, StyleRole]]:
    cells: dict[ColumnId, dict[Hashable, StyleRole]] = {}
    for alert in sorted(alerts, key=lambda alert: LEVELS.index(alert.rule.request.level)):
        for column in alert.rule.filter.columns:
            cells.setdefault(column.id, {}).update(dict.fromkeys(alert.rows, _ROLES[alert.rule.request.level]))
    return cells


def sentence(frame: Frame, alert: Alert) -> str:
    """An alert in words: "PkgTmp>95 for 10s: package 0, 97 °C, for 34 s"."""
    rule = alert.rule
    kind = "least" if rule.least else "greatest"
    value = "" if alert.extreme is None else f"{kind} {rule.column.id} {in_words(rule.column, alert.extreme)}"
    if value and alert.most > 1:
        value += f" on {alert.extreme_name}"
    until = alert.ended_ns or frame.newer.wall_ns
    lasted = f"{'ended after' if alert.ended_ns else 'for'} {max(0.0, (until - alert.since_ns) / 1e9):,.0f} s"
    rows = _rows_in_words(alert) if alert.ended_ns is None else f"{alert.most} rows" if alert.most > 1 else (
        alert.extreme_name)
    return ", ".join(part for part in (f"{rule.request.when}: {rows}", value, lasted) if part)


def _rows_in_words(alert: Alert) -> str:
    named, more = ", ".join(alert.names), len(alert.rows) - len(alert.names)
    return f"{named} and {more} more" if more > 0 else named


def _time(wall_ns: int) -> str:
    return f"{datetime.fromtimestamp(wall_ns / 1e9, UTC):%Y-%m-%dT%H:%M:%SZ}"


NO_ALERTS: Final = ("No alert is in your settings. An alert is a table of settings.toml:", "", "[[alert]]",
        'when = "PkgTmp>95 for 10s"', "",
        "It colours the cell, shows a line on every screen, rings the bell, goes to a log; see docs/settings.md.")
