"""The evidence of uncore cells: numbers in the formula, events, encodings, PMU and scope."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from turbotui.events.uncore.discovery import UNKNOWN, UncoreUnit
from turbotui.events.uncore.fields import fields_of, settings_in_words
from turbotui.features.uncore.counters import Reading, UncoreCounters
from turbotui.features.uncore.kinds import TRAFFIC, UncoreUnits, UnitRow
from turbotui.features.uncore.ports import PORTS_UNKNOWN, PortMap
from turbotui.machine.cpulist import format_cpulist
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.tables import CellEvidence
from turbotui.quantities.uncore import ELAPSED, Metric, filter_of
from turbotui.quantities.verification import held_against

_NAME = re.compile(r"'([^']+)'|[A-Za-z_][\w.]*", re.ASCII)
_UNITS_LISTED = 4  # units of a sum; more would fill the window
_MANY = "there are more events than counters"
_FILTERED = "a unit has one register that picks requests for all counters: events with other settings are multiplexed"
_DEFAULTS = "filters: none set, everything is counted"
_OWN = "filters: those of the events alone"


def with_numbers(formula: str, inputs: Mapping[str, float | None]) -> str:
    """Return a formula with names replaced by their numbers of this interval."""

    def number(match: re.Match[str]) -> str:
        name = match[1] or match[0]
        value = inputs.get(name)
        return match[0] if name not in inputs else "—" if value is None else f"{value:,.0f}"

    return _NAME.sub(number, formula)


def evidence_of(counters: UncoreCounters, kind: UncoreUnits, row: UnitRow, metric: Metric, reading: Reading, *,
                ports: PortMap | None) -> CellEvidence:
    """Return the evidence of a number: its events, the units that counted them, and how.

    Args:
        ports: the machine's root ports; None if they were not read.
    """
    arithmetic = [f"= {metric.formula}"]
    if reading.inputs:
        named = {metric.vendor.get(name, name): amount for name, amount in reading.inputs.items()}
        arithmetic.append(f"= {with_numbers(metric.formula, named)}")
    filtered = any(filter_of(event) for event in metric.needs)
    units = [_unit(counters, unit, _OWN if filtered else _DEFAULTS) for unit in row.units[:_UNITS_LISTED]]
    if len(row.units) > _UNITS_LISTED:
        units.append((f"... and {len(row.units) - _UNITS_LISTED} more like these",))
    if ports is not None and not row.is_sum:
        units += _ports(ports, row.units[0])
    events = [_event(counters, row, event, reading, metric.vendor.get(event, event)) for event in metric.needs]
    remarks = (*unapplied_of(counters, row, metric), *_remarks(kind, row, metric, reading))
    return CellEvidence(tuple(arithmetic), (*events, *units), remarks)


def unapplied_of(counters: UncoreCounters, row: UnitRow, metric: Metric) -> Iterator[str]:
    """Return sentences about the filters of a row that the kernel does not apply to a column's events."""
    unapplied = lists_by_key(
        (fields, metric.vendor.get(event, event)) for event in metric.needs
        if not metric.is_clock(event) and (fields := counters.unapplied(row.units[0], event)))
    for fields, events in unapplied.items():
        yield f"the kernel does not apply {', '.join(fields)} to {', '.join(events)}: everything is counted of that"


def _remarks(kind: UncoreUnits, row: UnitRow, metric: Metric, reading: Reading) -> Iterator[str]:
    if reading.estimated and reading.ran is not None:
        why = _FILTERED if any(filter_of(event) for event in metric.needs) else _MANY
        yield f"its events ran {100 * reading.ran:.1f} % of the interval, as {why}; counts are scaled by that"
    if reading.partial:
        yield "some of the units gave no number, so the sum is too small"
    if metric.together:
        yield "opened as one group, so that all of them counted in the same time"
    if row.is_sum:
        where = "the machine" if row.package == UNKNOWN else f"package {row.package}"
        clocks = [metric.vendor.get(event, event) for event in metric.needs if metric.is_clock(event)]
        means = f"; {', '.join(clocks)} and the interval are averaged" if clocks else "; the interval is averaged"
        units = f"all {len(row.units)} {kind.kind.title} units of {where}"
        brought = " (each brought to the mean interval)" if ELAPSED in metric.expression.names else ""
        yield f"recomputed from the counts of {units}, added{brought}{means}; never a mean of ratios"
    if kind.no_peak and metric.unit in TRAFFIC:
        yield f"held against no peak: {kind.no_peak}"
    if held := held_against("pmu", kind.table):
        yield held
    if (interval := reading.inputs.get(ELAPSED)) is not None:
        yield f"over {interval / 1e9:.6f} s by the counters' own clock (time_enabled)"


def _event(counters: UncoreCounters, row: UnitRow, event: str, reading: Reading, name: str) -> tuple[str, ...]:
    """Describe the increase of an event, and its encoding."""
    amount = reading.inputs.get(event)
    counted = f"Δ{name} = {'—' if amount is None else f'{amount:,.0f}'}"
    encoded = counters.encoded(row.units[0], event)
    if isinstance(encoded, str):
        return counted, encoded
    attr = encoded.attr
    words = [f"type {attr.type}", f"config {attr.config:#x}"]
    words += [
        f"{name} {word:#x}"
        for name, word in (("config1", attr.config1), ("config2", attr.config2), ("config3", attr.config3))
        if word
    ]
    scale = ""
    if encoded.unit:
        right = counters.scale(row.units[0], event)
        warning = "" if right == encoded.scale else f" (this kernel says {encoded.scale:g}, wrongly)"
        scale = f", scale {right:g} {encoded.unit}{warning}"
    return counted, f"perf {encoded.fstr}: {', '.join(words)}{scale}"


def _unit(counters: UncoreCounters, unit: UncoreUnit, unset: str) -> tuple[str, ...]:
    """Describe a unit's position and filters; `unset` without filters."""
    place = "" if unit.package == UNKNOWN else f", package {unit.package}"
    place += "" if unit.die == UNKNOWN else f", die {unit.die}"
    near = f", for CPUs {format_cpulist(unit.near)}" if unit.near else ""
    lines = [f"{unit.path}   opened on cpu {unit.cpu}{place}{near}"]
    facts = [f"{word} {text}" for word, text in (("identifier", unit.identifier), ("peer", unit.peer)) if text]
    if facts:
        lines.append(", ".join(facts))
    if settings := counters.settings(unit.pmu.name):
        lines.append(f"filters: {settings_in_words(unit.pmu, settings)}")
    elif fields_of(unit.pmu):
        lines.append(unset)
    return tuple(lines)


def _ports(ports: PortMap, unit: UncoreUnit) -> list[tuple[str, ...]]:
    if "_rc_" not in unit.pmu.name:
        return []
    if ports.lacks_positions:
        return [(PORTS_UNKNOWN,)]
    ports_of = [(f"root port {port.number}: {port.name}", *port.devices.values()) for port in ports.of(unit)]
    return ports_of or [("no root port says that it belongs to this root complex",)]
