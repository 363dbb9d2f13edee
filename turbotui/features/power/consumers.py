"""The consumers of a machine's power, by kind, and which contains which.

| consumer | its figure | inside |
|---|---|---|
| package | RAPL, PkgWatt | |
| cores | RAPL, CorWatt of a package | the package (Intel SDM vol. 3 16.10.1: PP0 is a part of it) |
| graphics | RAPL, GFXWatt | the package (PP1 likewise); hwmon of i915 and xe is of discrete cards alone |
| memory | RAPL, RAMWatt | none; the package where memory is on it (`_MEMORY_ON_PACKAGE`) |
| others | `quantities.meters.KINDS` | as that table says |
| platform | RAPL, SysWatt (psys) | holds all of them |
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.catalog.meters import power_columns
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.meters import PACKAGE, PowerMeter, WattPlace, meters_of
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame

_BY_A_PERSON: Final = frozenset({Reason.NOT_PERMITTED, Reason.NO_DESCRIPTORS})
"""Reasons for which a missing figure is listed, because other users can read it; with its remedy."""

_UNMEASURED: Final = Unavailable(Reason.NOT_READ, "none of its CPUs is measured", "leave out --cpu")
_MEMORY_ON_PACKAGE: Final = frozenset({(6, 0xBD)})
"""Family and model of processors whose DRAM is on the package and within its limits: Core Ultra 200V (Intel's datasheet
of the series: the base power of 17 W includes the memory on the package)."""


class BalanceRole(Enum):
    """Kinds of rows of the balance; the value is the word that people read."""

    COUNTED = "counted"
    INSIDE = "inside"
    PLATFORM = "platform"
    SUM = "sum"
    ELSEWHERE = "elsewhere"
    NO_WATTS = "no watts"


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer of power, or a figure of the whole machine."""

    name: str  # the consumer's name
    kind: str  # a word of `KINDS`, or "package", "cores", "graphics", "memory", "psys", "sum", "elsewhere"
    words: str  # the device as its driver names it, or a description of the figure
    role: BalanceRole  # whether its watts are added up
    watts: float | None  # in the interval; None if unknown
    why: Unavailable | None = None  # the reason for that None
    inside: str = ""  # the consumer whose figure contains this one's; "" for none
    # the cell with this figure, for explanations; None if there is none
    target: tuple[CounterColumn, RowId] | None = None
    averaged: float | None = None  # seconds over which the device averages, if it tells
    age: float | None = None  # seconds since the device was read, or its numbers changed
    busy: float | None = None  # percent of the interval for which the device worked, for devices that tell only that
    clock: float | None = None  # MHz, for such devices


def why_no_power(capabilities: Capabilities, catalog: Catalog) -> Unavailable | None:
    """Return why neither RAPL nor a meter tells of power; None if one does, or would tell another user."""
    whys = [next((capabilities.why_missing(name) for name in column.needs if name not in capabilities.signals), None)
            for column in power_columns(catalog.columns)]
    listed = any(why is None or why.reason in _BY_A_PERSON for why in whys)
    return None if listed else capabilities.why_missing("energy.pkg")


def consumers_of(frame: Frame, catalog: Catalog, model: tuple[int | None, int | None]) -> tuple[Consumer, ...]:
    """Return all consumers in an interval, outer ones before inner ones."""
    meters = meters_of(frame.capabilities.signals)
    processor = [*_packages(frame, catalog, model)]
    known = {consumer.kind for consumer in processor if consumer.watts is not None}
    devices = [device for meter in meters for device in _device(frame, catalog, meter, meters,
                                                                has_package=PACKAGE in known)]
    platform = _rapl(frame, catalog, "SysWatt", SYSTEM_ROW)
    psys = [] if platform is None else [Consumer(
        "psys", "psys", "the platform, by RAPL", BalanceRole.PLATFORM, platform.watts, platform.why,
        target=platform.target)]
    return (*processor, *(device for device in devices if device.role is not BalanceRole.PLATFORM), *psys,
            *(device for device in devices if device.role is BalanceRole.PLATFORM))


@dataclass(frozen=True, slots=True)
class _Figure:
    watts: float | None
    why: Unavailable | None
    target: tuple[CounterColumn, RowId]


