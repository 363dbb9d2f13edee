"""Samples memory loads beside the task counters and attributes them to rows.

AMD: the PMU ibs_op (kernel arch/x86/events/amd/ibs.c; AMD64 APM vol. 2, 13.3) samples every so many instructions of any
kind; those that are loads say which level served them, and how long a miss of L1 took. Its filter `ldlat` of Zen 5 is
not used: it leaves out every load that L3 or anything before it served. Intel: the event mem-loads of each core PMU,
sampled precisely (PEBS); the kernel refuses it on Sapphire Rapids and Alder Lake unless mem-loads-aux stands before it
in its group (intel_pmu_hw_config, arch/x86/events/intel/core.c). Arm's SPE writes packets of its own format into an aux
buffer instead of such records: it is not read. docs/specs/loads.md 1.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.events.perf_encoder import PerfEncoder
from turbotui.features.tasks.loads import SampledLoads
from turbotui.features.tasks.shared_intervals import SharedIntervals
from turbotui.features.tasks.tables import TaskRow, threads_in
from turbotui.features.tasks.thread_totals import Thread
from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.machine.pmus import EventError, list_pmus, read_pmu
from turbotui.machine.tasks.load_records import SAMPLE_TYPE, LoadCounts
from turbotui.machine.tasks.load_sampler import LoadSampler
from turbotui.quantities.by_key import total_of
from turbotui.quantities.sentences import several
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
    """A perf event that samples memory loads."""

    name: str  # as perf writes it
    attrs: tuple[PerfAttr, ...]  # of the group: the one that samples stands last
    cpus: tuple[int, ...]  # where it can be opened; empty for all
    period: int  # events between two samples
    what: str  # is counted


def period_of(few: int, cpus: int) -> int:
    """The sampling period of one CPU, which grows with the number of CPUs."""
    return max(few, few * cpus // _FEW)


def load_events(host: Host, cpus: int) -> tuple[LoadEvent, ...] | Unavailable:
    """The load-sampling events for a number of CPUs, or the reason why there are none."""
    names = list_pmus(host)
    if _IBS in names:
        reason = _of_ibs(host, cpus)
        return (reason,) if isinstance(reason, LoadEvent) else reason
    events: list[LoadEvent] = []
    for name in names:
        if (pmu := read_pmu(host, name)) is not None and _LOADS in pmu.events and "ldlat" in pmu.formats:
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


_MOST_KEPT: Final = 20_000  # threads whose loads since the beginning are kept
_NO_NUMBER: Final = Unavailable(Reason.NOT_READ, "samples are known by a thread's number: the row's threads were put "
                                "together with others, or their number was given to others in the same interval")
_ENOUGH: Final = 1_000  # samples of which some would be loads
_REFUSALS: Final = {
    # errno: the kind of reason, what it means
    "EACCES": (Reason.NOT_PERMITTED, "run as root, or with CAP_PERFMON, or set kernel.perf_event_paranoid to 0"),
    "EPERM": (Reason.NOT_PERMITTED, "run as root, or with CAP_PERFMON"),
    "EMFILE": (Reason.NO_DESCRIPTORS, "ulimit -n"),
    "EBUSY": (Reason.IN_USE, "end the other profiler"),
}


class LoadWatch:
    """Sampled loads of all threads, interval by interval.

    Args:
        host: this machine.
        cpus: online ones.
        beginning: whether what is watched begins now: then the first interval is whole.

    Attributes:
        why: why nothing is sampled; None where it is.
    """

    def __init__(self, host: Host, cpus: Sequence[int], *, beginning: bool) -> None:
        self.why: Unavailable | None = None
        self._sampler: LoadSampler | None = None
        self._events: tuple[LoadEvent, ...] = ()
        self._intervals = SharedIntervals(beginning=beginning)
        self._interval: Mapping[int, LoadCounts] = {}
        self._everything: dict[int, LoadCounts] = {}
        events = load_events(host, len(cpus))
        if isinstance(events, Unavailable):
            self.why = events
            return
        # a CPU whose core type cannot sample loads has no group
        groups = [(cpu, event.attrs) for cpu in cpus for event in events if not event.cpus or cpu in event.cpus]
        try:
            self._sampler = LoadSampler(host, groups)
        except HostError as error:
            kind, remedy = _REFUSALS.get(error.name, (Reason.FAILED, ""))
            self.why = Unavailable(kind, f"sampling loads by {events[0].name} on whole CPUs: {error}", remedy)
            return
        self._events = events

    @property
    def lost(self) -> int:
        """Records that were lost or could not be parsed."""
        return 0 if self._sampler is None else self._sampler.records.lost + self._sampler.records.damaged

    def sentence(self) -> str:
        """A sentence on what is sampled, how often and at what cost, or why nothing is."""
        if self._sampler is None:
            return "" if self.why is None else f"loads are not sampled: {self.why.sentence()}"
        records = self._sampler.records
        how = " and ".join(f"one of {event.period:,} {event.what} of each CPU ({event.name})" for event in self._events)
        held = f"; the kernel held samples back {several(records.throttled, 'time')}" if records.throttled else ""
        lost = f"; {self.lost:,} LOST" if self.lost else ""
        return (f"loads: {how}; {several(records.samples, 'sample')} so far, each an interrupt{held}{lost}; "
                "LoadSmp says how many a row's numbers are made of")

    def drain(self) -> None:
        """Process the records written so far; call it often enough that no ring overflows."""
        if self._sampler is not None:
            self._sampler.drain()

    def close(self) -> None:
        """Close every descriptor."""
        if self._sampler is not None:
            self._sampler.close()

    def end_interval(self, who: Hashable) -> None:
        """End the interval for one application; each application ends the same interval once."""
        if self._intervals.end(who):
            self._cut()

    def _cut(self) -> None:
        self._interval = {} if self._sampler is None else self._sampler.take()
        for tid, counts in self._interval.items():
            if tid in self._everything or len(self._everything) < _MOST_KEPT:
                self._everything.setdefault(tid, LoadCounts()).add(counts)
        records = None if self._sampler is None else self._sampler.records
        if self._sampler is not None and records is not None and records.samples >= _ENOUGH and not records.with_source:
            self._sampler.close()
            self._sampler = None
            self.why = Unavailable(
                Reason.NO_DRIVER, f"the kernel does not say of any of {records.samples:,} samples of "
                f"{self._events[0].name} what the instruction did", "use Linux 6.1 or later")

    def rows(self, rows: Iterable[TaskRow], threads: Mapping[int, Thread], *, whole: bool) -> list[TaskRow]:
        """The rows with the sampled loads of their threads, in the interval or since the beginning."""
        counted_rows = list(rows)
        if self.why is not None:
            return [replace(row, sampled=SampledLoads(why=self.why)) for row in counted_rows]
        if not (self._intervals.known or whole):
            return counted_rows
        counted = self._everything if whole else self._interval
        unkept = whole and len(self._everything) >= _MOST_KEPT

        def sampled(row: TaskRow) -> SampledLoads:
            own = threads_in(row, threads)
            lacks = any(serial not in threads or (unkept and threads[serial].tid not in counted) for serial in row.ran)
            if not own:
                return SampledLoads(why=_NO_NUMBER)
            return SampledLoads(total_of(LoadCounts(), (counted[thread.tid] for thread in own
                                                        if thread.tid in counted)), partial=lacks)

        return [replace(row, sampled=sampled(row)) for row in counted_rows]
