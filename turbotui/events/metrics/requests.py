"""Requests for the events of metrics: which counters form a group, which metrics share them, and the formulas.

Grouping follows perf (kernel tools/perf/util/metricgroup.c): the events of a metric are one group where they fit,
unless its table says otherwise; a metric whose events another metric counts anyway uses those; ungrouped events are
counted once for all metrics. Top-down events always stay below their leader: the kernel accepts them nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.events.metrics.corrections import note_of
from turbotui.events.metrics.errors import MetricError
from turbotui.events.metrics.expansion import ExpandedMetric
from turbotui.events.metrics.folding import Folded
from turbotui.events.metrics.machine_constants import COUNTED_PARTS, MachineConstants
from turbotui.events.metrics.names import TIME, event_text, scale_and_unit
from turbotui.quantities.event_columns import ELAPSED, METRIC, EventColumn, EventRequest, Parts
from turbotui.quantities.expression_text import text_of
from turbotui.quantities.expressions import Expression
from turbotui.quantities.grammar import Step

_PERCENT: Final = "%"
_NEVER_GROUPED: Final = "NO_GROUP_EVENTS"
_UNGROUPED: Mapping[str, Callable[[MachineConstants], bool]] = MappingProxyType({
    _NEVER_GROUPED: lambda _machine: True,
    "NO_GROUP_EVENTS_NMI": lambda machine: machine.watchdog,
    "NO_GROUP_EVENTS_SMT": lambda machine: machine.smt,
    "NO_THRESHOLD_AND_NMI": lambda machine: machine.watchdog,
})
"""The constraints by which tables forbid grouping a metric's events, and on which machines each applies."""


@dataclass(frozen=True, slots=True)
class TitledMetric:
    """A metric with the title of its column."""

    expanded: ExpandedMetric
    title: str
    asked: str = ""  # the metric group that was requested, in lower case; "" if the metric was requested by name
    modifiers: str = ""  # of its events, such as "u"
    source: str = ""  # the origin of the table


@dataclass(slots=True)
class _Counted:
    """Events that are counted together, or one by one, and the columns made of them."""

    together: bool
    events: dict[str, None] = field(default_factory=dict)
    columns: list[EventColumn] = field(default_factory=list)


def requests(wanted: Sequence[TitledMetric], machine: MachineConstants, text: str) -> tuple[EventRequest, ...]:
    """Return the requests that count some metrics, in falling order of their number of events.

    Args:
        text: the user's text, which names the requests.

    Raises:
        MetricError: a metric needs events that this machine does not have.
    """
    counted_metrics: list[_Counted] = []
    alone: dict[str, _Counted] = {}
    for metric in sorted(wanted, key=lambda metric: -len(metric.expanded.all_events)):
        names = [*metric.expanded.events, *(metric.expanded.rule_events if _has_rule(metric, machine) else ())]
        events = dict.fromkeys(event_text(name, metric.modifiers) for name in names if name != TIME)
        if not events and metric.expanded.dropped:  # a value that nobody counted is unknown, not zero
            own = metric.expanded
            raise MetricError(f"The metric {own.metric.name} is {text_of(own.own.steps)} on this "
                              f"machine, whatever happens: nothing is counted for it, {_why_nothing(metric, machine)}.")
        if _grouped(metric, machine):
            counted = next((each for each in counted_metrics if each.together and events.keys() <= each.events.keys()),
                           None)
        else:
            counted = alone.setdefault(metric.modifiers, _Counted(together=False))
        if counted is None or counted not in counted_metrics:
            counted = counted or _Counted(together=True)
            counted_metrics.append(counted)
        counted.events |= dict.fromkeys(events)
        counted.columns.append(column_of(metric, machine))
    several = len(counted_metrics) > 1
    return tuple(_request(metric, machine, f"{text} {number}" if several else text) for number,
                 metric in enumerate(counted_metrics, 1))


_UNDEFINED = "0 / 0"
"""A folded division by 0, as `text_of` writes it."""


def _why_nothing(metric: TitledMetric, machine: MachineConstants) -> str:
    dropped = metric.expanded.dropped
    missing = [event_text(name) for name in dropped if not machine.has_event(name)]
    if missing:
        return f"for the machine has no {', '.join(missing)}"
    if text_of(metric.expanded.own.steps) == _UNDEFINED:
        return "for it divides by a 0 that this machine's constants make"
    return f"for its table counts {', '.join(map(event_text, dropped))} on other machines only"


def _request(counted: _Counted, machine: MachineConstants, text: str) -> EventRequest:
    events = tuple(counted.events)
    items = events if counted.together else tuple(_items(events, machine))
    return EventRequest(text, items, events, tuple(counted.columns), together=counted.together, raw=True)


