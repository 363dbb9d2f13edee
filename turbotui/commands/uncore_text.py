"""Panels of uncore PMUs as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from turbotui.analysis.uncore.board import Board, Reading
from turbotui.analysis.uncore.panels import Panel, Row
from turbotui.machine.host import HostKind
from turbotui.machine.machine import Machine
from turbotui.machine.uncore.fields import settings_said
from turbotui.quantities.uncore import Metric
from turbotui.sampling.frame import Frame

_NARROWEST = 8


def panel_lines(board: Board, panel: Panel, frame: Frame) -> list[str]:
    """A table with two lines of titles; `-` is unknown, `~` estimated, `*` a sum that lacks somebody."""
    metrics = board.shown(panel)
    lines = [["", *(one.heading[0] for one in metrics)], ["", *(one.heading[1] for one in metrics)]]
    reasons: list[str] = []
    for row in panel.rows:
        cells = [board.reading(frame, panel, row, one) for one in metrics]
        lines.append([row.label, *(_text(cell, one) for cell, one in zip(cells, metrics, strict=True))])
        reasons += [cell.why.sentence() for cell in cells if cell.value is None and cell.why is not None]
        said = filters_said(board, panel, row)
        if said:
            lines[-1].append(f"  {said}")
    wide = [max([_NARROWEST, *(len(line[at]) for line in lines)]) for at in range(len(metrics) + 1)]
    table = []
    for line in lines:
        head = line[0].ljust(wide[0])
        rest = (text.rjust(width) for text, width in zip(line[1:], wide[1:], strict=False))
        table.append(f"  {head}  {'  '.join(rest)}{''.join(line[len(wide):])}".rstrip())
    title = f"{panel.kind.title}: {panel.kind.what}" if panel.kind.what else panel.kind.title
    notes = [f"  - {reason}" for reason in dict.fromkeys(reasons)]
    return [f"{title} ({len(panel.units)} x {panel.kind.id})", *table, *notes]


def _text(cell: Reading, metric: Metric) -> str:
    if cell.value is None:
        return "-"
    return f"{cell.value:.{metric.decimals}f}{'~' if cell.estimated else ''}{'*' if cell.partial else ''}"


def filters_said(board: Board, panel: Panel, row: Row) -> str:
    """The filters of a row that are not at their defaults."""
    if row.is_sum:
        count = sum(bool(board.settings(unit.pmu.name)) for unit in row.units)
        return f"{count} of {len(row.units)} filtered" if count else ""
    return settings_said(panel.pmu, board.settings(row.units[0].pmu.name))


def report(board: Board, frame: Frame, machine: Machine) -> Mapping[str, object]:
    """One interval for scripts; every null has its reason beside it."""
    return {
        "machine": machine.host.name,
        "simulated": machine.host.kind is HostKind.SIMULATED,
        "seconds": frame.seconds,
        "panels": [
            {
                "kind": panel.kind.id,
                "title": panel.kind.title,
                "units": {one.key: one.unit for one in board.shown(panel)},
                "formulas": {one.key: one.formula.text for one in board.shown(panel)},
                "rows": [_row(board, panel, row, frame) for row in panel.rows],
            }
            for panel in board.panels
        ],
    }


def _row(board: Board, panel: Panel, row: Row, frame: Frame) -> dict[str, object]:
    cells = {one.key: board.reading(frame, panel, row, one) for one in board.shown(panel)}
    found: dict[str, object] = {
        "row": row.label,
        "package": None if row.package < 0 else row.package,
        "pmus": [unit.pmu.name for unit in row.units],
        "sum": row.is_sum,
        "values": {key: cell.value for key, cell in cells.items()},
    }
    if not row.is_sum and (settings := board.settings(row.units[0].pmu.name)):
        found["filters"] = dict(settings)
    marks: dict[str, object] = {
        "why": {key: cell.why.sentence() for key, cell in cells.items() if cell.why is not None},
        "estimated": [key for key, cell in cells.items() if cell.estimated],
        "partial": [key for key, cell in cells.items() if cell.partial],
    }
    return found | {word: mark for word, mark in marks.items() if mark}
