"""Chooses the columns that are visible at the start of the dashboard."""

from __future__ import annotations

from collections.abc import Sequence

from turbotui.machine.topology import Topology
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import Scope


def starting_columns(defaults: Sequence[CounterColumn], topology: Topology) -> list[CounterColumn]:
    """Return the default columns without redundant ids, such as the die's where each package has one die."""
    repeated = {
        name
        for name, scope, other in (
            ("Core", Scope.CORE, Scope.CPU),
            ("Module", Scope.MODULE, Scope.CORE),
            ("L3", Scope.L3, Scope.PACKAGE),
            ("L3", Scope.L3, Scope.CORE),
            ("Die", Scope.DIE, Scope.PACKAGE),
            ("Node", Scope.NODE, Scope.PACKAGE),
        )
        if len(topology.instances(scope)) == len(topology.instances(other))
    }
    return [column for column in defaults if column.id not in repeated]