def _items(events: Sequence[str], machine: MachineConstants) -> Iterable[str]:
    """Return events one by one, except those that need the same leader, which stay together."""
    leaders: dict[tuple[int, int], list[str]] = {}
    for event in events:
        encoded = machine.encoded(event)
        if not isinstance(encoded, UsageError) and encoded and encoded[0].needs_leader is not None:
            leader = encoded[0].needs_leader
            leaders.setdefault((leader.type, leader.config), []).append(event)
    for event in events:
        encoded = machine.encoded(event)
        if not isinstance(encoded, UsageError) and encoded:
            key = (encoded[0].attr.type, encoded[0].attr.config)
            if key in leaders:  # the leader itself
                leaders[key].insert(0, event)
    led = {event for members in leaders.values() for event in members}
    for members in leaders.values():
        yield f"{{{','.join(members)}}}:W" if len(members) > 1 else members[0]
    yield from (event for event in events if event not in led)


def _has_rule(metric: TitledMetric, machine: MachineConstants) -> bool:
    return metric.expanded.rule is not None and all(
        name == TIME or machine.has_event(name) for name in metric.expanded.rule_events)


def _grouped(titled: TitledMetric, machine: MachineConstants) -> bool:
    metric = titled.expanded.metric
    if titled.asked and titled.asked in {group.lower() for group in metric.no_group}:
        return False
    ungrouped = _UNGROUPED.get(metric.constraint or "")
    return ungrouped is None or not ungrouped(machine)


def column_of(titled: TitledMetric, machine: MachineConstants) -> EventColumn:
    """Make the column of a metric."""
    expanded, metric = titled.expanded, titled.expanded.metric
    writer = _Writer(expanded, titled.modifiers, machine)
    scale, unit = scale_and_unit(metric.scale_unit)
    ruled = _has_rule(titled, machine)
    words = metric.brief or metric.description
    if ruled:
        words = f"{words.rstrip('.')}. It stands out where {metric.threshold}."
    elif metric.threshold:
        words = f"{words.rstrip('.')}. Its threshold cannot be told here: {metric.threshold}."
    if note := note_of(metric.expression):
        words = f"{words.rstrip('.')}. {note}"
    counted = any(name != TIME for name in expanded.events)
    whole = (TIME in expanded.events and not counted) or any(
        machine.literal(name) > 1 for name in expanded.literals if name in COUNTED_PARTS)
    return EventColumn(
        name=titled.title, formula=writer.expression(expanded.own, scale), unit=unit,
        decimals=1 if unit.startswith(_PERCENT) else None, help=words.strip(),
        document=f"{titled.source}: metric {metric.name}" if titled.source else f"metric {metric.name}",
        parts=writer.parts(expanded.parts), whole=whole,
        rule=writer.expression(expanded.rule) if ruled and expanded.rule is not None else None,
        rule_parts=writer.parts(expanded.rule_parts) if ruled else (),
    )


class _Writer:
    def __init__(self, expanded: ExpandedMetric, modifiers: str, machine: MachineConstants) -> None:
        self._parts = {name for name, _part in (*expanded.parts, *expanded.rule_parts)}
        self._modifiers = modifiers
        self._machine = machine

    def parts(self, parts: Iterable[tuple[str, Folded]]) -> Parts:
        return tuple((name, self.expression(part)) for name, part in parts)

    def expression(self, folded: Folded, scale: float = 1.0) -> Expression:
        steps = [self._step(step) for step in folded.steps]
        if scale != 1.0:
            steps += [Step("number", number=scale), Step("*")]
        names = tuple(dict.fromkeys(step.name for step in steps if step.kind == "name"))
        return Expression(text_of(steps), names, tuple(steps))

    def _step(self, step: Step) -> Step:
        if step.kind in {"source_count", "aggr_nr"}:
            count = self._machine.sources if step.kind == "source_count" else self._machine.counters
            return Step("number", number=float(count(event_text(step.name, self._modifiers))))
        if step.kind != "name":
            return step
        if step.name == TIME:
            return Step("name", name=ELAPSED)
        return step if step.name in self._parts else Step("name", name=event_text(step.name, self._modifiers))


def metric_names(text: str) -> tuple[tuple[str, str], ...]:
    """Parse "metric:NAME[:MODIFIERS],..." into names with modifiers. Raises MetricError if the text names no metric."""
    pieces = [piece.strip().partition(":") for piece in text.removeprefix(METRIC).split(",")]
    names = tuple((name.strip(), modifiers) for name, _, modifiers in pieces if name.strip())
    if not names:
        raise MetricError(f'--add "{text}" names no metric: turbotui events metrics lists them')
    return names
