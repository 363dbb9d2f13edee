"""Scopes: the level of the machine to which a number belongs, and the kind of a row."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Scope(Enum):
    """Topology levels, finest first, by the word shown to people."""

    CPU = "cpu"
    CORE = "core"
    MODULE = "module"
    L3 = "l3"
    DIE = "die"
    NODE = "node"
    PACKAGE = "package"
    SYSTEM = "system"

    rank: int
    """The rank of a level, from 0 (CPU, the finest) up; NODE and PACKAGE nest either way, depending on the machine."""

    def __init__(self, _word: str) -> None:
        self.rank = len(type(self).__members__)

    # Members are singletons compared by identity. Enum's own hash is written in Python, and every look-up of a row
    # would call it.
    __hash__ = object.__hash__


class RowId(NamedTuple):
    """Names one row for the whole run of the program, whatever hot-plug does to positions.

    `key` is unique within its scope on the machine: `(cpu,)` for a CPU; `(package, die, core_id)` for a core, because
    sysfs repeats core ids in every package; `()` for the whole system.
    """

    scope: Scope
    key: tuple[int, ...]


SYSTEM_ROW = RowId(Scope.SYSTEM, ())


def cpu_row(cpu: int) -> RowId:
    """The row of one Linux logical CPU."""
    return RowId(Scope.CPU, (cpu,))
