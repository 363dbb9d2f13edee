"""Which events of a definition are counted together: sets that fit the counters of a core."""

from __future__ import annotations

from dataclasses import replace

from turbotui.errors import UsageError
from turbotui.quantities.metric_definitions import MetricDefinition, MetricEvent


def plan_sets(definition: MetricDefinition, counters: int | None = None,
              absent: frozenset[str] = frozenset()) -> tuple[tuple[MetricEvent, ...], ...]:
    """The definition's events in as few sets as fit when filled in order.

    Args:
        definition: what to count.
        counters: general counters of this machine; None: those of the definition.
        absent: keys of events that this machine does not have.

    Raises:
        UsageError: an event does not fit alone, or one that is not optional is absent.
    """
    room = definition.counters if counters is None else counters
    if definition.overlap:
        room -= 1  # instructions, in every set; AMD has no fixed counters
    sets: list[list[MetricEvent]] = []
    free = 0
    for event in definition.events:
        if event.key in absent:
            if not event.optional:
                raise UsageError(
                    f"{definition.name} needs {event.name} ({event.perf}), which this machine does not have"
                )
            continue
        if event.counters > room:
            raise UsageError(f"{event.name} takes {event.counters} counters, and {max(0, room)} are free")
        if not sets or event.counters > free:
            sets.append([])
            free = room
        sets[-1].append(event)
        free -= event.counters
    return tuple(tuple(one) for one in sets)


def plan_level_sets(definition: MetricDefinition) -> tuple[tuple[MetricEvent, ...], ...]:
    """The events of memory levels in sets of their own, which stand where nobody wants them."""
    levels = replace(definition, events=tuple(one.event for one in definition.levels), levels=())
    return plan_sets(levels) if levels.events else ()
