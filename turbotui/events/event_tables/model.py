"""Rows of vendors' tables: events with perf's terms, metrics with perf's expressions.

Meaning of every field: kernel tools/perf/pmu-events/README and the keys of its JSON files; perf-list(1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from turbotui.dataclass import dataclass

DEFAULT_CORE = "default_core"
"""The PMU of a row that names none: the core PMU, whatever the kernel calls it."""


@dataclass(frozen=True, slots=True)
class VendorEvent:
    """One event of a table."""

    name: str  # in lower case, "mem_inst_retired.all_loads"
    pmu: str  # as the kernel names it, without the number of an instance ("uncore_imc"), or `DEFAULT_CORE`
    terms: str  # as perf writes them between slashes, "event=0xd0,umask=0x81,period=1000003"
    brief: str = ""  # one line
    description: str = ""  # the long text; "" where the table has none beside the brief one
    unit: str = ""  # of the scaled count, "MiB"; "" for a plain count
    scale: float = 1.0  # factor from counts to `unit`
    per_package: bool = False  # one count is of a whole package
    aggregation: str = ""  # "PerChip", "PerCore" or ""
    topic: str = ""  # the group it is listed under, "cache"
    deprecated: bool = False  # the vendor has another event for it, or none
    compat: str = ""  # an identifier that the PMU must have, as a pattern; "" where any will do


@dataclass(frozen=True, slots=True)
class VendorMetric:
    r"""One metric of a table.

    Attributes:
        name: as the table writes it, "tma_frontend_bound".
        expression: perf's grammar, escapes as in the table ("cstate_core@c1\-residency@ / msr@tsc@").
        groups: in the table's order, ("TmaL1", "TopdownL1").
        brief: one line.
        description: the long text, or "".
        scale_unit: factor and unit as written, "100%"; "" for a plain number.
        threshold: perf's grammar; the metric is worth a look where it is true. "" where there is none.
        constraint: "NO_GROUP_EVENTS", "NO_NMI_WATCHDOG" ...; "" for none. `perf list -j` does not tell it: then None.
        no_group: groups in which its events are not one group of counters.
        default_group: the group by which `perf stat` without events shows it, or "".
        pmu: the PMU whose cores it is of, or `DEFAULT_CORE`.
        aggregation: "PerChip", "PerCore" or "".
        compat: as for an event.
        topic: the file it is from, "metrics".
    """

    name: str
    expression: str
    groups: tuple[str, ...] = ()
    brief: str = ""
    description: str = ""
    scale_unit: str = ""
    threshold: str = ""
    constraint: str | None = ""
    no_group: tuple[str, ...] = ()
    default_group: str = ""
    pmu: str = DEFAULT_CORE
    aggregation: str = ""
    compat: str = ""
    topic: str = ""


Row = TypeVar("Row")


class VendorRows(Generic[Row]):
    """Rows of a table by their names in lower case, each made when it is first needed.

    Several rows have the same name if several PMUs have the event.
    """

    def __init__(self, raw: Mapping[str, Sequence[object]], make: Callable[..., Row]) -> None:
        self._raw = raw
        self._make = make
        self._made: dict[str, tuple[Row, ...]] = {}

    def named(self, name: str) -> tuple[Row, ...]:
        """Return the rows of a name in any case; () if there are none."""
        key = name.lower()
        if (rows := self._made.get(key)) is None:
            rows = self._made[key] = tuple(map(self._make, self._raw.get(key, ())))
        return rows

    def names(self) -> Sequence[str]:
        """Return all names in lower case, sorted."""
        return sorted(self._raw)

    def __iter__(self) -> Iterator[Row]:
        """Yield all rows, sorted by name."""
        for name in self.names():
            yield from self.named(name)

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(map(len, self._raw.values()))


class VendorTables:
    """The tables of one CPU.

    Args:
        source: where they are from, for people: "perf 7.2.13 list -j", "DIR/x86/sapphirerapids (mapfile.csv
            GenuineIntel-6-8F)".
        groups: the vendor's descriptions of groups of metrics, by the groups' names.
        lacks_events: a sentence about events that the CPU has and this source leaves out; "" if it leaves out none.
        lacks_metrics: the corresponding sentence about metrics.
    """

    def __init__(self, source: str, events: VendorRows[VendorEvent], metrics: VendorRows[VendorMetric],
                 groups: Mapping[str, str] | None = None, *, lacks_events: str = "", lacks_metrics: str = "") -> None:
        self.source = source
        self.lacks_events = lacks_events
        self.lacks_metrics = lacks_metrics
        self._events = events
        self._metrics = metrics
        self.group_words = groups or {}
        self._groups: dict[str, list[VendorMetric]] | None = None

    def event(self, name: str) -> tuple[VendorEvent, ...]:
        """Return the events of a name in any case, one for each kind of PMU; () if there are none."""
        return self._events.named(name)

    def metric(self, name: str) -> tuple[VendorMetric, ...]:
        """Return the metrics of a name in any case, one for each PMU; () if there are none."""
        return self._metrics.named(name)

    def group(self, name: str) -> tuple[VendorMetric, ...]:
        """Return the metrics of a group, named in any case; () if there is no such group."""
        if self._groups is None:
            self._groups = {}
            for metric in self._metrics:
                for group in metric.groups:
                    self._groups.setdefault(group.lower(), []).append(metric)
        return tuple(self._groups.get(name.lower(), ()))

    def group_names(self) -> tuple[str, ...]:
        """Return the groups' names as the table writes them, sorted."""
        return tuple(sorted({group for metric in self._metrics for group in metric.groups}, key=str.lower))

    def events(self) -> VendorRows[VendorEvent]:
        """Yield all events."""
        return self._events

    def metrics(self) -> VendorRows[VendorMetric]:
        """Yield all metrics."""
        return self._metrics
