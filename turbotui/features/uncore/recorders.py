"""What a recording holds of uncore counters: those of every PMU, if it is asked for them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Final

from turbotui.features.uncore.absence import why_none
from turbotui.features.uncore.counters import UncoreCounters
from turbotui.features.uncore.kinds import UncoreUnits, can_count
from turbotui.machine.machine import Machine
from turbotui.quantities.uncore.memory_traffic import TRAFFIC
from turbotui.quantities.uncore.metric import Metric
from turbotui.recording.recorded_tables import RecordedTables, SourcesBeside

WORD: Final = "uncore"


def memory_metrics(counters: UncoreCounters) -> Sequence[tuple[UncoreUnits, Metric]]:
    """Return the ways to count the memory's traffic here, the best first."""
    return [(units, metric) for metric in TRAFFIC for units in counters.kinds
            if units.kind.id == metric.pmu and all(can_count(units.pmu, name) for name in metric.needs)]


def _sources(machine: Machine, tables: Container[str]) -> SourcesBeside:
    if WORD not in tables:
        return SourcesBeside()
    counters = UncoreCounters(machine)
    notes = () if counters.kinds else (f"no uncore counters are recorded: {why_none(machine).sentence()}",)
    for units, metric in memory_metrics(counters)[:1]:
        counters.show(units, (*counters.shown(units), metric))
    return SourcesBeside(tuple(counters.sources()), counters.signals(), notes)


RECORDED: Final = (RecordedTables({WORD: "every uncore PMU"}, _sources),)
