"""perf's generic events: hardware events on the cores' PMU, and software events of each CPU, one group a CPU.

A core PMU has few counters, so the kernel multiplexes groups; each group's time_enabled and time_running are signals,
by which counts are scaled.

Each kernel driver chooses the cache of the generic cache events: the last level on Intel, the second on AMD
(arch/x86/events/amd/core.c), the first on Arm (drivers/perf/arm_pmuv3.c) and POWER (arch/powerpc/perf). Only events of
a known level get that level's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from turbotui.dataclass import dataclass
from turbotui.machine.cpumodel import AMD_VENDORS, CpuModel
from turbotui.machine.host import PerfAttr
from turbotui.machine.machine import Machine
from turbotui.machine.pmus import Pmu
from turbotui.quantities.signals import Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.perf_group import GroupEvent, Times
from turbotui.sources.perf_source import Findings, Offer, PerfSource, Trials, count_signal, hybrid_pmus

_TYPE_HARDWARE = 0  # PERF_TYPE_HARDWARE, uapi linux/perf_event.h
_TYPE_CACHE = 3  # PERF_TYPE_HW_CACHE, as above
_LL_READS, _LL_READ_MISSES = 0x2, 0x1_0002  # cache LL (2), operation READ (0) << 8, result ACCESS or MISS << 16
_PMU_SHIFT = 32  # PERF_PMU_TYPE_SHIFT: the PMU's type in the upper half of config chooses a hybrid's core PMU


@dataclass(frozen=True, slots=True)
class _Row:
    """A generic event: PERF_COUNT_HW_* or PERF_COUNT_HW_CACHE_* of uapi linux/perf_event.h."""

    config: int
    name: str
    unit: Unit
    reduce: Reduce
    type: int = _TYPE_HARDWARE
    document: str = "perf_event_open(2), PERF_TYPE_HARDWARE"


_IPC: Mapping[SignalId, _Row] = {
    "instructions": _Row(1, "instructions", Unit.COUNT, Reduce.MEAN),
    "cycles": _Row(0, "cycles", Unit.CYCLE, Reduce.MEAN),
}
_LAST: Mapping[SignalId, _Row] = {
    "cache.references": _Row(2, "cache-references", Unit.COUNT, Reduce.SUM),
    "cache.misses": _Row(3, "cache-misses", Unit.COUNT, Reduce.SUM),
}
_AMD_DOCUMENT = "linux arch/x86/events/amd/core.c: the generic cache events are the level 2's (PMCx060, PMCx064)"
_SECOND: Mapping[SignalId, _Row] = {
    "cache.l2.references": _Row(2, "cache-references", Unit.COUNT, Reduce.SUM, document=_AMD_DOCUMENT),
    "cache.l2.misses": _Row(3, "cache-misses", Unit.COUNT, Reduce.SUM, document=_AMD_DOCUMENT),
}
_ARM_DOCUMENT = "linux drivers/perf/arm_pmuv3.c: LL_CACHE_RD and LL_CACHE_MISS_RD, reads only"
_LAST_READS: Mapping[SignalId, _Row] = {
    "cache.references": _Row(_LL_READS, "LLC-loads", Unit.COUNT, Reduce.SUM, _TYPE_CACHE, _ARM_DOCUMENT),
    "cache.misses": _Row(_LL_READ_MISSES, "LLC-load-misses", Unit.COUNT, Reduce.SUM, _TYPE_CACHE, _ARM_DOCUMENT),
}


def _cache_rows(model: CpuModel) -> tuple[Mapping[SignalId, _Row], Mapping[SignalId, Unavailable]]:
    """The cache events of a processor, and why it has none of another level."""
    if model.vendor in AMD_VENDORS:
        why = Unavailable(
            Reason.NO_HARDWARE,
            "perf cache-references: on AMD this name counts the level 2; cores there have no counter of level 3",
            "see L2MRPS; the level 3 has a PMU of its own: turbotui uncore, or --add set:caches")
        return _SECOND, dict.fromkeys(_LAST, why)
    no_second = Unavailable(Reason.NO_HARDWARE, "perf cache-misses: they count the level 2 on AMD only")
    absent: dict[SignalId, Unavailable] = {"cache.l2.misses": no_second}
    if model.architecture in {"aarch64", "arm"}:
        return _LAST_READS, absent
    if model.architecture in {"x86_64", "i386", ""}:
        return _LAST, absent
    why = Unavailable(
        Reason.NO_HARDWARE,
        f"perf cache-references: which cache it counts on {model.architecture} is not known",
        "name the event of your cache with --add")
    return {}, absent | dict.fromkeys(_LAST, why)


class PerfHardware(PerfSource):
    """perf's generic hardware events."""

    id = "perf-hardware"

    def _find(self, machine: Machine) -> Findings:
        trials = Trials(machine)
        signals = trials.signals
        kinds: list[Pmu | None] = [pmu for _number, pmu in hybrid_pmus(machine)] or [None]
        cache, absent = _cache_rows(machine.model)
        signals |= absent
        for name, rows in (("ipc", _IPC), ("cache", cache)):
            times = Times.of(f"perf.hw.{name}")
            for pmu in kinds:
                offers = [_offer(signal, row, pmu) for signal, row in rows.items()]
                trials.add(offers, partial(_signal, rows, times), times, name)
            for time in (times.enabled, times.running):
                if time not in signals:
                    signals[time] = signals[next(iter(rows), "cache.references")]
        return trials.findings()


def _offer(signal: SignalId, row: _Row, pmu: Pmu | None) -> Offer:
    """An event of one kind of core; without PMU, of all cores."""
    if pmu is None:
        return Offer(GroupEvent(signal, PerfAttr(row.type, row.config), f"perf {row.name}"))
    attr = PerfAttr(row.type, row.config | pmu.type << _PMU_SHIFT)
    return Offer(GroupEvent(signal, attr, f"perf {pmu.name}/{row.name}/"), frozenset(pmu.cpus))


def _signal(rows: Mapping[SignalId, _Row], times: Times, event: GroupEvent) -> Signal:
    row = rows[event.signal]
    counted = count_signal(event, row.document, times, unit=row.unit, reduce=row.reduce)
    return replace(counted, origin=f"perf {row.name}")  # of whichever kind of core


_SOFTWARE_DOCUMENT = "perf_event_open(2), PERF_TYPE_SOFTWARE"
_TYPE_SOFTWARE = 1  # PERF_TYPE_SOFTWARE, uapi linux/perf_event.h

_SOFTWARE_EVENTS: dict[SignalId, tuple[int, str]] = {
    # PERF_COUNT_SW_*, uapi linux/perf_event.h. Nothing is excluded: a context switch happens in kernel mode, and
    # exclude_kernel would make the counter stay at 0 without an error.
    "switches": (3, "context-switches"),
    "migrations": (4, "cpu-migrations"),
    "faults": (2, "page-faults"),
}


class PerfSoftware(PerfSource):
    """perf's software events."""

    id = "perf-software"

    def _find(self, machine: Machine) -> Findings:
        offers = [Offer(GroupEvent(signal, PerfAttr(_TYPE_SOFTWARE, config), f"perf {name}"))
                  for signal, (config, name) in _SOFTWARE_EVENTS.items()]
        trials = Trials(machine)
        trials.add(offers, lambda event: count_signal(event, _SOFTWARE_DOCUMENT))
        return trials.findings()
