"""Kinds of uncore PMU on a machine: their units, what can be shown of them, the rows that sum them by package."""

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
)
from turbotui.untrusted import one_line

_FIRST_EVENTS = 4
"""Events shown of a kind of PMU of which nothing is derived, until a person chooses."""
_CLOCK = "GHz"
TRAFFIC: Final = frozenset({"GB/s", "M/s", "1/cycle"})
"""What units can take more or less of; clocks, latencies and shares of hits are no load."""
MACHINE: Final = "machine Σ"
"""Label of the sum over all packages."""
_SYSFS = "the PMU's events in sysfs"
_COUNTS = ("M/s", " * 1000")  # a count in a ns is a thousand million a second


@dataclass(frozen=True)
class UncoreUnits:
    """One kind of PMU.

    Attributes:
        units: by package, die and number.
        metrics: what can be derived here: all its events are there.
        raw: the events that the kernel names, as rates.
        edges: what of it stands on the map of traffic.
    """

    kind: UncoreKind
    units: tuple[UncoreUnit, ...]
    metrics: tuple[Metric, ...]
    raw: tuple[Metric, ...]
    edges: tuple[EdgeRow, ...] = ()

    @property
    def pmu(self) -> Pmu:
        """The PMU of the first unit; all of a kind have the same events and fields."""
        return self.units[0].pmu

    @property
    def starting(self) -> tuple[Metric, ...]:
        """The metrics that are shown until a person chooses others."""
        return tuple(one for one in self.metrics if not one.chosen) or self.raw[:_FIRST_EVENTS]

    @property
    def no_peak(self) -> str:
        """Why nothing of the kind is held against a peak; "" where something is, and where nothing is derived."""
        loads = any(one.scale is PERCENT for one in self.metrics)
        return "" if loads or not self.metrics else self.kind.no_peak

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """A sum for the machine where it has several packages, one for each package, and the units of each after it."""
        found: list[Row] = []
        packages = dict.fromkeys(unit.package for unit in self.units)
        if len(packages) > 1:
            found.append(Row(f"{self.kind.id}.machine", MACHINE, self.units, UNKNOWN))
        for package in packages:
            members = tuple(unit for unit in self.units if unit.package == package)
            where = "" if package == UNKNOWN else f"pkg {package}"
            if len(members) > 1:
                found.append(Row(f"{self.kind.id}.{package}", f"{where} Σ".strip(), members, package))
            parent = found[-1].key if len(members) > 1 else None
            found += [Row(unit.key, label_of(unit, members), (unit,), package, parent) for unit in members]
        return tuple(found)

    def find(self, package: int) -> tuple[UncoreUnit, ...]:
        """The units of one package."""
        return tuple(unit for unit in self.units if unit.package == package)


@dataclass(frozen=True, slots=True)
class Row:
    """A unit, or the units of a package together.

    Attributes:
        key: names the row in every interval.
        label: for people, in a few characters.
        units: one, or those that are added.
        package: that they lie in.
        parent: key of the sum that a unit is part of; None where there is none.
    """

    key: str
    label: str
    units: tuple[UncoreUnit, ...]
    package: int
    parent: str | None = None

    @property
    def is_sum(self) -> bool:
        """Whether the row is a sum of several units."""
        return len(self.units) > 1

    @property
    def is_machine(self) -> bool:
        """Whether it is the sum of all packages, which are not folded below it."""
        return self.label == MACHINE


def label_of(unit: UncoreUnit, around: Sequence[UncoreUnit]) -> str:
    """A unit in a few characters: its package where it is alone there, else its number, die or CPU too."""
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
    """The kinds of a machine, in the order of `kind_order` and then of the names of what is not there."""
    by_kind: dict[str, list[UncoreUnit]] = {}
    for unit in find_units(machine):
        by_kind.setdefault(unit.kind, []).append(unit)
    order = kind_order()
    names = sorted(by_kind, key=lambda name: (order.get(name, len(order)), name))
    model, tiers = machine.model, memory_tiers(machine.host)
    processor = "" if model.model is None else f"{model.vendor}-{model.family}-{model.model:X}"
    return tuple(_units_of(kind_of(name), tuple(by_kind[name]), processor, tiers) for name in names)


def _units_of(kind: UncoreKind, units: tuple[UncoreUnit, ...], processor: str, tiers: frozenset[str]) -> UncoreUnits:
    pmu = units[0].pmu
    fitting = [replace(one, chosen=False) if one.tier and tiers.issuperset(one.tier.split()) else one
               for one in metrics_of(kind.id, processor) if all(can_count(pmu, name) for name in one.needs)]
    absent = {one.what for one in fitting if one.tier and one.chosen}
    edges = tuple(edge for edge in edges_of(kind.id, processor) if absent.isdisjoint((edge.inward, edge.outward)))
    fitting.sort(key=lambda one: one.unit == _CLOCK)  # what moves is looked for first, how fast its clock is last
    raw = tuple(raw_metric(kind.id, pmu, name) for name in pmu.events if _is_count(pmu, name))
    return UncoreUnits(kind, units, tuple(fitting), raw, edges)


def _is_count(pmu: Pmu, event: str) -> bool:
    """Whether an event is a running count of known scale that needs no parameter."""
    return _is_summable(pmu, event) and "?" not in pmu.events[event].text


def _is_summable(pmu: Pmu, event: str) -> bool:
    """Whether an event is a running count of known scale, with the parameters that it needs."""
    found = pmu.events[event]
    return math.isfinite(found.scale) and not is_meaningless(pmu.name, event) and not found.snapshot


def can_count(pmu: Pmu, event: str) -> bool:
    """Whether a PMU has an event: by its name, or every field of its terms."""
    if event in pmu.events:
        return _is_count(pmu, event)
    return "=" in event and all(_fits(pmu, name, value) for name, value in terms_of(event).items())


def _fits(pmu: Pmu, field: str, value: str) -> bool:
    """Whether a PMU has a field that can hold a value: kernels that do not know a processor give it narrower ones."""
    if field not in pmu.formats:
        return False
    try:
        pmu.formats[field].place(read_number(value, field))
    except EventError:
        return False
    return True


def terms_of(event: str) -> Mapping[str, str]:
    """The fields of an event written as terms."""
    return {part.partition("=")[0]: part.partition("=")[2] for part in event.split(",")}


def raw_metric(kind: str, pmu: Pmu, event: str) -> Metric:
    """One event as a rate: in GB/s where its unit file says bytes, in that file's unit, else in millions a second."""
    known = pmu.events.get(event)
    unit, factor = _COUNTS
    if known is not None and known.unit:
        unit, factor = ("GB/s", "") if known.unit in BYTES else (f"{known.unit}/s", " * 1000000000")
    metric = metric_of(kind, event, unit, f"'{event}' / dt{factor}",
                       document=known.table if known is not None and known.table else _SYSFS)
    return metric if known is None or not known.description else replace(metric, help=one_line(known.description))


def typed_metric(units: UncoreUnits, text: str) -> Metric:
    """An event that a person typed: a name, terms such as event=0x35,umask=0x1, or a name with terms after it.

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
