"""perf's generic hardware events on the cores' PMU: instructions with cycles, cache references with misses.

A core PMU has few counters, so the kernel multiplexes groups; each group's time_enabled and time_running are signals,
by which counts are scaled.

Each kernel driver chooses the cache of the generic cache events: the last level on Intel, the second on AMD
(arch/x86/events/amd/core.c), the first on Arm (drivers/perf/arm_pmuv3.c) and POWER (arch/powerpc/perf). Only events of
a known level get that level's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from turbotui.dataclass import dataclass
from turbotui.machine.cpumodel import AMD_VENDORS, CpuModel
from turbotui.machine.host import PerfAttr
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances
from turbotui.machine.pmus import read_pmu
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.perf_group import GroupEvent, Times
from turbotui.sources.perf_source import Findings, Offer, OfferGroup, PerfSource, try_offers

_TYPE_HARDWARE = 0  # PERF_TYPE_HARDWARE, uapi linux/perf_event.h
_TYPE_CACHE = 3  # PERF_TYPE_HW_CACHE, as above
_LL_READS, _LL_READ_MISSES = 0x2, 0x1_0002  # cache LL (2), operation READ (0) << 8, result ACCESS or MISS << 16
_PMU_SHIFT = 32  # PERF_PMU_TYPE_SHIFT: the PMU's type in the upper half of config chooses a hybrid's core PMU
_HYBRID_PMUS = ("cpu_core", "cpu_atom", "cpu_lowpower")  # kernel arch/x86/events/intel/core.c


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
            "perf cache-references: AMD's cores count the level 2 under this name, and no level 3",
            "see L2MRPS; the level 3 has a PMU of its own: turbotui uncore, or --add set:caches",
        )
        return _SECOND, dict.fromkeys(_LAST, why)
    no_second = Unavailable(Reason.NO_HARDWARE, "perf cache-misses: of the level 2 they are on AMD only")
    absent: dict[SignalId, Unavailable] = {"cache.l2.misses": no_second}
    if model.architecture in {"aarch64", "arm"}:
        return _LAST_READS, absent
    if model.architecture in {"x86_64", "i386", ""}:
        return _LAST, absent
    why = Unavailable(
        Reason.NO_HARDWARE,
        f"perf cache-references: which cache it counts on {model.architecture} is not known",
        "name the event of your cache with --add",
    )
    return {}, absent | dict.fromkeys(_LAST, why)


@dataclass(frozen=True, slots=True)
class _CoreKind:
    """CPUs whose core PMU is addressed in the same way: the PMU's name, its extended type, and its CPUs (None: all)."""

    pmu: str
    type: int
    cpus: frozenset[int] | None


class PerfHardware(PerfSource):
    """perf's generic hardware events."""

    id = "perf-hardware"
    title = "perf hardware"
    gives = "instructions, cycles, cache references and misses"

    def _find(self, machine: Machine) -> Findings:
        facts = circumstances(machine)
        signals: dict[SignalId, Signal | Unavailable] = {}
        refusals: dict[SignalId, str] = {}
        groups = []
        cache, absent = _cache_rows(machine.model)
        signals |= absent
        for name, rows in (("ipc", _IPC), ("cache", cache)):
            times = Times(f"perf.hw.{name}.enabled", f"perf.hw.{name}.running")
            for kind in _core_kinds(machine):
                offers = [Offer(_event(signal, row, kind), kind.cpus) for signal, row in rows.items()]
                usable, refused = try_offers(machine, offers, facts)
                for signal, why in refused.items():
                    signals.setdefault(signal, why)
                    refusals[signal] = why.detail
                for offer in usable:
                    signals[offer.event.signal] = _signal(offer.event.signal, rows[offer.event.signal], times)
                if usable:
                    groups.append(OfferGroup(usable, times))
                    signals |= time_signals(name, times)
            for time in (times.enabled, times.running):
                if time not in signals:
                    signals[time] = signals[next(iter(rows), "cache.references")]
        # a kind of core that cannot count shows empty cells beside others; the doctor has to say why
        partly = [detail for signal, detail in refusals.items() if isinstance(signals[signal], Signal)]
        note = f"not on every kind of core: {'; '.join(partly)}" if partly else ""
        return Findings(tuple(groups), signals, note)


def _core_kinds(machine: Machine) -> Iterator[_CoreKind]:
    """The core PMUs of a hybrid x86 with measured CPUs, otherwise one kind that covers every CPU."""
    measured = frozenset(machine.topology.cpus)
    found = False
    for name in _HYBRID_PMUS:
        pmu = read_pmu(machine.host, name)
        if pmu is not None and measured.intersection(pmu.cpus):
            found = True
            yield _CoreKind(name, pmu.type, frozenset(pmu.cpus))
    if not found:
        yield _CoreKind("", 0, None)


def _event(signal: SignalId, row: _Row, kind: _CoreKind) -> GroupEvent:
    title = f"perf {kind.pmu}/{row.name}/" if kind.pmu else f"perf {row.name}"
    return GroupEvent(signal, PerfAttr(row.type, row.config | kind.type << _PMU_SHIFT), title)


def _signal(signal: SignalId, row: _Row, times: Times) -> Signal:
    return Signal(
        id=signal,
        scope=Scope.CPU,
        unit=row.unit,
        behavior=Behavior.COUNTER,
        reduce=row.reduce,
        origin=f"perf {row.name}",
        document=row.document,
        enabled=times.enabled,
        running=times.running,
    )


def time_signals(group: str, times: Times) -> dict[SignalId, Signal]:
    """The group's clocks: ns raw, seconds as value."""
    return {
        signal: Signal(
            id=signal,
            scope=Scope.CPU,
            unit=Unit.SECOND,
            behavior=Behavior.COUNTER,
            reduce=Reduce.MEAN,
            origin=f"{word} of the perf group {group}",
            document="perf_event_open(2), read_format",
            scale=1e-9,
        )
        for signal, word in ((times.enabled, "time_enabled"), (times.running, "time_running"))
    }
