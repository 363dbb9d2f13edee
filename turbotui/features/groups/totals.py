"""Reads the kernel's counters of control groups and resctrl groups in base units, for an exporter.

One reading suffices: counters run since a group was made, and restart at 0 when it is made again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.groups.files import OCCUPANCY, Quantity
from turbotui.features.groups.model import CGROUP, NODE, WHOLE, Group, GroupSample
from turbotui.features.groups.reader import CgroupReader
from turbotui.features.groups.resctrl_reader import ResctrlReader
from turbotui.machine.host import Host
from turbotui.quantities.unavailable import Unavailable

MOST: Final = 100
"""The most groups of each kind, unless the user asks for more."""
_V2: Final = "kernel Documentation/admin-guide/cgroup-v2.rst"
_PSI: Final = "kernel Documentation/accounting/psi.rst"
_RESCTRL: Final = "kernel Documentation/filesystems/resctrl.rst"
_MICRO: Final = 1e-6


@dataclass(frozen=True, slots=True)
class GroupMetric:
    """An exported metric of groups."""

    stem: str  # the metric's name with the base unit at the end, without `_total`
    quantity: Quantity  # the quantity; for resctrl the event, which is summed over domains
    text: str  # the description
    document: str = _V2  # the source document
    factor: float = 1.0  # base units in one of the kernel's
    counter: bool = True  # whether the metric is a counter


METRICS: Final = (
    GroupMetric("cpu_seconds", "cpu_usec", "CPU time of the group and the groups in it", factor=_MICRO),
    GroupMetric("throttled_seconds", "throttled_usec", "Time for which CPUs of the group stood still for its quota",
                factor=_MICRO),
    GroupMetric("throttled_periods", "throttled", "Periods of the quota in which it was used up"),
    GroupMetric("periods", "periods", "Periods of the quota in which the group wanted to run"),
    *(GroupMetric(f"{what}_pressure_seconds", f"stalled_{what}_some_usec",
                  f"Time in which a task of the group waited for {name}", _PSI, _MICRO)
      for what, name in (("cpu", "a CPU"), ("memory", "memory"), ("io", "storage"))),
    GroupMetric("memory_bytes", "memory_bytes", "Memory of the group, page cache included", counter=False),
    GroupMetric("memory_limit_bytes", "memory_max", "Memory that it may have at most", counter=False),
    GroupMetric("memory_kills", "oom_kills", "Processes that were ended for want of memory"),
    GroupMetric("read_bytes", "read_bytes", "Bytes read from block devices"),
    GroupMetric("written_bytes", "written_bytes", "Bytes written to block devices"),
    GroupMetric("tasks", "pids", "Processes and threads", counter=False),
)
"""Metrics of control groups."""
MONITORED: Final = (
    GroupMetric("l3_bytes", OCCUPANCY, "What the group has in L3 caches", _RESCTRL, counter=False),
    GroupMetric("memory_traffic_bytes", "mbm_total_bytes", "Bytes that missed the L3 caches", _RESCTRL),
    GroupMetric("local_memory_traffic_bytes", "mbm_local_bytes", "Those from memory of the same node", _RESCTRL),
    GroupMetric("core_energy_joules", "core_energy", "Energy of cores while they ran the group", _RESCTRL),
)
"""Metrics of resctrl groups."""


@dataclass(frozen=True, slots=True)
class GroupTotal:
    """The counters of one group."""

    group: Group
    values: Mapping[str, float]  # the known values, by the stem of the metric

    @property
    def is_monitored(self) -> bool:
        """Whether the group is a resctrl group."""
        return self.group.kind != CGROUP


@dataclass(frozen=True, slots=True)
class GroupTotals:
    """One reading of the groups' counters."""

    groups: Sequence[GroupTotal]  # the exported groups, parents before children
    left_out: int  # the number of other groups within the request

    def metrics(self) -> Iterator[tuple[bool, str, bool, str, Sequence[tuple[str, float]]]]:
        """Each metric: whether it is of resctrl groups, name, whether it is a counter, HELP, paths and values."""
        for metrics, is_monitored in ((METRICS, False), (MONITORED, True)):
            groups = [group for group in self.groups if group.is_monitored == is_monitored]
            for metric in metrics:
                yield is_monitored, metric.stem, metric.counter, f"{metric.text} ({metric.document})", [
                    (group.group.path, float(group.values[metric.stem])) for group in groups
                    if metric.stem in group.values]


class GroupTotalsReader:
    """Reads the counters of the groups within a control group; files stay open.

    Of each kind there are at most `most` groups, those nearest to that group.
    """

    def __init__(self, host: Host, within: str = WHOLE, most: int = MOST) -> None:
        self._within = f"/{within.strip('/')}" if within.strip("/") else WHOLE
        self._most = most
        self._cgroups = CgroupReader(host, (metric.quantity for metric in METRICS))
        self._monitors = ResctrlReader(host, (metric.quantity for metric in MONITORED))

    @property
    def why_none(self) -> Unavailable | None:
        """Return why there are no control groups to read; None if there are some."""
        return self._cgroups.why_none

    def read(self) -> GroupTotals:
        """Read the counters' present values."""
        samples = [sample for sample in self._cgroups.read().samples.values() if self._has(sample.group.path)]
        monitored = [] if self._monitors.why_none is not None else list(self._monitors.read().samples.values())
        nearest = sorted(samples, key=lambda sample: sample.group.path.count("/"))[: self._most]
        groups = [GroupTotal(sample.group, _values(sample)) for sample in nearest]
        groups += [GroupTotal(sample.group, _sums(sample)) for sample in monitored[: self._most]]
        return GroupTotals(groups, len(samples) + len(monitored) - len(groups))

    def close(self) -> None:
        """Close every file."""
        self._cgroups.close()
        self._monitors.close()

    def _has(self, path: str) -> bool:
        if self._within == WHOLE:
            return path != WHOLE
        return path == self._within or path.startswith(f"{self._within}/")


def _values(sample: GroupSample) -> Mapping[str, float]:
    known = _known(sample)
    return {metric.stem: known[metric.quantity] * metric.factor for metric in METRICS if metric.quantity in known}


def _sums(sample: GroupSample) -> Mapping[str, float]:
    """Sum events over a group's domains, except those unknown in a domain, whose sums would fall and rise."""
    known = _known(sample)
    sums: dict[str, float] = {}
    for metric in MONITORED:
        parts = [quantity for quantity in sample.gives
                 if quantity.rpartition(" ")[2] == metric.quantity and NODE not in quantity]
        if parts and all(part in known for part in parts):
            sums[metric.stem] = sum(known[part] for part in parts) * metric.factor
    return sums


def _known(sample: GroupSample) -> Mapping[Quantity, float]:
    known: dict[Quantity, float] = {}
    for quantity, file in sample.gives.items():
        reading = sample.readings.get(file)
        value = None if reading is None else reading.values.get(quantity)
        if isinstance(value, int | float):
            known[quantity] = value
    return known
