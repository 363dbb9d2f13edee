"""Samples loads beside the counters of tasks, and gives them to rows."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.features.tasks.load_events import LoadEvent, load_events
from turbotui.features.tasks.loads import SampledLoads
from turbotui.features.tasks.shared_intervals import SharedIntervals
from turbotui.features.tasks.tables import TaskRow
from turbotui.features.tasks.thread_totals import Thread
from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.machine.tasks.load_records import LoadCounts, loads_of_all
from turbotui.machine.tasks.load_sampler import LoadSampler
from turbotui.quantities.unavailable import Reason, Unavailable

_MOST_KEPT: Final = 20_000  # threads whose loads since the beginning are kept
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
        groups = _by_cpu(events, cpus)
        try:
            self._sampler = LoadSampler(host, groups)
        except HostError as error:
            kind, remedy = _REFUSALS.get(error.name, (Reason.FAILED, ""))
            self.why = Unavailable(kind, f"sampling loads by {events[0].name} on whole CPUs: {error}", remedy)
            return
        self._events = events

    @property
    def lost(self) -> int:
        """Records that found no room, or could not be understood."""
        return 0 if self._sampler is None else self._sampler.records.lost + self._sampler.records.damaged

    def sentence(self) -> str:
        """What is sampled, how often, and what that costs; or why nothing is."""
        if self._sampler is None:
            return "" if self.why is None else f"loads are not sampled: {self.why.sentence()}"
        records = self._sampler.records
        how = " and ".join(f"one of {one.period:,} {one.what} of each CPU ({one.name})" for one in self._events)
        held = f"; the kernel held samples back {records.throttled} times" if records.throttled else ""
        lost = f"; {self.lost:,} LOST" if self.lost else ""
        return (f"loads: {how}; {records.samples:,} samples so far, each an interrupt{held}{lost}; "
                "LoadSmp says how many a row's numbers are made of")

    def drain(self) -> None:
        """Add up what the kernel has written; often enough that no ring overflows."""
        if self._sampler is not None:
            self._sampler.drain()

    def close(self) -> None:
        """Give every descriptor back."""
        if self._sampler is not None:
            self._sampler.close()

    def end_interval(self, who: Hashable) -> None:
        """End the interval of one application; of several ones each ends the same interval once."""
        if self._intervals.end(who):
            self._cut()

    def _cut(self) -> None:
        self._interval = {} if self._sampler is None else self._sampler.take()
        for tid, counts in self._interval.items():
            if tid in self._everything or len(self._everything) < _MOST_KEPT:
                self._everything.setdefault(tid, LoadCounts()).add(counts)
        records = None if self._sampler is None else self._sampler.records
        if self._sampler is not None and records is not None and records.samples >= _ENOUGH and not records.told:
            self._sampler.close()
            self._sampler = None
            self.why = Unavailable(
                Reason.NO_DRIVER, f"the kernel does not say of any of {records.samples:,} samples of "
                f"{self._events[0].name} what the instruction did", "use Linux 6.1 or later")

    def rows(self, rows: Iterable[TaskRow], threads: Mapping[int, Thread], *, whole: bool) -> list[TaskRow]:
        """The rows with the sampled loads of their threads.

        Args:
            rows: of the interval.
            threads: by serial number of an entry.
            whole: since the beginning.
        """
        found = list(rows)
        if self.why is not None:
            return [replace(row, sampled=SampledLoads(why=self.why)) for row in found]
        if not (self._intervals.known or whole):
            return found
        counted = self._everything if whole else self._interval
        return [replace(row, sampled=_of([threads[one] for one in row.serials if one in threads], counted))
                for row in found]


def _of(threads: Collection[Thread], counted: Mapping[int, LoadCounts]) -> SampledLoads:
    return SampledLoads(loads_of_all(counted[one.tid] for one in threads if one.tid in counted))


def _by_cpu(events: Sequence[LoadEvent], cpus: Sequence[int]) -> list[tuple[int, tuple[PerfAttr, ...]]]:
    """The group of each CPU; those of a kind that measures no loads have none."""
    return [(cpu, one.attrs) for cpu in cpus for one in events if not one.cpus or cpu in one.cpus]
