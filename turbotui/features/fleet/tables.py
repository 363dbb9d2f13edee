"""The table of nodes: values with marks, reasons of unknown values, and the PromQL of each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from turbotui.features.fleet.columns import COLUMNS, HOUR, MEASURED, FleetColumn
from turbotui.features.fleet.model import FleetNode, FleetReading
from turbotui.features.fleet.outliers import duration
from turbotui.quantities.columns import Value
from turbotui.quantities.tables import Cell, CellEvidence, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable

FLEET: Final = "fleet"
"""The name of the table."""
_MEASURED: Final = frozenset(column.id for column in MEASURED)
_LIKE_OTHERS: Final = Unavailable(Reason.OUT_OF_RANGE, "nothing is odd about this node")
_NO_PAST: Final = Unavailable(Reason.NOT_READ, "the server has not answered yet, or has no such values of this node")
_NO_LABEL: Final = Unavailable(Reason.NOT_SET, "the node's series have no such label")
_NEEDS: Final = {
    "Ratio%": ("the node has no baseline, or no APERF and MPERF",
               "turbotui score baseline and turbotui score run on the node store one"),
    "nJ/instr": ("the node counts no instructions, no energy of its packages, or not all CPUs (a cpuset)",
                 "run its exporter where it may measure all CPUs"),
    "PkgWatt": ("the node counts no energy (no RAPL, or no right to read it), or not of all packages (a cpuset)",
                "run its exporter as root, where it may measure all CPUs"),
    "Bzy_MHz": ("the node has no APERF and MPERF (a virtual machine, or no right to read them)", ""),
    "Throttled%": ("the node does not tell how long heat held its packages back", ""),
    "CoreTmp": ("the node has no sensor of its cores", ""),
}


def fleet_table(reading: FleetReading, columns: Sequence[FleetColumn] = COLUMNS) -> RowTable[FleetNode]:
    """Make the table of a reading."""
    return RowTable(FLEET, "node", tuple(columns), tuple(reading.nodes), _judged, partial(_basis, reading))


def _judged(column: FleetColumn, node: FleetNode, value: Value) -> Cell:
    if value is not None:
        return Cell(value, why := node.lacks.get(column.id), partial=why is not None,
                    old=node.gone and column.id in _MEASURED)
    return Cell(None, _why(column, node))


def _why(column: FleetColumn, node: FleetNode) -> Unavailable:
    if column.id == "Why":
        return _LIKE_OTHERS
    if column.id == HOUR.id:
        return _NO_PAST
    if column.id not in _MEASURED:
        return _NO_LABEL
    if column.id in node.impossible:
        value = node.impossible[column.id]
        return Unavailable(Reason.OUT_OF_RANGE, f"the server's value is {value:g}, which no machine can have")
    if node.gone:
        return Unavailable(Reason.NOT_READ, "the node vanished before this program saw a value of it")
    detail, remedy = _NEEDS.get(column.id, ("the server has no such series of this node", ""))
    return Unavailable(Reason.NOT_READ, detail, remedy)


def _basis(reading: FleetReading, column: FleetColumn, node: FleetNode) -> CellEvidence:
    """Return the PromQL of a cell, the server that answered, and the nodes of the comparison."""
    query = reading.queries.get(column.id)
    findings = [finding for finding in node.findings if finding.column == column.id or column.id in {"Odd", "Why"}]
    remarks = [f"{finding.words}: {finding.basis}" for finding in findings]
    remarks += [node.peers] if node.peers else []
    if node.gone:
        age = "" if node.age is None else f", {duration(node.age)} ago"
        remarks.append(f"the node has vanished: this is the last value that was seen{age}")
    readings: list[tuple[str, ...]] = [] if query is None else [(f"answered by {reading.server}",)]
    labels = ", ".join(f'{name}="{value}"' for name, value in sorted(node.labels.items()))
    readings += [(f"labels: {labels}",)] if labels else []
    return CellEvidence((f"= {query}",) if query else (), tuple(readings), tuple(remarks))
