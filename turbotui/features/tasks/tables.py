"""Tables of sampled threads: one row a thread, a process, or a command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from enum import Enum
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.tasks.cpu_time import CPU_TIME
from turbotui.features.tasks.loads import SampledLoads
from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.features.tasks.thread_totals import RUN, Mark, Thread, ThreadTotals
from turbotui.features.tasks.totals_table import IN_NO_ROW
from turbotui.features.tasks.waits import Waits
from turbotui.machine.tasks.group_names import GroupName
from turbotui.machine.tasks.parallelism import ParallelTime
from turbotui.quantities.by_key import lists_by_key


class Grouping(Enum):
    """The kind of the rows; a unit is a container, pod, job or systemd unit."""

    THREAD = "thread"
    PROCESS = "process"
    COMMAND = "command"
    UNIT = "unit"


@dataclass(frozen=True, slots=True)
class TaskRow:
    """Totals of a thread, process or command, over an interval or since the beginning."""

    pid: int | None  # of the process, None for a command that several processes ran
    tid: int | None  # of the thread, None for a row of several
    name: str  # the command's; of a process that of its first thread
    threads: int  # how many are in the row: of an interval those that did not end before it
    cpus: tuple[int, ...]  # that they were seen on
    last_cpu: int  # where one of them was seen last, -1 if nowhere
    counts: dict[str, int]  # by the names of the set; times in ns
    migrations: int  # times that a thread went on on another CPU
    loads: Mapping[int, int]  # by CPU: what its energy is shared by
    # ns of CPU time since the beginning; None where threads that did not run are not known, or some are in other rows
    whole_run: int | None
    incomplete: bool  # the counters were shared with somebody else: counts are too low
    ended: bool = False  # whether all of its threads have ended
    serials: frozenset[int] = field(default_factory=frozenset)  # of the entries, for the timeline
    ran: frozenset[int] = field(default_factory=frozenset)  # of these, those that counted something
    died: frozenset[int] = field(default_factory=frozenset)  # of those that counted something, those that have ended
    application: str = ""  # what it belongs to where several are watched, else ""
    by: Grouping = Grouping.THREAD  # what it stands for
    # names of counts that were not counted all the time, and are joined by instructions; one of them that cannot be
    # known is missing in `counts`
    estimated: frozenset[str] = frozenset()
    guessed: bool = False  # whether a part of its CPU time is perf's task clock, which is too low
    group: GroupName | None = None  # the control group that the row stands for; None for other rows
    waits: Waits | None = None  # what its threads waited for; None where nobody asked, or not yet
    parallel: ParallelTime | None = None  # who ran beside its threads; None where nobody asked, or not yet
    sampled: SampledLoads | None = None  # loads that were sampled of its threads; None where nobody asked, or not yet
    reused: int = 0  # how many later threads have its ids in the same interval

    @property
    def unseen(self) -> frozenset[str]:
        """Names of unknown counts: the row did not run while their event set was active."""
        return self.estimated - self.counts.keys()

    @property
    def cpu_ns(self) -> int:
        """CPU time in ns; perf's task clock if no better clock is there."""
        return self.counts[CPU_TIME] if CPU_TIME in self.counts else self.counts[RUN]

    @property
    def run_seconds(self) -> float:
        """CPU time in seconds."""
        return self.cpu_ns / 1e9

    @property
    def ipc(self) -> float | None:
        """Instructions per cycle; None if they are not counted."""
        instructions, cycles = self.counts.get("instructions"), self.counts.get("cycles")
        return None if instructions is None or not cycles else instructions / cycles

    @property
    def key(self) -> str:
        """The key that identifies the row across intervals: by ids, or by its name if it stands for all of the name.

        Threads and processes change their names, and a command is run by one process now and by several later.
        """
        if self.pid is None or self.by is Grouping.COMMAND:
            return f"{self.application}//{self.name}"
        return f"{self.application}/{self.pid}/{'' if self.tid is None else self.tid}{'/' * self.reused}"


def whole_run_of(rows: Iterable[TaskRow]) -> int | None:
    """The sum of the CPU times of rows since the beginning; None if it is unknown of one."""
    times = [row.whole_run for row in rows]
    return None if None in times else sum(filter(None, times))


def threads_in(row: TaskRow, threads: Mapping[int, Thread]) -> dict[Thread, None]:
    """The threads of a row in order, each once however many event sets counted it.

    Args:
        threads: by the serial number of an entry.
    """
    return dict.fromkeys(threads[serial] for serial in sorted(row.serials) if serial in threads)


def with_own_keys(rows: Sequence[TaskRow]) -> list[TaskRow]:
    """The rows, each with a key of its own: of threads that had the same ids in turn, the newest has that of the ids.

    Each of them had the joules of all.
    """
    later: Counter[str] = Counter()
    reused: dict[int, int] = {}
    for at in sorted(range(len(rows)), key=lambda at: (rows[at].ended, -max(rows[at].serials, default=0))):
        if times := later[rows[at].key]:
            reused[at] = times
        later[rows[at].key] += 1
    return [replace(row, reused=reused[at]) if at in reused else row for at, row in enumerate(rows)]


