"""Scopes: where in the machine a number belongs. Also the kind of a row."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Scope(Enum):
    """Topology levels, finest first. The value is the word shown to people."""

    CPU = "cpu"
    CORE = "core"
    MODULE = "module"
    L3 = "l3"
    DIE = "die"
    NODE = "node"
    PACKAGE = "package"
    SYSTEM = "system"

    rank: int
    """0 for the finest (CPU), growing with coarseness. NODE and PACKAGE nest either way, machine by machine."""

    def __init__(self, _word: str) -> None:
        self.rank = len(type(self).__members__)

    # Members are singletons compared by identity. Enum has a hash written in Python, which every look-up of a row
    # would call.
    __hash__ = object.__hash__


class RowId(NamedTuple):
    """Names one row for as long as the program runs, whatever hot-plug does to positions.

    `key` is unique within its scope on the machine: `(cpu,)` for a CPU; `(package, die, core_id)` for a core, because
    sysfs repeats core ids in every package; `()` for the whole system. See `machine.topology` for every scope.
    """

    scope: Scope
    key: tuple[int, ...]


SYSTEM_ROW = RowId(Scope.SYSTEM, ())


def cpu_row(cpu: int) -> RowId:
    """The row of one Linux logical CPU."""
    return RowId(Scope.CPU, (cpu,))
