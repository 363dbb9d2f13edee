"""Which events sample loads with their latency here, and how many loads lie between two samples.

AMD: the PMU ibs_op (kernel arch/x86/events/amd/ibs.c; AMD64 APM vol. 2, 13.3) samples every so many instructions of any
kind; those that are loads say which level served them, and how long a miss of L1 took. Its filter `ldlat` of Zen 5 is
not used: it leaves out every load that L3 or anything before it served. Intel: the event mem-loads of each core PMU,
sampled precisely (PEBS); the kernel refuses it on Sapphire Rapids and Alder Lake unless mem-loads-aux stands before it
in its group (intel_pmu_hw_config, arch/x86/events/intel/core.c). Arm's SPE writes packets of its own format into an aux
buffer instead of such records: it is not read. docs/specs/loads.md 1.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.events.perf_encoder import PerfEncoder
from turbotui.machine.host import Host, PerfAttr
from turbotui.machine.pmus import EventError, list_pmus, read_pmu
from turbotui.machine.tasks.load_records import SAMPLE_TYPE
from turbotui.quantities.unavailable import Reason, Unavailable

_USE_CLOCKID: Final = 1 << 25
_PRECISE: Final = 2 << 15  # precise_ip: the record is of the load itself
_IBS: Final = "ibs_op"
_COUNTED_OPS: Final = "cnt_ctl"  # count micro-operations, not cycles: else those that wait are sampled more often
_LOADS, _BEFORE = "mem-loads", "mem-loads-aux"
_OPS_EACH: Final = 4_000_112
"""Micro-operations between two samples with few CPUs: 250 to 5,000 samples a second of a busy CPU, of which about a
third are loads. 16 times a prime."""
_LOADS_EACH: Final = 100_003
"""Tagged loads between two samples with few CPUs: what Intel's tables give for the smallest latency (perfmon,
MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4, SampleAfterValue). A core tags one load at a time."""
_FEW: Final = 8  # CPUs; with more there are as many times fewer samples of each, so that all of them cost the same
_MOST_OPS: Final = (1 << 27) - 16  # what IBS counts to without interrupts in between (IBS_OP_MAX_CNT and its extension)
_ROUND: Final = 16  # the hardware's counter has no lower bits


@dataclass(frozen=True, slots=True)
class LoadEvent:
    """An event that samples loads.

    Attributes:
        name: as perf writes it.
        attrs: of the group: the one that samples stands last.
        cpus: where it can be opened; empty for all.
        period: events between two samples.
        what: is counted.
    """

    name: str
    attrs: tuple[PerfAttr, ...]
    cpus: tuple[int, ...]
    period: int
    what: str


def period_of(few: int, cpus: int) -> int:
    """Events between two samples of one CPU: as many times more as there are more CPUs than a few."""
    return max(few, few * cpus // _FEW)


def load_events(host: Host, cpus: int) -> tuple[LoadEvent, ...] | Unavailable:
    """The events of a machine with so many CPUs; or why there are none."""
    names = list_pmus(host)
    if _IBS in names:
        found = _of_ibs(host, cpus)
        return (found,) if isinstance(found, LoadEvent) else found
    events: list[LoadEvent] = []
    for name in names:
        pmu = read_pmu(host, name)
        if pmu is not None and _LOADS in pmu.events and "ldlat" in pmu.formats:
            try:
                events.append(_of_intel(host, name, _BEFORE in pmu.events, pmu.cpus, cpus))
            except EventError as error:
                return Unavailable(Reason.NO_DRIVER, f"{name}/{_LOADS}/: {error}")
    if events:
        return tuple(events)
    spe = next((name for name in names if name.startswith("arm_spe")), None)
    if spe is not None:
        return Unavailable(Reason.NOT_READ, f"{spe} measures loads here, but writes packets into an aux buffer, which "
                           "turbotui does not read", "use perf mem record")
    return Unavailable(Reason.NO_HARDWARE, "no PMU here measures loads: neither ibs_op (AMD) nor a core PMU with "
                       f"{_LOADS} (Intel, with PEBS) is in sysfs",
                       "ask the host of a virtual machine to pass the PMU through")


def _sampling(attr: PerfAttr, period: int) -> PerfAttr:
    return replace(attr, flags=attr.flags | _USE_CLOCKID, clockid=time.CLOCK_MONOTONIC_RAW, sample_period=period,
                   sample_type=SAMPLE_TYPE, read_format=0)


def _of_ibs(host: Host, cpus: int) -> LoadEvent | Unavailable:
    pmu = read_pmu(host, _IBS)
    if pmu is None or _COUNTED_OPS not in pmu.formats:
        return Unavailable(Reason.NO_HARDWARE, f"{_IBS} of this processor counts cycles alone, which samples those "
                           "loads more often that wait longer")
    period = min(_MOST_OPS, period_of(_OPS_EACH, cpus) // _ROUND * _ROUND)
    attr = PerfAttr(pmu.type, pmu.formats[_COUNTED_OPS].place(1))
    return LoadEvent(f"{_IBS}/{_COUNTED_OPS}=1/", (_sampling(attr, period),), (), period, "micro-operations")


def _of_intel(host: Host, pmu: str, led: bool, cpus: tuple[int, ...], count: int) -> LoadEvent:
    encoder = PerfEncoder(host).own
    period = period_of(_LOADS_EACH, count)
    loads = replace(encoder.encode(f"{pmu}/{_LOADS}/")[0].attr, read_format=0)
    sampling = _sampling(replace(loads, flags=loads.flags | _PRECISE), period)
    before = (replace(encoder.encode(f"{pmu}/{_BEFORE}/")[0].attr, read_format=0),) if led else ()
    return LoadEvent(f"{pmu}/{_LOADS}/", (*before, sampling), cpus, period, "tagged loads")