def _rapl(frame: Frame, catalog: Catalog, name: ColumnId, row: RowId) -> _Figure | None:
    """Return a column's figure; None if the machine cannot have such a column."""
    if (column := catalog.get(name)) is None:
        return None
    if frame.can(column):
        return _figure(frame, column, row)
    why = frame.why(column, row)
    return None if why is None or why.reason not in _BY_A_PERSON else _Figure(None, why, (column, row))


def _figure(frame: Frame, column: CounterColumn, row: RowId) -> _Figure:
    value = frame.cell(column, row)
    if isinstance(value, int | float):
        return _Figure(float(value), None, (column, row))
    return _Figure(None, frame.why(column, row), (column, row))


def _packages(frame: Frame, catalog: Catalog, model: tuple[int | None, int | None]) -> Iterator[Consumer]:
    rows, topology = frame.rows(Scope.PACKAGE), frame.topology
    for row in rows:
        number = f" {row.key[0]}" if topology.has_several(Scope.PACKAGE) else ""
        whole = f"package{number}"
        for name, word, kind, words in (
            ("PkgWatt", whole, PACKAGE, "cores, caches, fabric"), ("CorWatt", f"cores{number}", "cores", "all cores"),
            ("GFXWatt", f"graphics{number}", "graphics", "graphics in the package"),
            ("RAMWatt", f"memory{number}", "memory", "DRAM"),
        ):
            figure = _rapl(frame, catalog, name, row)
            if figure is None or (figure.why is not None and figure.why.reason is Reason.NO_HARDWARE):
                continue
            held = kind in {"cores", "graphics"} or (kind == "memory" and model in _MEMORY_ON_PACKAGE)
            role = BalanceRole.INSIDE if held else BalanceRole.COUNTED
            yield Consumer(word, kind, words, role, figure.watts, figure.why, whole if held else "", figure.target)
    if _rapl(frame, catalog, "PkgWatt", SYSTEM_ROW) is not None:
        measured = {topology.places[cpu].package for cpu in topology.cpus}
        for label in sorted(topology.ids.get(Scope.PACKAGE, frozenset()) - measured):
            yield Consumer(f"package {label}", PACKAGE, "none measured", BalanceRole.COUNTED, None, _UNMEASURED)


def _device(frame: Frame, catalog: Catalog, meter: PowerMeter, meters: tuple[PowerMeter, ...], *,
            has_package: bool) -> Iterator[Consumer]:
    def number(suffix: str) -> float | None:
        column = catalog.get(f"{meter.column}{suffix}")
        value = None if column is None else frame.cell(column, SYSTEM_ROW)
        return float(value) if isinstance(value, int | float) else None

    name, kind = meter.column, meter.kind
    if kind.id == "npu":
        column = catalog.get(f"{name}%") or catalog.get(f"{name}MHz")
        if column is not None:
            figure = _figure(frame, column, SYSTEM_ROW)
            yield Consumer(name, kind.id, meter.label, BalanceRole.NO_WATTS, None,
                           Unavailable(Reason.NO_HARDWARE, f"{meter.label} tells its time and clock, no watts"),
                           target=figure.target, busy=number("%"), clock=number("MHz"))
        return
    column = catalog.get(f"{name}Watt")
    if column is None or kind.place is WattPlace.NOTHING:
        return
    figure = _figure(frame, column, SYSTEM_ROW)
    inside = _container(meter, meters, has_package=has_package)
    role = BalanceRole.INSIDE if inside else BalanceRole.COUNTED
    if kind.place is WattPlace.PLATFORM:
        role = BalanceRole.PLATFORM
    yield Consumer(name, kind.id, meter.label, role, figure.watts, figure.why, inside, figure.target, meter.interval,
                   frame.inputs(SYSTEM_ROW).value(meter.signal("age")) if "age" in meter.quantities else None)


def _container(meter: PowerMeter, meters: tuple[PowerMeter, ...], *, has_package: bool) -> str:
    """Return the name of the consumer that contains a meter's watts; a containing meter is of the same socket."""
    for kind in meter.kind.inside:
        if kind == PACKAGE and has_package:
            return PACKAGE
        for other in meters:
            if other.kind.id == kind and other.number == meter.number:
                return other.column
    return ""
