"""Moments whose numbers a test makes, on the topology of a simulated machine."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from watched_machines import frames_of_machine

from turbotui.diagnosis.rules import JudgedFrame, LookResults
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.sampling.frame import Frame


@functools.cache
def frames(shape: str, intervals: int = 1, measured: int | None = None,
           seconds: float = 1.0) -> tuple[Frame, ...]:
    """Yield frames of a machine with few readings and a given number of CPUs; the first one has no interval."""
    cpus = None if measured is None else frozenset(range(measured))
    return tuple(frames_of_machine(shape, intervals, columns=("Load%",), cpus=cpus, seconds=seconds)[1])


@dataclass(frozen=True)
class MadeFrame(JudgedFrame):
    """Columns with given numbers, for the whole machine and for each CPU.

    Attributes:
        whole: of the whole machine.
        cpus: by the number of the CPU.
        words: texts by the number of the CPU.
        lacks: a column that the machine cannot have.
    """

    whole: Mapping[ColumnId, float] = field(default_factory=dict)
    cpus: Mapping[ColumnId, Mapping[int, float]] = field(default_factory=dict)
    words: Mapping[ColumnId, Mapping[int, str]] = field(default_factory=dict)
    lacks: ColumnId = ""

    def can(self, name: ColumnId) -> bool:
        return name != self.lacks and super().can(name)

    def number(self, *names: ColumnId, row: RowId = SYSTEM_ROW) -> float | None:
        for name in names:
            result = self.whole.get(name) if row == SYSTEM_ROW else self.cpus.get(name, {}).get(row.key[0])
            if result is not None:
                return result
        return None

    def numbers(self, *names: ColumnId, scope: Scope = Scope.CPU) -> Mapping[RowId, float]:
        result = next((self.cpus[name] for name in names if name in self.cpus), {})
        return {cpu_row(cpu): number for cpu, number in result.items()}

    def texts(self, name: ColumnId, scope: Scope = Scope.CPU) -> Mapping[RowId, str]:
        return {cpu_row(cpu): text for cpu, text in self.words.get(name, {}).items()}


def made(shape: str = "guest", *, whole: Mapping[ColumnId, float] | None = None,
         cpus: Mapping[ColumnId, Mapping[int, float]] | None = None,
         words: Mapping[ColumnId, Mapping[int, str]] | None = None, seen: LookResults | None = None,
         lacks: ColumnId = "", measured: int | None = None, seconds: float = 1.0) -> MadeFrame:
    """A moment with these numbers, and no others."""
    frame = frames(shape, measured=measured, seconds=seconds)[-1]
    return MadeFrame(frame, catalog_for(frame.capabilities.signals), seen=seen or LookResults(), whole=whole or {},
                     cpus=cpus or {}, words=words or {}, lacks=lacks)
