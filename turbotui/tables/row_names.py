"""Names of rows of the CPU table and of topology levels."""

from __future__ import annotations

from turbotui.machine.topology import Topology
from turbotui.quantities.scope import RowId, Scope

_SCOPE_WORDS = {Scope.L3: "L3", Scope.SYSTEM: "whole machine"}


def scope_word(scope: Scope) -> str:
    """The name of a scope, as people write it."""
    word: str = scope.value
    return _SCOPE_WORDS.get(scope, word)


def row_name(topology: Topology, row: RowId, *, inside: bool = False) -> str:
    """The name of a row, with enclosing ids only where they are needed: "core 17", "cpu 3".

    Args:
        inside: whether the row is shown within its package, so that the package need not be named.
    """
    if row.scope is Scope.SYSTEM:
        return "whole machine"
    chiplet = topology.chiplets.get(row.key) if row.scope is Scope.L3 else None
    if chiplet is not None:  # numbered within each package
        return chiplet if inside or not topology.varies(Scope.PACKAGE) else f"{chiplet} of package {row.key[0]}"
    instance = topology.instance(row)
    if instance is not None and instance.label < 0:
        # not numbered by the machine: an island without a level 3 cache, a board without packages
        return f"{scope_word(row.scope)} of cpu {instance.cpus[0]}" if row.scope is not Scope.L3 else "no L3"
    return f"{scope_word(row.scope)} {row.key[-1] if instance is None else instance.label}"
