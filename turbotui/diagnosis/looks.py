"""Look at tasks, control groups and settings beside the counters when a user asks why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from turbotui.diagnosis.group_look import GroupLook
from turbotui.diagnosis.memory_look import MemoryLook
from turbotui.diagnosis.rules import LookResults
from turbotui.diagnosis.task_look import TaskLook
from turbotui.machine.host import Host, HostError
from turbotui.machine.small_files import line_of
from turbotui.machine.tasks.process_stats import ProcessStats, ReadProcesses

# No file holds the table of Intel's thread director (HFI), which is only sent to netlink listeners. Files show whether
# the scheduler uses core priorities at all, and what kind of work the firmware sees.
_PRIORITIES: Final = (
    "/proc/sys/kernel/sched_itmt_enabled",  # kernel arch/x86/kernel/itmt.c, until 6.13
    "/sys/kernel/debug/x86/sched_itmt_enabled",  # the same file in later kernels
)
_HINT: Final = "/sys/bus/pci/devices/0000:00:04.0/workload_hint/workload_type_index"
"""Kernel Documentation/driver-api/thermal/intel_dptf.rst; ENODATA if nobody switched the hints on."""
_SAVING: Final[Mapping[str, str]] = {"0": "idle", "1": "battery life"}
"""intel_dptf.rst, for Meteor Lake; other numbers have no known meaning."""


class Looks:
    """Repeated looks at a host's tasks and control groups; results cover the time between the last two."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._stats: ProcessStats | None = None
        self._tasks = TaskLook(host)
        self._groups = GroupLook(host)
        self._memory = MemoryLook(host)

    def look(self, processes: ReadProcesses | None = None) -> LookResults:
        """Look at everything, and return what rules need to know.

        Args:
            processes: processes that were just read; None to read them here.
        """
        self._tasks.look(self._read() if processes is None else processes)
        self._groups.look()
        self._memory.look()
        return LookResults(self._tasks.busiest, self._groups.looked, self._groups.throttled, self._groups.pressed,
            placement(self._host), self._tasks.who, self._tasks.unseen, self._memory.mover, self._memory.traffic,
            self._memory.local)

    def _read(self) -> ReadProcesses:
        if self._stats is None:
            self._stats = ProcessStats(self._host)
        try:
            return self._stats.read()
        except HostError:
            return ReadProcesses()


def placement(host: Host) -> str:
    """The reason for the choice of cores, in words; "" if unknown."""
    placements = []
    if next((text for path in _PRIORITIES if (text := line_of(host, path))), "") in ("0", "N"):
        placements.append("the scheduler is told not to prefer fast cores (sched_itmt_enabled is off)")
    index = line_of(host, _HINT)
    if index in _SAVING:
        placements.append(f"firmware takes the work for {_SAVING[index]} (workload_type_index {index})")
    return "; ".join(placements)
