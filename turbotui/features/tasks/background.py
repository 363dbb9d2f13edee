"""Watches processes beside the dashboard, whatever screen is shown, for a person's alerts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from turbotui.app.row_alerts import Publish
from turbotui.features.tasks.applications import EVERYTHING
from turbotui.features.tasks.columns import ENERGY, TASK_COLUMNS, TaskColumn
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot, TaskWatcher
from turbotui.features.tasks.loads import LOAD_BY_ID
from turbotui.features.tasks.parallel_columns import PARALLEL_BY_ID
from turbotui.features.tasks.screen_rows import NAMING, PastTasks, content_of
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.waits import WAIT_BY_ID
from turbotui.machine.machine import Machine
from turbotui.machine.tasks.proc_facts import ProcFacts, TaskLooks
from turbotui.quantities.columns import Column
from turbotui.sampling.energy import Energy
from turbotui.sampling.frame import Frame
from turbotui.widgets.row_content import RowContent

_NO_ENERGY = Energy({}, {})
_NAMING = replace(NAMING, title=lambda inputs: f"{inputs.row.name or '(no name)'} {inputs.row.pid}")


class BackgroundTasks:
    """Every process, sampled as on the tasks screen, read while another screen is shown."""

    columns: Sequence[TaskColumn] = tuple(column for column in TASK_COLUMNS if ENERGY not in column.needs)

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._facts = ProcFacts(machine.host, machine.topology)
        self._watcher: TaskWatcher | None = None
        self._request = SnapshotRequest(Grouping.PROCESS)
        self._last_ns: int | None = None
        self._why = ""
        self._seq = 0

    def begin(self, columns: Sequence[Column[Any]], publish: Publish) -> None:
        ids = {column.id for column in columns}
        self._request = SnapshotRequest(
            Grouping.PROCESS, waits=not ids.isdisjoint(WAIT_BY_ID), loads=not ids.isdisjoint(LOAD_BY_ID),
            parallel=not ids.isdisjoint(PARALLEL_BY_ID))

        def take(snapshot: TaskSnapshot) -> None:
            if (clocks := snapshot.request.clocks) is None:
                return
            begin_ns, self._last_ns = self._last_ns, clocks[0]
            self._why = next((report.error for report in snapshot.reports if report.error), "")
            self._seq += 1
            if begin_ns is not None and not self._why:
                kept = PastTasks(snapshot, _NO_ENERGY, self._seq, TaskLooks(self._facts))
                table = content_of(kept, self._machine.topology).whole
                publish(RowContent(table, _NAMING, self._seq), begin_ns, clocks[0])

        self._watcher = TaskWatcher(self._machine, EVERYTHING, take)
        self._watcher.start(self._request)

    def tick(self, frame: Frame) -> None:
        if self._watcher is not None:
            self._watcher.snapshot(replace(self._request, clocks=frame.clocks))

    def why_none(self) -> str:
        return self._why

    def stop(self) -> None:
        if self._watcher is not None:
            self._watcher.stop()
