"""Why columns are unavailable now, computed once for each state of the session's capabilities."""

from __future__ import annotations

from turbotui.app.sessions import WatchedSession
from turbotui.machine.topology import Topology
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.selection import why_absent


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
