"""Reads control groups in the background for the user's alerts, whatever screen is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turbotui.app.row_alerts import Publish
from turbotui.features.groups.columns import COLUMNS, ENERGY, GROUP, GroupColumn, needed
from turbotui.features.groups.engine import NO_ENERGY, GroupInterval, GroupRequest
from turbotui.features.groups.live import GroupWatcher
from turbotui.features.groups.model import WHOLE
from turbotui.features.groups.screen_rows import group_content
from turbotui.features.groups.tables import group_table
from turbotui.machine.machine import Machine
from turbotui.quantities.columns import Column
from turbotui.sampling.frame import Frame


class BackgroundGroups:
    """A `BackgroundTable` of all control groups except the outermost one, with the watched columns only."""

    columns: Sequence[GroupColumn] = tuple(column for column in COLUMNS if ENERGY not in column.needs)

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._watcher: GroupWatcher | None = None
        self._wanted: frozenset[str] = frozenset()
        self._last_ns: int | None = None
        self._why = ""

    def begin(self, columns: Sequence[Column[Any]], publish: Publish) -> None:
        self._wanted = needed(columns)
        shown = (GROUP, *columns)

        def take(interval: GroupInterval) -> None:
            if interval.early:
                return
            end_ns, begin_ns = interval.wall_ns, self._last_ns
            self._last_ns = end_ns
            self._why = "" if interval.why is None else interval.why.sentence()
            if interval.seconds and begin_ns is not None:
                rows = [row for row in interval.rows if row.group.path != WHOLE]  # CPUs' columns tell that
                publish(group_content(group_table(rows, NO_ENERGY, 0, 0, shown), tree=False), begin_ns, end_ns)

        self._watcher = GroupWatcher(self._machine, take)
        self._watcher.start()

    def tick(self, frame: Frame) -> None:
        if self._watcher is not None:
            clocks = frame.clocks
            self._watcher.ask(GroupRequest(self._wanted, resctrl=False, clocks=clocks))

    def why_none(self) -> str:
        return self._why

    def stop(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
