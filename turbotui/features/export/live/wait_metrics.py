"""Histograms of waits for a CPU, only on request, because each switch of the machine then costs a record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

from turbotui.errors import MachineError, UsageError
from turbotui.features.export.live.exposition import ExposedMetric
from turbotui.features.export.live.levels import MetricLevel
from turbotui.machine.host import Host, HostError, HostKind
from turbotui.machine.tasks.group_names import group_of_task
from turbotui.machine.tasks.run_queue import WaitSums
from turbotui.machine.tasks.wait_collector import WaitCollector
from turbotui.quantities.by_key import total_of
from turbotui.quantities.histograms import cumulative
from turbotui.quantities.unavailable import Unavailable

WAIT: Final = MetricLevel("wait", None)
BOUNDS: Final = tuple((1 << power) - 1 for power in range(14, 34))
"""Upper bounds of the exported buckets in ns: 16 us to 8.6 s in powers of two, which no finer bucket crosses."""
_ASKED: Final = 2_000  # threads of a scrape's interval whose control group is read, those that waited most often
_COUNTED: Final = 10_000  # groups that are counted as left out
_ENDED: Final = "(ended, its group was not seen)"
_DOCUMENT: Final = "kernel Documentation/trace/events.rst; perf_event_open(2), PERF_RECORD_SWITCH_CPU_WIDE"


class WaitSource(Protocol):
    """Gives the waits of all threads, as `WaitCollector` does."""

    @property
    def why_no_wakeups(self) -> Unavailable | None:
        """Why wake-ups are unknown; None if they are known."""

    @property
    def lost(self) -> int:
        """The number of records that had no room."""

    def take(self) -> tuple[Mapping[int, WaitSums], Mapping[int, WaitSums]]:
        """Return the waits since the last call, by thread and, of those that ended, by CPU."""

    def close(self) -> None:
        """Close every descriptor."""


class WaitMetrics:
    """Histograms of the machine, of CPUs if `per_cpu`, and of at most `most` control groups; they never decrease."""

    levels: Final = (WAIT,)

    def __init__(self, host: Host, source: WaitSource, most: int, *, per_cpu: bool) -> None:
        self._host, self._source, self._most, self._per_cpu = host, source, most, per_cpu
        self._cpus: defaultdict[int, WaitSums] = defaultdict(WaitSums)
        self._groups: dict[str, WaitSums] = {}
        self._left_out: set[str] = set()

    def close(self) -> None:
        """End the reading of switches."""
        self._source.close()

    def read(self) -> tuple[Sequence[ExposedMetric], Mapping[str, int]]:
        """Return the histograms so far, and how many groups were left out."""
        self._take()
        stem = "run_queue_wait" if self._source.why_no_wakeups is None else "preempted_wait"
        text = ("Time from when a thread could run to when it got a CPU" if self._source.why_no_wakeups is None else
                "Time from when a thread lost its CPU, although it could run, to when it got one; wake-ups are unknown")
        everywhere = total_of(WaitSums(), self._cpus.values())
        metrics = [_histogram(f"turbotui_machine_{stem}_seconds", text, [({}, everywhere)])]
        if self._per_cpu:
            metrics.append(_histogram(f"turbotui_cpu_{stem}_seconds", f"{text}, by the CPU that it got", [
                ({"cpu": str(cpu)}, waited) for cpu, waited in sorted(self._cpus.items())]))
        metrics.append(_histogram(f"turbotui_group_{stem}_seconds", f"{text}, by its container, pod, job or unit", [
            ({"group": group}, waited) for group, waited in sorted(self._groups.items())]))
        metrics.append(ExposedMetric("turbotui_machine_switch_records_lost", "counter",
                                     f"Records of switches for which a ring had no room: waits lack them ({_DOCUMENT})",
                                     [({}, float(self._source.lost))],
                                     WAIT))
        return metrics, {"groups with waits": len(self._left_out)}

    def _take(self) -> None:
        threads, cpus = self._source.take()
        for cpu, waited in cpus.items():
            self._cpus[cpu].add(waited)
        often = sorted(((tid, sums) for tid, sums in threads.items() if sums.times), key=lambda item: -item[1].times)
        for tid, waited in often[:_ASKED]:
            if (group := self._group(tid)) in self._groups or len(self._groups) < self._most:
                self._groups.setdefault(group, WaitSums()).add(waited)
            elif len(self._left_out) < _COUNTED:
                self._left_out.add(group)

    def _group(self, tid: int) -> str:
        """The group of a thread, by its path."""
        group = group_of_task(self._host, tid)
        return _ENDED if group is None else group.path


def _histogram(name: str, text: str, of: Sequence[tuple[Mapping[str, str], WaitSums]]) -> ExposedMetric:
    samples, endings = [], []
    for labels, waited in of:
        for ending, more, value in _parts(waited):
            samples.append(({**labels, **more}, value))
            endings.append(ending)
    return ExposedMetric(name, "histogram", f"{text} ({_DOCUMENT})", samples, WAIT, endings=endings)


def _parts(waited: WaitSums) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """The series of a classic histogram: cumulative buckets, count and sum."""
    number = sum(waited.lengths.values())
    for bound, count in cumulative(waited.lengths, BOUNDS):
        yield "_bucket", {"le": repr((bound + 1) / 1e9)}, float(count)
    yield "_bucket", {"le": "+Inf"}, float(number)
    yield "_count", {}, float(number)
    yield "_sum", {}, waited.ended / 1e9


def open_wait_metrics(host: Host, cpus: Sequence[int], most: int, *, per_cpu: bool) -> WaitMetrics:
    """Begin to read switches.

    Raises:
        UsageError: the machine is none that runs here.
        MachineError: this user may not watch whole CPUs, or descriptors or memory do not suffice.
    """
    if host.kind is not HostKind.REAL:
        raise UsageError(f"--waits: {host.name} is no machine that runs here, so nobody waits for its CPUs")
    try:
        source = WaitCollector(host, cpus)
    except (HostError, MachineError) as error:
        raise MachineError(f"--waits: switches of whole CPUs: {error}; run as root, or with CAP_PERFMON") from error
    return WaitMetrics(host, source, most, per_cpu=per_cpu)