_NOTHING: Final = Mark((), 0)


def task_of(by: Grouping, entry: ThreadTotals) -> object:
    """The key of the task that an entry belongs to, which is the same in the aggregators of all event sets.

    Units have the keys of their processes, whose rows `merging.by_group` adds up.
    """
    if by is Grouping.THREAD and entry.pid >= 0:
        return entry.pid, entry.tid
    return entry.name if by is Grouping.COMMAND or entry.pid < 0 else entry.pid


def active_tasks(aggregator: SampleAggregator, by: Grouping, since: Mapping[int, Mark]) -> set[object]:
    """The keys (`task_of`) of the tasks that counted something since the marks.

    After some hours nearly all entries are of ended threads: to make their rows, only to find that nothing moved, took
    a sixth of a CPU.
    """
    return {task_of(by, entry) for entry in aggregator.recent() if (mark := since.get(entry.serial)) is None
            or mark.totals != tuple(entry.totals)}


def task_rows(aggregator: SampleAggregator, by: Grouping, since: Mapping[int, Mark] | None = None,
              application: str = "", *, idle: bool = False, only: AbstractSet[object] | None = None) -> list[TaskRow]:
    """Rows by decreasing run time; on whole CPUs without the idle task and threads outside the watched command.

    Args:
        aggregator: of the samples.
        by: what a row stands for.
        since: marks of an instant before: count from there, without rows that did nothing; None: from the beginning.
        application: goes into every row.
        idle: keep rows that did nothing.
        only: make no rows but those of these tasks (`task_of`); None: of all.
    """
    if only is None and since is not None and not idle:
        only = active_tasks(aggregator, by, since)
    # a thread's id may be used again: each of its entries is a row of its own
    entries = aggregator.entries() if since is None or idle or by is not Grouping.THREAD else aggregator.recent()
    groups = lists_by_key((entry.serial if by is Grouping.THREAD else task_of(by, entry), entry) for entry in entries
                          if entry.tid not in IN_NO_ROW and (only is None or task_of(by, entry) in only))
    rows = [_row(aggregator, group, by, since or {}, application) for group in groups.values()]
    if since is not None and not idle:
        rows = [row for row in rows if any(row.counts.values())]
    return sorted(rows, key=lambda row: (-row.cpu_ns, row.pid or 0, row.tid or 0))


def _row(aggregator: SampleAggregator, group: Sequence[ThreadTotals], by: Grouping, since: Mapping[int, Mark],
         application: str) -> TaskRow:
    names = aggregator.names
    pids = {entry.pid for entry in group}
    first = next((entry for entry in group if entry.tid == entry.pid), group[0])
    # the first thread of a process gives it its name, also one that sleeps, or has ended before the others
    name = first.name if by in (Grouping.THREAD, Grouping.COMMAND) else aggregator.name_of(first.pid) or first.name
    counts = [0] * len(names)
    loads: dict[int, int] = {}
    migrations = whole = 0
    run = names.index(RUN)
    time = names.index(CPU_TIME) if CPU_TIME in names else run
    ran: set[int] = set()
    for entry in group:
        mark = since.get(entry.serial, _NOTHING)
        if mark.totals != tuple(entry.totals):
            ran.add(entry.serial)
        for number, value in enumerate(entry.totals):
            counts[number] += value - (mark.totals[number] if mark.totals else 0)
        had = mark.loads_by_cpu()
        for cpu, load in () if entry.loads is None else entry.loads.by_cpu().items():
            if more := load - had.get(cpu, 0):
                loads[cpu] = loads.get(cpu, 0) + more
        migrations += entry.migrations - mark.migrations
        whole += entry.totals[time]
    lacks = by is not Grouping.COMMAND and any(
        aggregator.lacks_some(entry, process=by is not Grouping.THREAD) for entry in group)
    return TaskRow(
        pid=first.pid if len(pids) == 1 and first.pid >= 0 else None,
        tid=first.tid if by is Grouping.THREAD and first.tid >= 0 else None,
        name=name,
        threads=sum(entry.threads for entry in group if not entry.ended or entry.serial in ran),
        cpus=tuple(sorted(set().union(*(entry.cpus for entry in group)))),
        last_cpu=first.last_cpu,
        counts=dict(zip(names, counts, strict=True)),
        migrations=migrations,
        loads=loads,
        whole_run=None if lacks else whole,
        incomplete=any(entry.is_incomplete(run) for entry in group),
        ended=all(entry.ended for entry in group),
        serials=frozenset(entry.serial for entry in group),
        ran=frozenset(ran),
        died=frozenset(entry.serial for entry in group if entry.ended and entry.serial in ran),
        application=application,
        by=by,
        guessed=any(entry.guessed for entry in group),
    )
