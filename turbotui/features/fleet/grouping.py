"""Groups nodes by a label: how many are odd, and their combined values."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.features.fleet.model import FleetNode, Oddity
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.sentences import several
from turbotui.quantities.tables import Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable

BY_LABEL: Final = "fleet_groups"
"""The name of the table."""


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """The nodes with one value of a label."""

    name: str  # the value; "" for nodes without the label
    nodes: Sequence[FleetNode]  # the oddest first

    def numbers(self, column: str) -> list[float]:
        """Return the known values of live nodes."""
        return [node.values[column] for node in self.nodes if not node.gone and column in node.values]

    def lacks(self, column: str) -> Unavailable | None:
        """Return why a combined value is not of all nodes; None if it is."""
        without = [node.name for node in self.nodes if node.gone or column not in node.values]
        if not without:
            return None
        some = f"{several(len(without), 'node')} of {len(self.nodes)}"
        return Unavailable(Reason.NOT_READ, f"{some} without a value now, {without[0]} first")


GroupColumn: TypeAlias = Column[NodeGroup]


def _over(column: str, reduce: Callable[[list[float]], float]) -> Callable[[NodeGroup], Value]:
    def compute(group: NodeGroup) -> Value:
        values = group.numbers(column)
        return reduce(values) if values else None

    return compute


def _column(title: str, unit: str, compute: Callable[[NodeGroup], Value], help_text: str,
            decimals: int = 0) -> GroupColumn:
    return Column(title, unit, decimals, (), compute, help=help_text)


GROUP_COLUMNS: Final[tuple[GroupColumn, ...]] = (
    Column("Group", "", -1, (), lambda group: group.name or "(no such label)", width=20, priority=0, identity=True,
           help="The value of the label."),
    _column("Nodes", "", lambda group: len(group.nodes), "Nodes that have it."),
    _column("OddNodes", "", lambda group: sum(bool(node.findings) for node in group.nodes),
            "How many of them are odd."),
    _column("Gone", "", lambda group: sum(node.gone for node in group.nodes), "How many have no samples any more."),
    _column("Busy%", "%", _over("Busy%", statistics.fmean), "Mean of the nodes.", 1),
    _column("Bzy_MHz", "MHz", _over("Bzy_MHz", statistics.median), "Median of the nodes."),
    _column("CoreTmp", "°C", _over("CoreTmp", max), "The hottest node."),
    _column("Throttled%", "%", _over("Throttled%", max), "The most throttled node.", 1),
    _column("PkgWatt", "W", _over("PkgWatt", sum), "Power of all nodes together."),
    Column("Oddest", "", -1, (), lambda group: next(
        (f"{node.name}: {node.why}" for node in group.nodes if node.findings), None), width=40, priority=2,
        help="The oddest node, and the reason."),
)


def by_label(nodes: Iterable[FleetNode], label: str) -> list[NodeGroup]:
    """Group nodes by the value of a label, the group with the oddest node first."""
    by_label = lists_by_key((node.labels.get(label, ""), node) for node in nodes)
    groups = [NodeGroup(name, members) for name, members in by_label.items()]
    return sorted(groups, key=lambda group: (-max(node.odd for node in group.nodes), group.name))


def group_table(groups: Sequence[NodeGroup]) -> RowTable[NodeGroup]:
    """Make the table of groups."""
    return RowTable(BY_LABEL, "group", GROUP_COLUMNS, tuple(groups), _judged)


def _judged(column: GroupColumn, group: NodeGroup, value: Value) -> Cell:
    if column.id not in _REDUCED:
        return Cell(value, None if value is not None else _NOTHING_ODD)
    lacks = group.lacks(column.id)
    return Cell(value, lacks, partial=value is not None and lacks is not None)


_NOTHING_ODD: Final = Unavailable(Reason.OUT_OF_RANGE, "nothing is odd about these nodes")
_REDUCED: Final[Mapping[str, Callable[[list[float]], float]]] = {
    "Busy%": statistics.fmean, "Bzy_MHz": statistics.median, "Ratio%": min, "CoreTmp": max, "Throttled%": max,
    "PwrLimit%": max, "PkgWatt": sum, "nJ/instr": statistics.median, "IPC": statistics.median, "CPUs": sum,
}
"""The functions that combine the values of a group's nodes."""


def group_row(group: NodeGroup) -> FleetNode:
    """Make a group's row in the table of nodes: means, sums and extremes, and the oddest node."""
    values = {name: float(reduce(numbers)) for name, reduce in _REDUCED.items() if (numbers := group.numbers(name))}
    odd = [node for node in group.nodes if node.findings]
    many = len(group.nodes)
    summary = f"{len(odd)} of {many} nodes, {odd[0].name} first" if odd else ""
    findings = (Oddity("", summary, odd[0].odd),) if odd else ()
    name = f"{group.name or '(no such label)'} · {many}"
    lacks = {column: why for column in values if (why := group.lacks(column)) is not None}
    return FleetNode(name, {}, values, findings=findings, members=many, lacks=lacks)
