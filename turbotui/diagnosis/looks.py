"""Look at tasks, control groups and settings beside the counters when a user asks why."""

from __future__ import annotations

from collections.abc import Mapping

from turbotui.diagnosis.group_look import GroupLook
from turbotui.diagnosis.placement_look import placement
from turbotui.diagnosis.rules import LookResults
from turbotui.diagnosis.task_look import TaskLook
from turbotui.machine.host import Host, HostError
from turbotui.machine.tasks.process_stats import ProcessStat, ProcessStats


class Looks:
    """Repeated looks at a host's tasks and control groups; results cover the time between the last two."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._stats: ProcessStats | None = None
        self._tasks = TaskLook(host)
        self._groups = GroupLook(host)

    def look(self, processes: Mapping[int, ProcessStat] | None = None, began_ns: int | None = None) -> LookResults:
        """Look at everything, and return what rules need to know.

        Args:
            processes: processes that were just read; None to read them here.
            began_ns: start of that reading on the host's clock; None for now.
        """
        began_ns = self._host.now_ns() if began_ns is None else began_ns
        self._tasks.look(self._read() if processes is None else processes, began_ns)
        self._groups.look()
        return LookResults(
            self._tasks.busiest, self._groups.looked, self._groups.throttled, self._groups.pressed,
            placement(self._host), self._tasks.who, self._tasks.unseen,
        )  # fmt: skip

    def _read(self) -> Mapping[int, ProcessStat]:
        if self._stats is None:
            self._stats = ProcessStats(self._host)
        try:
            return self._stats.read()
        except HostError:
            return {}
