"""Columns of waiting for a CPU, memory, storage or a quota; beyond turbostat, and off by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from turbotui.quantities.catalog.formulas import (
    Formula,
    hundredfold_of,
    increase_of,
    percent,
    percent_of_time,
    rate_of,
    share,
    value_of,
)
from turbotui.quantities.columns import Category, CounterColumn, Inputs, Thresholds, Value
from turbotui.quantities.scope import Scope

_PSI: Final = "kernel Documentation/accounting/psi.rst"
_STAT: Final = "proc_stat(5)"
_LOAD: Final = "proc_loadavg(5)"
_SCHED: Final = "kernel Documentation/scheduler/sched-stats.rst"
_EVENTS: Final = "kernel include/linux/vm_event_item.h"
_MEMINFO: Final = "kernel Documentation/filesystems/proc.rst, meminfo"
_GROUPS: Final = "kernel Documentation/admin-guide/cgroup-v2.rst"


def _column(title: str, needs: tuple[str, ...], compute: Formula, help_text: str, *,
            document: str, unit: str = "", decimals: int = 0, thresholds: Thresholds | None = None,
            top: float | None = None, formula: str = "", doubt: Callable[[Inputs], str] | None = None) -> CounterColumn:
    return CounterColumn(id=title, category=Category.PRESSURE, scope=Scope.SYSTEM, unit=unit, decimals=decimals,
        needs=needs, compute=compute, formula=formula, help=help_text, document=document, width=6, priority=7,
        default=False, extra=True, whole_only=True, thresholds=thresholds, scale_max=top, doubt=doubt)


def _share(title: str, signal: str, help_text: str, thresholds: Thresholds | None) -> CounterColumn:
    spent = percent_of_time(signal)

    def compute(row: Inputs) -> Value:
        """Limited to the whole interval: a reader that loses its CPU between clock and file reads slightly more."""
        share = spent(row)
        return min(100.0, share) if isinstance(share, float) else share

    return _column(title, (signal,), compute, help_text, document=_PSI, unit="%", decimals=1, thresholds=thresholds,
                   top=100.0, formula=f"100 x Δ{signal} / interval")


def _rate(title: str, signal: str, help_text: str, document: str = _EVENTS) -> CounterColumn:
    return _column(title, (signal,), rate_of(signal), help_text, document=document, unit="/s")


def _now(title: str, signal: str, help_text: str, *, document: str, formula: str, decimals: int = 0) -> CounterColumn:
    return _column(title, (signal,), value_of(signal), help_text, document=document, formula=formula,
                   decimals=decimals)


def _part(title: str, part: str, whole: str, help_text: str, *, thresholds: Thresholds,
          doubt: Callable[[Inputs], str] | None = None) -> CounterColumn:
    return _column(title, (part, whole), lambda row: percent(row.value(part), row.value(whole)), help_text,
                   document=_MEMINFO, unit="%", decimals=1, thresholds=thresholds, top=100.0, doubt=doubt)


def _no_swap(row: Inputs) -> str:
    return "this machine has no swap space" if row.value("swap.total") == 0.0 else ""


def _wanting(row: Inputs) -> Value:
    """The run queue without the reader, which itself runs while the kernel counts."""
    running = row.value("stat.running")
    return None if running is None else max(0.0, running - 1.0)


def _never_ran(row: Inputs) -> str:
    if row.delta("cgroup.periods") == 0.0:
        return "the group did not want to run in any period of its quota in this interval"
    return ""


COLUMNS = (
    _share("PSIcpu%", "psi.cpu.some",
           "Share of time in which at least one task wanted to run and had no CPU.", Thresholds(25.0, 60.0)),
    _share("PSImem%", "psi.memory.some",
           "Share of time in which at least one task waited for memory: reclaim, swap, or pages that were thrown out "
           "and are read again.", Thresholds(5.0, 20.0)),
    _share("PSImemFull%", "psi.memory.full",
           "Share of time in which all tasks that had work waited for memory: nothing got done.",
           Thresholds(2.0, 10.0)),
    _share("PSIio%", "psi.io.some",
           "Share of time in which at least one task waited for storage.", Thresholds(25.0, 60.0)),
    _share("PSIioFull%", "psi.io.full",
           "Share of time in which all tasks that had work waited for storage.", Thresholds(10.0, 40.0)),
    _share("PSIirqFull%", "psi.irq.full",
           "Share of time in which interrupts and soft interrupts kept the tasks of a CPU from running.",
           Thresholds(10.0, 30.0)),
    _now("Load1", "load.1",
         "Tasks that run, want to run, or wait uninterruptibly (mostly for storage): averaged over one minute, "
         "in which the newest moments count most.", document=_LOAD, formula="first word of /proc/loadavg", decimals=2),
    _now("Load5", "load.5", "As Load1, averaged over five minutes.", document=_LOAD,
         formula="second word of /proc/loadavg", decimals=2),
    _now("Load15", "load.15", "As Load1, averaged over fifteen minutes.", document=_LOAD,
         formula="third word of /proc/loadavg", decimals=2),
    _column("RunQ", ("stat.running",), _wanting,
            "Tasks that run or want to run at the instant of reading, without the thread of turbotui that reads; one "
            "look, not an average.", document=_STAT, formula="procs_running of /proc/stat less 1"),
    _now("Blocked", "stat.blocked",
         "Tasks that wait for storage at the instant of reading; one look, not an average.", document=_STAT,
         formula="procs_blocked of /proc/stat"),
    _rate("Fork/s", "stat.forks", "Processes and threads made per second.", _STAT),
    CounterColumn(
        id="RunDelay%", category=Category.PRESSURE, scope=Scope.CPU, unit="%", decimals=1, needs=("sched.delay",),
        compute=hundredfold_of("sched.delay"), document=_SCHED, width=7, priority=7,
        default=False, extra=True, thresholds=Thresholds(50.0, 200.0),
        help="Tasks that waited on the run queue of this CPU, 100 % for one that waited all the time; added up over "
        "CPUs. The kernel books a wait when it ends.",
    ),
    CounterColumn(
        id="Slice/s", category=Category.PRESSURE, scope=Scope.CPU, unit="/s", decimals=0, needs=("sched.slices",),
        compute=rate_of("sched.slices"), document=_SCHED, width=7, priority=8, default=False, extra=True,
        help="Time slices per second that tasks got on the CPU.",
    ),
    _rate("SwapIn/s", "vm.swap_in", "Pages per second read back from swap space; a page is 4 KiB on x86."),
    _rate("SwapOut/s", "vm.swap_out", "Pages per second written to swap space; a page is 4 KiB on x86."),
    _rate("MajFlt/s", "vm.major_faults", "Page faults per second that had to wait for storage."),
    _rate("Reclaim/s", "vm.direct_reclaims",
          "Times per second that a task had to free memory itself before it got some (direct reclaim)."),
    _column("OOMKills", ("vm.oom_kills",), increase_of("vm.oom_kills"),
            "Processes that the kernel killed for want of memory in the interval.", document=_EVENTS,
            thresholds=Thresholds(1.0, 1.0)),
    _part("MemAvail%", "mem.available", "mem.total",
          "Share of memory that programs can have without swapping, by the kernel's estimate.",
          thresholds=Thresholds(10.0, 4.0, low=True)),
    _part("SwapFree%", "swap.free", "swap.total", "Share of swap space that is free.",
          thresholds=Thresholds(20.0, 5.0, low=True), doubt=_no_swap),
    _column("Throttled%", ("cgroup.throttled", "cgroup.periods"),
            lambda row: percent(row.delta("cgroup.throttled"), row.delta("cgroup.periods")),
            "Share of the quota's periods (mostly 100 ms) in which the control group that turbotui runs in, or one "
            "above it, had used up its CPU time and stood still.", document=_GROUPS, unit="%", decimals=1,
            thresholds=Thresholds(5.0, 25.0), top=100.0, doubt=_never_ran),
    _column("Quota%", ("cgroup.used", "cgroup.quota"),
            lambda row: share(row.rate("cgroup.used"), row.value("cgroup.quota")),
            "CPU time that this group used, of what its quota allows.", document=_GROUPS, unit="%", decimals=1,
            thresholds=Thresholds(80.0, 95.0), top=100.0),
    _now("Quota", "cgroup.quota",
         "CPUs that the tightest quota of turbotui's own control group and those above it allows.", document=_GROUPS,
         formula="quota / period", decimals=2),
    _share("CgPSIcpu%", "cgroup.psi.cpu.some",
           "Share of time in which a task of turbotui's own control group wanted to run and could not: no CPU was "
           "free, or the quota was used up.", None),
    _share("CgPSImem%", "cgroup.psi.memory.some",
           "Share of time in which a task of turbotui's own control group waited for memory.", None),
    _share("CgPSIio%", "cgroup.psi.io.some",
           "Share of time in which a task of turbotui's own control group waited for storage.", None),
)
