"""Expands a metric: replaces the names of other metrics, and collects the events that remain.

As perf does it (kernel tools/perf/util/metricgroup.c): the events of a metric are those of its threshold, which names
the metric itself, and a name that is a metric's is no event.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.events.event_tables.model import DEFAULT_CORE, VendorMetric, VendorTables
from turbotui.events.kinds_of_core import X86_KIND, is_kind
from turbotui.events.metrics.corrections import corrected_expression
from turbotui.events.metrics.errors import MetricError
from turbotui.events.metrics.folding import Folded, MetricConstants, fold
from turbotui.events.metrics.syntax import parse_metric

_CORE: Final = re.compile(rf"\b({X86_KIND}\w+)@")
_DEEPEST: Final = 60
"""The deepest allowed nesting of metrics that refer to metrics: TMA has seven levels."""


@dataclass(frozen=True, slots=True)
class ExpandedMetric:
    """A metric on one machine."""

    metric: VendorMetric  # as the table has it
    own: Folded  # its expression
    parts: tuple[tuple[str, Folded], ...]  # the metrics that it refers to, each after those that it refers to itself
    rule: Folded | None  # its threshold; None where it has none
    events: tuple[str, ...]  # the events of the expression and of `parts`, as the table names them
    rule_events: tuple[str, ...] = ()  # those that only the threshold needs
    # metrics that only the threshold refers to: the metric itself, before it is scaled, and others
    rule_parts: tuple[tuple[str, Folded], ...] = ()
    runtime: int = 0  # the number that replaces `?`

    @property
    def all_events(self) -> tuple[str, ...]:
        """Every event that is counted for the metric or its threshold."""
        return (*self.events, *self.rule_events)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Names in branches, of the expression and of `parts`, that this machine does not take."""
        return tuple(dict.fromkeys(event for part in (self.own, *(part for _name, part in self.parts))
                                   for event in part.dropped))

    @property
    def literals(self) -> tuple[str, ...]:
        """Literals (#num_cores) in the expression and in `parts`."""
        return tuple(dict.fromkeys(literal for part in (self.own, *(part for _name, part in self.parts))
                                   for literal in part.literals))


def expand(metric: VendorMetric, tables: VendorTables, machine: MetricConstants, runtime: int = 0) -> ExpandedMetric:
    """Find every metric and event that a metric needs on a machine.

    Args:
        runtime: the number that replaces `?`.

    Raises:
        MetricError: an expression is wrong, a constant is unknown, or a metric refers to itself.
    """
    core = core_of(metric)
    walk = _Walk(tables, machine.of_kind(core), runtime, core)
    own = walk.folded(metric, metric.expression)
    walk.follow(own, (metric.name,))
    events, parts = tuple(walk.events), tuple(walk.parts.items())
    rule: Folded | None = None
    if metric.threshold:
        try:
            rule = walk.folded(metric, metric.threshold)
            walk.parts.setdefault(metric.name, own)
            walk.follow(rule, ())
        except MetricError:  # a metric's value is right without its threshold
            return ExpandedMetric(metric, own, parts, None, events, runtime=runtime)
    return ExpandedMetric(metric, own, parts, rule, events,
                          tuple(event for event in walk.events if event not in events),
                          tuple(walk.parts.items())[len(parts) :], runtime)


@dataclass(slots=True)
class _Walk:
    tables: VendorTables
    machine: MetricConstants
    runtime: int
    pmu: str
    parts: dict[str, Folded] = field(default_factory=dict)
    events: dict[str, None] = field(default_factory=dict)

    def folded(self, metric: VendorMetric, text: str) -> Folded:
        try:
            result = fold(parse_metric(corrected_expression(text), self.runtime), self.machine)
        except MetricError as error:
            raise MetricError(f"The metric {metric.name} cannot be had: {error}") from error
        events = {name: self.machine.named(name) for name in result.names if not self._metrics(name)}
        if all(name == other for name, other in events.items()):
            return result
        steps = tuple(replace(step, name=events.get(step.name, step.name)) for step in result.steps)
        return replace(result, steps=steps, names=tuple(dict.fromkeys(events.get(name, name) for name in result.names)))

    def _metrics(self, name: str) -> tuple[VendorMetric, ...]:
        """Return the metrics of a name in this case: "instructions" is an event, Instructions may be a metric."""
        return tuple(metric for metric in self.tables.metric(name) if metric.name == name)

    def follow(self, folded: Folded, above: tuple[str, ...]) -> None:
        if len(above) > _DEEPEST:
            raise MetricError(f"The metric {above[0]} refers to more than {_DEEPEST} others in one line.")
        for name in folded.names:
            if name in self.parts:
                continue
            named = self._metrics(name)
            metric = chosen(named, self.pmu)
            if named and metric is None:
                lacks = f" {self.tables.lacks_metrics}" if self.tables.lacks_metrics else ""
                raise MetricError(f"{name} is a metric of {core_of(named[0])} only, and not of {self.pmu}.{lacks}")
            if metric is None:
                self.events[name] = None
                continue
            if name in above or metric.name in above:
                raise MetricError(f"The metric {above[0]} refers to itself, by {' -> '.join((*above, name))}.")
            part = self.folded(metric, metric.expression)
            self.follow(part, (*above, metric.name))
            self.parts[name] = part


def chosen(metrics: tuple[VendorMetric, ...], pmu: str) -> VendorMetric | None:
    """Choose among metrics of one name: the PMU's, else one of no particular core type; None if there is none."""
    own = next((metric for metric in metrics if core_of(metric) == pmu), None)
    if own is not None or not is_kind(pmu):
        return own or (metrics[0] if metrics else None)
    return next((metric for metric in metrics if not is_kind(core_of(metric))), None)


def core_of(metric: VendorMetric) -> str:
    """Return the PMU of a metric's cores: as the table says, else the one that all of the metric's events name."""
    if metric.pmu != DEFAULT_CORE:
        return metric.pmu
    named = set(_CORE.findall(metric.expression))
    return named.pop() if len(named) == 1 else DEFAULT_CORE
