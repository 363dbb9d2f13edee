"""Read the metric definitions by microarchitecture from `metric_definitions.toml`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.facts import FactFile
from turbotui.quantities.metric_definitions import LevelEvent, MetricDefinition, MetricEvent, Term, Width
from turbotui.quantities.precision import Precision
from turbotui.quantities.rows import make_row, named, tables
from turbotui.quantities.signals import SignalId

METRIC_DEFINITIONS: Final = FactFile("quantities/metric_definitions.toml")
_FORM: Final = "{ key = ..., config = ..., name = ... }"
_LEVEL: Final = "{ key = ..., config = ..., name = ..., level = ... }"
_SIGNALS: Final = "roofline."


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of `events`: the event and what its count contributes to."""

    key: str
    config: int
    name: str
    counters: int = 1
    config1: int = 0
    optional: bool = False
    flops: int = 0
    precision: Precision | None = None
    accesses: int = 0
    bytes: int = 0
    share: int = 0
    width: int = 0
    register: str = ""
    per_vector: bool = False


@dataclass(frozen=True, slots=True)
class _Level:
    key: str
    config: int
    name: str
    level: str


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    pmu: tuple[str, ...]
    counters: int
    document: str
    events: tuple[_Line, ...]
    overlap: bool = False
    instructions: int = 0xC0
    note: str = ""
    reduced_note: str = ""
    unverified: str = ""
    levels: tuple[_Level, ...] = ()
    levels_note: str = ""


@functools.cache
def definition(slug: str) -> MetricDefinition:
    """The definition of that name. Raises InternalError if there is no such definition."""
    values = METRIC_DEFINITIONS.inherited(slug)
    table = METRIC_DEFINITIONS.row(_Table, slug, values, events=tables(_FORM, _line), levels=tables(_LEVEL, _level))
    lines = table.events
    return MetricDefinition(
        slug=slug,
        name=table.name,
        pmu=table.pmu,
        events=tuple(MetricEvent(line.key, line.config, line.name, line.counters, line.config1, line.optional)
                     for line in lines),
        flops=_terms(lines, lambda line: line.flops),
        accesses=_terms(lines, lambda line: line.accesses),
        widths=tuple(Width(line.key, line.width, line.register, line.per_vector) for line in lines if line.register),
        counters=table.counters,
        note=table.note,
        source=table.document,
        exact_bytes=_terms(lines, lambda line: line.bytes),
        overlap=table.overlap,
        unverified=table.unverified,
        instructions=table.instructions,
        shares=_terms(lines, lambda line: line.share),
        reduced_note=table.reduced_note,
        levels=tuple(LevelEvent(MetricEvent(level.key, level.config, level.name, optional=True), level.level)
                     for level in table.levels),
        levels_note=table.levels_note,
    )


def known_definition(slug: str) -> MetricDefinition | None:
    """The definition of that name; None if a later version or a damaged recording names an unknown one."""
    return definition(slug) if METRIC_DEFINITIONS.find(slug) is not None else None


def definitions_of(signals: Iterable[SignalId]) -> tuple[MetricDefinition, ...]:
    """The definitions with signals among these, in the order of the file."""
    slugs = {signal.split(".")[1] for signal in signals if signal.startswith(_SIGNALS)}
    return tuple(definition(slug) for slug in METRIC_DEFINITIONS.names() if slug in slugs) if slugs else ()


def _terms(lines: Iterable[_Line], weight: Callable[[_Line], int]) -> tuple[Term, ...]:
    return tuple(Term(line.key, weight(line), line.precision, line.per_vector) for line in lines if weight(line))


def _line(values: Mapping[str, object]) -> _Line:
    return make_row(_Line, values, precision=named(Precision))


def _level(values: Mapping[str, object]) -> _Level:
    return make_row(_Level, values)
