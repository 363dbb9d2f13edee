"""Finds the metrics of a vendor's tables that use an event, directly or through other metrics."""

from __future__ import annotations

from turbotui.dataclass import dataclass
from turbotui.events.event_tables.model import VendorMetric, VendorTables
from turbotui.events.metrics.errors import MetricError
from turbotui.events.metrics.syntax import NAMES, parse_metric
from turbotui.quantities.by_key import lists_by_key


@dataclass(frozen=True, slots=True)
class MetricUse:
    """A metric that uses an event."""

    metric: VendorMetric  # the metric, from the tables
    through: str = ""  # the metric by which this one reaches the event; "" if the event stands in its own expression
    threshold: bool = False  # whether only the metric's threshold needs the event


def metrics_with(tables: VendorTables, event: str) -> tuple[MetricUse, ...]:
    """Return every metric that uses an event, those that name the event themselves first.

    Args:
        event: its name in any case, without PMU and modifiers.
    """
    wanted = event.lower()
    # an expression writes - as \-; an expression without the name need not be parsed
    likely = [metric for metric in tables.metrics()
              if wanted in _plain(metric.expression) or wanted in _plain(metric.threshold)]
    uses: dict[int, MetricUse] = {}
    for metric in likely:
        if wanted in _events(metric.expression):
            uses[id(metric)] = MetricUse(metric)
        elif wanted in _events(metric.threshold):
            uses[id(metric)] = MetricUse(metric, threshold=True)
    users = lists_by_key((name, metric) for metric in tables.metrics()
                         for name in dict.fromkeys(_names(metric.expression))
                         if any(user.name == name for user in tables.metric(name)))
    waiting = list(uses.values())
    while waiting:
        use = waiting.pop(0)
        if use.threshold:  # a metric that names that one uses its value, not its threshold
            continue
        for metric in users.get(use.metric.name, ()):
            if id(metric) not in uses:
                uses[id(metric)] = MetricUse(metric, use.metric.name)
                waiting.append(uses[id(metric)])
    return tuple(sorted(uses.values(), key=lambda use: (bool(use.through), use.threshold, use.metric.name.lower())))


def _plain(text: str) -> str:
    return text.replace("\\", "").lower()


def _names(text: str) -> tuple[str, ...]:
    if not text:
        return ()
    try:
        return tuple(step.name for step in parse_metric(text).steps if step.kind in NAMES)
    except MetricError:
        return ()


def _events(text: str) -> frozenset[str]:
    events = set()
    for name in _names(text):
        _pmu, at, terms = name.partition("@")
        inner = terms.rpartition("@")[0] if at else name.partition(":")[0]
        events |= {term.lower() for term in inner.split(",") if "=" not in term}
    return frozenset(events)
