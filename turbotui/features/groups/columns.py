"""Columns of control groups; each names the quantities that it needs, and only their files are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from turbotui.features.groups.files import Quantity
from turbotui.features.groups.model import GroupRow
from turbotui.quantities.columns import PERCENT, Column, Scale, Thresholds, Value

GroupColumn: TypeAlias = Column[GroupRow]

_V2: Final = "kernel Documentation/admin-guide/cgroup-v2.rst"
_PSI: Final = "kernel Documentation/accounting/psi.rst"
_QUOTA: Final = "kernel Documentation/scheduler/sched-bwc.rst"
_MICRO: Final = 1e-6
_MEGABYTE: Final = 1e6
_MEBIBYTE: Final = 2.0**20
ENERGY: Final = "joules"
"""The need of columns that are computed from the packages' energy."""
SWITCHES: Final = "switches"
"""The need of a column that is not read from a file."""
JOULES, MINE, ALL = "packages' joules", "own work", "time of all CPUs"
"""The packages' energy of the interval, the CPU time of the group, and the time of all CPUs, by which it is shared."""
BY_CYCLES: Final = "joules by cycles"
"""The group's part of each package's joules by its cycles there, if cycles of groups are counted."""


def _share(quantity: Quantity) -> Callable[[GroupRow], Value]:
    """Return microseconds per second as a percentage."""
    def compute(row: GroupRow) -> Value:
        rate = row.rate(quantity)
        return None if rate is None else rate * _MICRO * 100.0

    return compute


def _part(part: Quantity, whole: Quantity) -> Callable[[GroupRow], Value]:
    """Return the increase of one counter as a percentage of another counter's."""
    def compute(row: GroupRow) -> Value:
        amount, all_of_it = row.increases.get(part), row.increases.get(whole)
        return None if amount is None or not all_of_it else amount / all_of_it * 100.0

    return compute


def _scaled(read: Callable[[GroupRow, Quantity], float | None], quantity: Quantity,
            divisor: float) -> Callable[[GroupRow], Value]:
    def compute(row: GroupRow) -> Value:
        value = read(row, quantity)
        return None if value is None else value / divisor if divisor != 1.0 else value

    return compute


def _gauge(quantity: Quantity, divisor: float = 1.0) -> Callable[[GroupRow], Value]:
    return _scaled(lambda row, name: row.values.get(name), quantity, divisor)


def _rate(quantity: Quantity, divisor: float = 1.0) -> Callable[[GroupRow], Value]:
    return _scaled(GroupRow.rate, quantity, divisor)


def _allowed(row: GroupRow) -> Value:
    quota, period = row.values.get("quota_usec"), row.values.get("period_usec")
    return None if quota is None or not period else quota / period


def _of_quota(row: GroupRow) -> Value:
    used, allowed = row.rate("cpu_usec"), _allowed(row)
    return None if used is None or not isinstance(allowed, (int, float)) or not allowed else (
        used * _MICRO / allowed * 100.0)


def _of_limit(row: GroupRow) -> Value:
    used, limit = row.values.get("memory_bytes"), row.values.get("memory_max")
    return None if used is None or not limit else used / limit * 100.0


def _watts(row: GroupRow) -> Value:
    joules, work, all_of_it = (row.increases.get(name) for name in (JOULES, MINE, ALL))
    seconds, own = row.spans.get(f"Δt {JOULES}"), row.increases.get(BY_CYCLES)
    if own is not None and seconds:
        return own / seconds
    return None if joules is None or work is None or not all_of_it or not seconds else (
        joules / seconds * (work / all_of_it))


def _idle_quota(row: GroupRow) -> str:
    if row.increases.get("periods") == 0.0:
        return "the group did not want to run in any period of a quota in this interval, or has none"
    return ""


def _column(title: str, unit: str, needs: tuple[Quantity, ...], compute: Callable[[GroupRow], Value], help_text: str, *,
            document: str = _V2, decimals: int = 1, width: int = 6, shown: bool = False, priority: int = 5,
            thresholds: Thresholds | None = None, scale: Scale | None = None,
            doubt: Callable[[GroupRow], str] | None = None, accumulates: bool = False) -> GroupColumn:
    return Column(title, unit, decimals, needs, compute, help=help_text, document=document, width=width,
                  priority=priority, default=shown, thresholds=thresholds, scale=scale, doubt=doubt,
                  accumulates=accumulates)


