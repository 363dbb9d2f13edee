"""Metrics of a control group's processes, only on request: those with the most CPU time, up to a limit."""

from __future__ import annotations

import heapq
import resource
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.export.live.exposition import ExposedMetric
from turbotui.features.export.live.levels import MetricLevel
from turbotui.machine.cgroups import find_groups, for_cpu_time, hierarchies
from turbotui.machine.host import Host
from turbotui.machine.small_files import bytes_of, text_of
from turbotui.machine.tasks.process_stats import TICKS, ProcessStat, process_stat
from turbotui.quantities.plain_numbers import numbers_among

TASK: Final = MetricLevel("task", None)
_PIECE: Final = 4096  # bytes of small files that are read; cgroup.procs may be longer
_DOCUMENT: Final = "proc_pid_stat(5)"
_NANO: Final = 1e-9


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    group: str
    stat: ProcessStat


class TaskMetrics:
    """The metrics of at most `most` processes within a control group, including its subgroups."""

    levels: Final = (TASK,)

    def __init__(self, host: Host, within: str, most: int) -> None:
        self._host = host
        self._within = f"/{within.strip('/')}"
        self._most = most

    def read(self) -> tuple[Sequence[ExposedMetric], Mapping[str, int]]:
        """Return the present metrics, and how many processes were left out."""
        processes = list(self._processes())
        chosen = heapq.nlargest(self._most, processes, key=lambda process: (process.stat.ran, -process.pid))
        return self._metrics(chosen), {"tasks": len(processes) - len(chosen)}

    def _processes(self) -> Iterator[_Process]:
        tree = for_cpu_time(hierarchies(self._host))
        for directory in () if tree is None else find_groups(self._host, tree).directories:
            name = "" if tree is None else tree.name(directory)
            if name == self._within or name.startswith(f"{self._within.rstrip('/')}/"):
                for pid in _numbers(text_of(self._host, f"{directory}/cgroup.procs")):
                    if (stat := process_stat(bytes_of(self._host, f"/proc/{pid}/stat", _PIECE))) is not None:
                        yield _Process(pid, name, stat)

    def _metrics(self, chosen: Sequence[_Process]) -> Sequence[ExposedMetric]:
        def family(stem: str, kind: str, text: str, values: Mapping[int, float]) -> ExposedMetric:
            return ExposedMetric(f"turbotui_task_{stem}", kind, text,
                                 [({"task": str(pid)}, value) for pid, value in values.items()], TASK)

        names = [({"task": str(process.pid), "name": process.stat.name, "group": process.group}, 1.0)
                 for process in chosen]
        return (
            ExposedMetric("turbotui_task", "info", f"Name and group of a process ({_DOCUMENT})", names, TASK),
            family("cpu_seconds", "counter", f"CPU time of a process ({_DOCUMENT})",
                   {process.pid: process.stat.ran / TICKS for process in chosen}),
            family("run_delay_seconds", "counter", "Time that its first thread waited for a CPU (kernel "
                   "Documentation/scheduler/sched-stats.rst)", dict(self._delays(chosen))),
            family("resident_bytes", "gauge", f"Memory that it holds ({_DOCUMENT})",
                   {process.pid: float(process.stat.pages * resource.getpagesize()) for process in chosen}),
            family("major_faults", "counter", f"Pages that it had to wait for ({_DOCUMENT})",
                   {process.pid: float(process.stat.faults) for process in chosen}),
        )

    def _delays(self, chosen: Sequence[_Process]) -> Iterator[tuple[int, float]]:
        for process in chosen:
            words = _numbers(text_of(self._host, f"/proc/{process.pid}/schedstat"))
            if len(words) > 1:
                yield process.pid, words[1] * _NANO


def _numbers(text: str) -> list[int]:
    return list(numbers_among(text.split()))
