"""Counters of a program's regions on one core type, with multiplexed event sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from turbotui.counting.commands import CommandCounters
from turbotui.counting.totals import difference, scaled
from turbotui.dataclass import dataclass
from turbotui.features.tasks.marking_processes import MarkingProcesses
from turbotui.machine.core_metrics import CountedCoreType
from turbotui.machine.host import PerfAttr
from turbotui.quantities.joined_sets import SetInterval
from turbotui.quantities.metric_definitions import MetricEvent, plan_sets

Counters: TypeAlias = "CommandCounters | MarkingProcesses"
_CYCLES, _INSTRUCTIONS = 0, 1  # PERF_COUNT_HW_*
_HYBRID_SHIFT: Final = 32  # PERF_PMU_TYPE_SHIFT


@dataclass(frozen=True, slots=True)
class KindChange:
    """Counts of one core type between two readings: instructions, possibly cycles, and the active set's events."""

    base: Sequence[float]
    at: int
    interval: SetInterval | None
    estimated: bool


class KindCounters:
    """The counters of one kind of core.

    Args:
        core_type: what counts operations; None: instructions and cycles only.
        first: position of its first group: instructions with cycles; its sets follow.
        scaled: whether a count is brought to the time in which the command ran. Where there are several kinds a counter
            also stands while the command is on another one.
    """

    def __init__(self, core_type: CountedCoreType | None, first: int, pmu: int, *, scaled: bool,
                 cycles: bool = True) -> None:
        self.core_type = core_type
        self._cycles = cycles
        self.sets: tuple[tuple[MetricEvent, ...], ...] = () if core_type is None else plan_sets(core_type.definition)
        self.first = first
        self._pmu = pmu
        self._scaled = scaled
        self.at = 0
        self._seen: dict[int, Sequence[int]] = {}

    def attrs(self) -> list[list[PerfAttr]]:
        """The event groups to open; each begins with instructions, by which the sets are joined."""
        shift, core_type = self._pmu << _HYBRID_SHIFT, self.core_type
        cycles = [PerfAttr(0, _CYCLES | shift)] if self._cycles else []
        if core_type is None:
            return [[PerfAttr(0, _INSTRUCTIONS | shift), *cycles]]
        reference = core_type.attr(MetricEvent("instructions", core_type.definition.instructions, "retired"))
        several = [reference] if len(self.sets) > 1 else []
        return [[reference, *cycles], *([*several, *map(core_type.attr, events)] for events in self.sets)]

    def begin(self, counters: Counters) -> None:
        """Enable the base events and the first set."""
        positions = range(self.first, self.first + 1 + len(self.sets))
        for position in positions[:2]:
            counters.enable(position)
        self._seen = {position: counters.read_set(position) for position in positions}

    def read(self, counters: Counters, seconds: float, *, rotate: bool) -> KindChange:
        """Read the counts since the last call; with `rotate`, enable the next set."""
        base, estimated = self._changes(counters, self.first)
        if not self.sets:
            return KindChange(base, 0, None, estimated)
        at, position = self.at, self.first + 1 + self.at
        values, stood = self._changes(counters, position)
        several = len(self.sets) > 1
        instructions = values.pop(0) if several else base[0]
        counts = {event.key: value for event, value in zip(self.sets[at], values, strict=True)}
        if rotate and several:
            self.at = (at + 1) % len(self.sets)
            counters.rotate(position, self.first + 1 + self.at)
        return KindChange(base, at, SetInterval(seconds, instructions, counts), estimated or stood or several)

    def _changes(self, counters: Counters, position: int) -> tuple[list[float], bool]:
        newer = counters.read_set(position)
        enabled, running, *counts = difference(newer, self._seen[position])
        self._seen[position] = newer
        if not self._scaled:
            return [float(count) for count in counts], False
        return [float(scaled(count, enabled, running) or 0) for count in counts], running < enabled