def _pressure(title: str, what: str, line: str, help_text: str, *, shown: bool = False,
              thresholds: Thresholds | None = None) -> GroupColumn:
    quantity = f"stalled_{what}_{line}_usec"
    return _column(title, "%", (quantity,), _share(quantity), help_text, document=_PSI, shown=shown, priority=3,
                   thresholds=thresholds, scale=PERCENT)


def _bytes(title: str, quantity: Quantity, help_text: str) -> GroupColumn:
    return _column(title, "MiB", (quantity,), _gauge(quantity, _MEBIBYTE), help_text, width=8, shown=False, priority=6)


GROUP: Final[GroupColumn] = Column(
    "Group", "", -1, (), lambda row: row.group.name, width=20, priority=0, identity=True,
    help="The container, pod, job, unit or control group; its path is below the table.")
PATH: Final[GroupColumn] = Column(
    "Path", "", -1, (), lambda row: row.group.path, width=30, priority=9, default=False, identity=True,
    help="The path of the group from the root of its tree, as in /proc/PID/cgroup.")

COLUMNS: Final[tuple[GroupColumn, ...]] = (
    PATH,
    GROUP,
    _column("CPU%", "%", ("cpu_usec",), _share("cpu_usec"),
            "CPU time that the tasks of the group, and of the groups in it, used: 100 % is one CPU.", width=7,
            shown=True, priority=0),
    _column("User%", "%", ("user_usec",), _share("user_usec"), "CPU time of the group in user mode.", width=7),
    _column("Sys%", "%", ("system_usec",), _share("system_usec"), "CPU time of the group in the kernel.", width=7),
    _pressure("PSIcpu%", "cpu", "some",
              "Share of time in which at least one task of the group wanted to run and could not: no CPU was free, or "
              "the quota was used up.", shown=True, thresholds=Thresholds(25.0, 60.0)),
    _pressure("PSIcpuFull%", "cpu", "full",
              "Share of time in which tasks of the group wanted to run and not one of them could."),
    _column("RunDelay%", "%", ("waited_usec",), _share("waited_usec"),
            "Time that tasks of the group waited for a CPU, 100 % for one task that waited all the time. Version 1 "
            "counts it while the kernel keeps schedstats; version 2 does not: PSIcpu% is its word for it.",
            document="kernel Documentation/admin-guide/cgroup-v1", width=7),
    _column("CSw/s", "/s", (SWITCHES,), _rate(SWITCHES),
            "Context switches. The kernel counts them for no group; the cell says how to count them.", decimals=0),
    _column("Quota", "CPUs", ("quota_usec", "period_usec"), _allowed,
            "The greatest number of CPUs that the group may use.",
            decimals=2, shown=True, priority=4),
    _column("Quota%", "%", ("cpu_usec", "quota_usec", "period_usec"), _of_quota,
            "CPU time that the group used, as a share of its quota.", shown=True, priority=2,
            thresholds=Thresholds(80.0, 95.0), scale=PERCENT),
    _column("Throttled%", "%", ("throttled", "periods"), _part("throttled", "periods"),
            "Share of the quota's periods (mostly 100 ms) in which the group had used up its quota and was stopped.",
            document=_QUOTA, shown=True, priority=1, thresholds=Thresholds(5.0, 25.0), scale=PERCENT,
            doubt=_idle_quota),
    _column("ThrotTime%", "%", ("throttled_usec",), _share("throttled_usec"),
            "Time for which CPUs of the group were stopped because of its quota; 100 % is one CPU all the time.",
            document=_QUOTA),
    _pressure("PSImem%", "memory", "some",
              "Share of time in which at least one task of the group waited for memory.", shown=True,
              thresholds=Thresholds(5.0, 20.0)),
    _pressure("PSImemFull%", "memory", "full",
              "Share of time in which all tasks of the group that had work waited for memory.",
              thresholds=Thresholds(2.0, 10.0)),
    _pressure("PSIio%", "io", "some", "Share of time in which at least one task of the group waited for storage.",
              shown=True, thresholds=Thresholds(25.0, 60.0)),
    _pressure("PSIioFull%", "io", "full",
              "Share of time in which all tasks of the group that had work waited for storage.",
              thresholds=Thresholds(10.0, 40.0)),
    _pressure("PSIirqFull%", "irq", "full",
              "Share of time in which interrupts kept the tasks of the group from running."),
    _column("Mem", "MiB", ("memory_bytes",), _gauge("memory_bytes", _MEBIBYTE),
            "Memory that is charged to the group and the groups in it, page cache included.", decimals=0, width=7,
            shown=True, priority=2),
    _column("Mem%", "%", ("memory_bytes", "memory_max"), _of_limit, "Memory of the group in percent of its limit.",
            shown=True, priority=4, thresholds=Thresholds(90.0, 98.0), scale=PERCENT),
    _bytes("MemPeak", "memory_peak", "The most memory that was charged to the group since it was made."),
    _bytes("MemHigh", "memory_high",
           "The amount above which the group is slowed down and its memory reclaimed (version "
           "1: its soft limit)."),
    _bytes("MemMax", "memory_max",
           "The group's memory limit; if memory beyond it cannot be reclaimed, the kernel kills processes."),
    _bytes("Anon", "anon_bytes", "Memory of the programs themselves: heaps and stacks."),
    _bytes("File", "file_bytes", "Page cache, including tmpfs."),
    _bytes("Swap", "swap_bytes", "Memory of the group that lies in swap space."),
    _column("MajFlt/s", "/s", ("major_faults",), _rate("major_faults"),
            "Page faults of the group that had to wait for storage: its programs read code, mapped files or swapped "
            "memory anew.", decimals=0, width=8, priority=6),
    _column("OOM", "", ("oom_kills",), lambda row: row.increases.get("oom_kills"),
            "Processes of the group that the kernel killed in the interval because memory was short.", decimals=0,
            width=4, thresholds=Thresholds(1.0, 1.0), accumulates=True),
    _column("Read", "MB/s", ("read_bytes",), _rate("read_bytes", _MEGABYTE), "Bytes read from block devices.",
            width=7, shown=True, priority=6),
    _column("Write", "MB/s", ("written_bytes",), _rate("written_bytes", _MEGABYTE), "Bytes written to block devices.",
            width=7, shown=True, priority=6),
    _column("Read/s", "/s", ("reads",), _rate("reads"), "Read requests to block devices.", decimals=0),
    _column("Write/s", "/s", ("writes",), _rate("writes"), "Write requests to block devices.", decimals=0),
    _column("Pids", "", ("pids",), _gauge("pids"), "Processes and threads in the group and the groups in it.",
            decimals=0, shown=True, priority=6),
    _column("PidsMax", "", ("pids_max",), _gauge("pids_max"),
            "The greatest number of processes and threads that the group may have.", decimals=0),
    _column("Refused", "", ("refused",), lambda row: row.increases.get("refused"),
            "How often such a limit kept a process or thread from being made.", decimals=0, accumulates=True),
    _column("Watt", "W", (ENERGY, "cpu_usec"), _watts,
            "The packages' power, shared by the time of all CPUs, idle time included, or by unhalted cycles where the "
            "event cycles is counted for groups (--add cycles, or the key a): an estimate, which takes work that "
            "burns more per second, or per cycle, for what other work burns.",
            decimals=2, width=7, shown=True, priority=4, document="docs/specs/groups.md 1.4"),
)
"""All columns, in print order."""


def names_of_columns(_session: object) -> Sequence[str]:
    """The names of all columns, by which / finds them."""
    return [column.id for column in COLUMNS]


def needed(columns: Iterable[GroupColumn]) -> frozenset[Quantity]:
    """Return the quantities that some columns need."""
    return frozenset(need for column in columns for need in column.needs)
