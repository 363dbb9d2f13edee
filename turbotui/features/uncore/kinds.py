"""Kinds of uncore PMU on a machine: their units, their metrics, and the rows that sum them by package."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.events.options import read_number
from turbotui.events.uncore.corrections import is_meaningless
from turbotui.events.uncore.discovery import BY_ADDRESS, UNKNOWN, UncoreUnit, find_units
from turbotui.machine.machine import Machine
from turbotui.machine.memory import memory_tiers
from turbotui.machine.pmus import EventError, Pmu
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.columns import PERCENT
from turbotui.quantities.uncore import (
    BYTES,
    EdgeRow,
    Metric,
    UncoreKind,
    edges_of,
    kind_of,
    kind_order,
    metric_of,
    metrics_of,
    table_names,
)
from turbotui.untrusted import one_line

_FIRST_EVENTS = 4
"""The number of events shown for a kind of PMU without derived values, until the user chooses."""
_CLOCK = "GHz"
TRAFFIC: Final = frozenset({"GB/s", "M/s", "1/cycle"})
"""Units of metrics that are a load of a unit; clocks, latencies and shares of hits are none."""
MACHINE: Final = "machine Σ"
"""The label of the sum over all packages."""
_SYSFS = "the PMU's events in sysfs"
_COUNTS = ("M/s", " * 1000")  # one count per ns is a thousand million per second


@dataclass(frozen=True)
class UncoreUnits:
    """One kind of PMU."""

    kind: UncoreKind
    units: tuple[UncoreUnit, ...]  # by package, die and number
    metrics: tuple[Metric, ...]  # the derived values whose events all exist
    raw: tuple[Metric, ...]  # the events that the kernel names, as rates
    edges: tuple[EdgeRow, ...] = ()  # the kind's edges on the map of traffic
    table: str = ""  # the table of this processor's events, which verification.toml lists

    @property
    def pmu(self) -> Pmu:
        """The PMU of the first unit; all of a kind have the same events and fields."""
        return self.units[0].pmu

    @property
    def starting(self) -> tuple[Metric, ...]:
        """The metrics that are shown until the user chooses others."""
        return tuple(metric for metric in self.metrics if not metric.chosen) or self.raw[:_FIRST_EVENTS]

    @property
    def no_peak(self) -> str:
        """Why no metric of the kind is compared with a peak; "" if one is, or if nothing is derived."""
        loads = any(metric.scale is PERCENT for metric in self.metrics)
        return "" if loads or not self.metrics else self.kind.no_peak

    @cached_property
    def rows(self) -> tuple[UnitRow, ...]:
        """Return a sum for a machine of several packages, and for each package a sum followed by its units."""
        rows: list[UnitRow] = []
        packages = dict.fromkeys(unit.package for unit in self.units)
        if len(packages) > 1:
            rows.append(UnitRow(f"{self.kind.id}.machine", MACHINE, self.units, UNKNOWN))
        for package in packages:
            members = tuple(unit for unit in self.units if unit.package == package)
            where = "" if package == UNKNOWN else f"pkg {package}"
            if len(members) > 1:
                rows.append(UnitRow(f"{self.kind.id}.{package}", f"{where} Σ".strip(), members, package))
            parent = rows[-1].key if len(members) > 1 else None
            rows += [UnitRow(unit.key, label_of(unit, members), (unit,), package, parent) for unit in members]
        return tuple(rows)

    def find(self, package: int) -> tuple[UncoreUnit, ...]:
        """Return the units of one package."""
        return tuple(unit for unit in self.units if unit.package == package)


@dataclass(frozen=True, slots=True)
class UnitRow:
    """A unit, or the units of a package together."""

    key: str  # the row's key in every interval
    label: str  # a short label for people
    units: tuple[UncoreUnit, ...]  # one unit, or those that are added
    package: int
    parent: str | None = None  # key of the sum that a unit is part of; None if there is none

    @property
    def is_sum(self) -> bool:
        """Whether the row is a sum of several units."""
        return len(self.units) > 1

    @property
    def is_machine(self) -> bool:
        """Whether the row is the sum of all packages, which are not folded below it."""
        return self.label == MACHINE


def label_of(unit: UncoreUnit, around: Sequence[UncoreUnit]) -> str:
    """Return a short label: the package of a unit that is alone there, else also number, die or CPU."""
    where = "" if unit.package == UNKNOWN else f"pkg {unit.package}"
    if len(around) == 1:
        return where or unit.pmu.name
    parts = [where] if where else []
    if len({other.die for other in around}) > 1 and unit.die != UNKNOWN:
        parts.append(f"die {unit.die}")
    if "_rc_" in unit.pmu.name:
        parts.append(f"rc {unit.numbers[-1]}")
    elif unit.kind in BY_ADDRESS:
        parts.append(unit.pmu.name)
    elif unit.numbers and len({other.numbers for other in around}) > 1:
        parts.append(f"#{'.'.join(map(str, unit.numbers))}")
    if len({(other.die, other.numbers) for other in around}) < len(around):
        parts.append(f"cpu {unit.cpu}")
    return " ".join(parts)


def find_kinds(machine: Machine) -> tuple[UncoreUnits, ...]:
    """Return the kinds of a machine, in the order of `kind_order`, then other kinds by name."""
    by_kind = lists_by_key((unit.kind, unit) for unit in find_units(machine))
    order = kind_order()
    names = sorted(by_kind, key=lambda name: (order.get(name, len(order)), name))
    model, tiers = machine.model, memory_tiers(machine.host)
    processor = "" if model.model is None else f"{model.vendor}-{model.family}-{model.model:X}"
    return tuple(_units_of(kind_of(name), tuple(by_kind[name]), processor, tiers) for name in names)


def _units_of(kind: UncoreKind, units: tuple[UncoreUnit, ...], processor: str, tiers: frozenset[str]) -> UncoreUnits:
    pmu = units[0].pmu
    fitting = [replace(metric, chosen=False) if metric.tier and tiers.issuperset(metric.tier.split()) else metric
               for metric in metrics_of(kind.id, processor) if all(can_count(pmu, name) for name in metric.needs)]
    absent = {metric.what for metric in fitting if metric.tier and metric.chosen}
    edges = tuple(edge for edge in edges_of(kind.id, processor) if absent.isdisjoint((edge.inward, edge.outward)))
    fitting.sort(key=lambda metric: metric.unit == _CLOCK)  # amounts of traffic come first, clocks last
    raw = tuple(raw_metric(kind.id, pmu, name) for name in pmu.events if _is_count(pmu, name))
    return UncoreUnits(kind, units, tuple(fitting), raw, edges, table_names(kind.id, processor)[-1])


def _is_count(pmu: Pmu, event: str) -> bool:
    """Tell whether an event is a running count of known scale without parameters."""
    return _is_summable(pmu, event) and "?" not in pmu.events[event].text


def _is_summable(pmu: Pmu, event: str) -> bool:
    """Tell whether an event is a running count of known scale, whose parameters are given.

    A name with a quotation mark would end within the formula of its rate, and the rest be taken for arithmetic.
    """
    described = pmu.events[event]
    return "'" not in event and math.isfinite(described.scale) and not is_meaningless(pmu,
                                                                                      event) and not described.snapshot


def can_count(pmu: Pmu, event: str) -> bool:
    """Tell whether a PMU has an event, by its name or by every field of its terms."""
    if event in pmu.events:
        return _is_count(pmu, event)
    return "=" in event and all(_fits(pmu, name, value) for name, value in terms_of(event).items())


def _fits(pmu: Pmu, field: str, value: str) -> bool:
    """Tell whether a PMU has a field for a value; kernels that do not know a processor give narrower fields."""
    if field not in pmu.formats:
        return False
    try:
        pmu.formats[field].place(read_number(value, field))
    except EventError:
        return False
    return True


def terms_of(event: str) -> Mapping[str, str]:
    """Return the fields of an event written as terms."""
    return {part.partition("=")[0]: part.partition("=")[2] for part in event.split(",")}


def raw_metric(kind: str, pmu: Pmu, event: str) -> Metric:
    """Make the rate of an event: in GB/s if its unit is bytes, else in its unit, else in millions per second."""
    known = pmu.events.get(event)
    unit, factor = _COUNTS
    if known is not None and known.unit:
        unit, factor = ("GB/s", "") if known.unit in BYTES else (f"{known.unit}/s", " * 1000000000")
    metric = metric_of(kind, event, unit, f"'{event}' / dt{factor}",
                       document=known.table if known is not None and known.table else _SYSFS)
    return metric if known is None or not known.description else replace(metric, help=one_line(known.description))


def typed_metric(units: UncoreUnits, text: str) -> Metric:
    """Make the metric of a typed event: a name, terms such as event=0x35,umask=0x1, or a name with terms.

    Raises:
        EventError: the PMU has no such event or field, or a value is no number or too large.
    """
    pmu = units.pmu
    event = text.strip().strip("/").rpartition("/")[2]
    if event in pmu.events and _is_count(pmu, event):
        return raw_metric(units.kind.id, pmu, event)
    named, comma, rest = event.partition(",")
    terms = terms_of(event)
    if named in pmu.events and _is_summable(pmu, named):
        terms = terms_of(rest) if comma else {}
        wanted = [name for name, value in terms_of(pmu.events[named].text).items() if value == "?"]
        missing = [name for name in wanted if name not in terms]
        if missing:
            example = ",".join((named, *(f"{name}=0x1" for name in wanted)))
            raise EventError(f"{pmu.name}: the event {named} needs {', '.join(missing)}; write {example}.")
    for name, value in terms.items():
        if name not in pmu.formats:
            fields = ", ".join(sorted(pmu.formats))
            raise EventError(f"{pmu.name} has no event and no field {name!r}; it has the fields {fields}.")
        pmu.formats[name].place(read_number(value, f"the field {name}"))
    return raw_metric(units.kind.id, pmu, event)
