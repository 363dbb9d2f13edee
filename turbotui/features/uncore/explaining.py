"""Where one cell of a panel comes from: the formula with its numbers, events, encodings, PMU and scope."""

from __future__ import annotations

import re
from collections.abc import Mapping

from turbotui.events.uncore.discovery import UNKNOWN, UncoreUnit
from turbotui.events.uncore.fields import fields_of, settings_said
from turbotui.features.uncore.board import Board, Reading
from turbotui.features.uncore.panels import At, Row, UncoreUnits
from turbotui.features.uncore.ports import UNTOLD, PortMap
from turbotui.machine.cpulist import format_cpulist
from turbotui.quantities.uncore import ELAPSED, Metric
from turbotui.sampling.frame import Frame

_NAME = re.compile(r"'([^']+)'|[A-Za-z_][\w.]*", re.ASCII)
_UNITS_LISTED = 4  # of a sum; more would fill the window
_DEFAULTS = "filters: none set, everything is counted"


def said(metric: Metric, reading: Reading) -> str:
    """A value in a sentence: "640.0 ns", "—"."""
    return "—" if reading.value is None else f"{reading.value:,.{metric.decimals}f} {metric.unit}"


def with_numbers(formula: str, inputs: Mapping[str, float | None]) -> str:
    """A formula with its names replaced by their numbers of this interval."""

    def number(match: re.Match[str]) -> str:
        name = match[1] or match[0]
        value = inputs.get(name)
        return match[0] if name not in inputs else "—" if value is None else f"{value:,.0f}"

    return _NAME.sub(number, formula)


def explanation(board: Board, ports: PortMap, frame: Frame, at: At) -> list[str]:
    """The lines of the window."""
    panel, row, metric = at.panel, at.row, at.metric
    reading = board.reading(frame, panel, row, metric)
    lines = [f"{metric.what} [{metric.unit}] = {metric.formula}"]
    if reading.inputs:
        lines.append(f"    = {with_numbers(metric.formula, reading.inputs)}")
    lines.append(f"    = {said(metric, reading)}")
    if reading.why is not None:
        lines.append(f"unknown: {reading.why.sentence()}")
    if reading.estimated and reading.ran is not None:
        lines.append(
            f"estimated: there are more events than counters, so these ran {100 * reading.ran:.1f} % of the interval; "
            "counts are scaled by that"
        )
    if reading.partial:
        lines.append("partial: some of the units below gave no number, so the sum is too small")
    lines += ["", *_events(board, row, metric, reading)]
    if metric.together:
        lines.append("opened as one group, so that all of them counted in the same time")
    lines += ["", *_scope(panel, row, metric)]
    for unit in row.units[:_UNITS_LISTED]:
        lines += _unit(board, unit)
    if len(row.units) > _UNITS_LISTED:
        lines.append(f"... and {len(row.units) - _UNITS_LISTED} more like these")
    if not row.is_sum:
        lines += _ports(ports, row.units[0])
    lines += ["", f"follows {metric.document}"]
    interval = reading.inputs.get(ELAPSED)
    if interval is not None:
        lines.append(f"over {interval / 1e9:.6f} s by the counters' own clock (time_enabled), #{frame.seq}")
    return lines


def _events(board: Board, row: Row, metric: Metric, reading: Reading) -> list[str]:
    lines: list[str] = []
    for event in metric.needs:
        amount = reading.inputs.get(event)
        known = "—" if amount is None else f"{amount:,.0f}"
        lines.append(f"Δ{event} = {known}")
        encoded = board.encoded(row.units[0], event)
        if isinstance(encoded, str):
            lines.append(f"    {encoded}")
            continue
        attr = encoded.attr
        words = [f"type {attr.type}", f"config {attr.config:#x}"]
        words += [
            f"{name} {word:#x}"
            for name, word in (("config1", attr.config1), ("config2", attr.config2), ("config3", attr.config3))
            if word
        ]
        scale = ""
        if encoded.unit:
            right = board.scale(row.units[0], event)
            told = "" if right == encoded.scale else f" (this kernel says {encoded.scale:g}, wrongly)"
            scale = f", scale {right:g} {encoded.unit}{told}"
        lines.append(f"    perf {encoded.fstr}: {', '.join(words)}{scale}")
    return lines


def _scope(panel: UncoreUnits, row: Row, metric: Metric) -> list[str]:
    if not row.is_sum:
        return []
    where = "the machine" if row.package == UNKNOWN else f"package {row.package}"
    clocks = [event for event in metric.needs if metric.is_clock(event)]
    means = f"; {', '.join(clocks)} and the interval are averaged" if clocks else "; the interval is averaged"
    units = f"all {len(row.units)} {panel.kind.title} units of {where}"
    return [f"recomputed from the counts of {units}, added{means}; never a mean of ratios"]


def _unit(board: Board, unit: UncoreUnit) -> list[str]:
    place = "" if unit.package == UNKNOWN else f", package {unit.package}"
    place += "" if unit.die == UNKNOWN else f", die {unit.die}"
    near = f", for CPUs {format_cpulist(unit.near)}" if unit.near else ""
    lines = [f"{unit.path}   opened on cpu {unit.cpu}{place}{near}"]
    facts = [f"{word} {text}" for word, text in (("identifier", unit.identifier), ("peer", unit.peer)) if text]
    if facts:
        lines.append(f"    {', '.join(facts)}")
    settings = board.settings(unit.pmu.name)
    if settings:
        lines.append(f"    filters: {settings_said(unit.pmu, settings)}")
    elif fields_of(unit.pmu):
        lines.append(f"    {_DEFAULTS}")
    return lines


def _ports(ports: PortMap, unit: UncoreUnit) -> list[str]:
    if "_rc_" not in unit.pmu.name:
        return []
    if ports.untold:
        return [UNTOLD]
    lines: list[str] = []
    for port in ports.of(unit):
        lines.append(f"root port {port.number}: {port.name}")
        lines += [f"    {name}" for name in port.devices.values()]
    return lines or ["no root port says that it belongs to this root complex"]
