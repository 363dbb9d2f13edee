"""Definitions of what was counted on request; a recording keeps them and rebuilds the same columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from turbotui.dataclass import dataclass
from turbotui.quantities.added import AddedCounter
from turbotui.quantities.event_columns import EventRequest
from turbotui.quantities.event_traits import EventTraits
from turbotui.quantities.spies import SpyPlan


@dataclass(frozen=True, slots=True)
class CountedEvents:
    """Events and formulas of one request, as resolved on a machine.

    Attributes:
        request: with the titles of its columns.
        traits: of the events that are there.
    """

    request: EventRequest
    traits: Mapping[str, EventTraits]


@dataclass(frozen=True, slots=True)
class CountedUnits:
    """Counters of one uncore PMU; signals are named by number, bundle and event (`sources.uncore.UncoreRequest`).

    Attributes:
        pmu: its name in sysfs.
        number: told apart from earlier orders of the same PMU.
        units: keys of its units.
        bundles: events by name or terms; those of one bundle are counted in the same time.
        settings: values of filter fields.
    """

    pmu: str
    number: int
    units: tuple[str, ...]
    bundles: tuple[tuple[str, ...], ...]
    settings: tuple[tuple[str, int], ...] = ()


Definition: TypeAlias = AddedCounter | CountedEvents | CountedUnits | SpyPlan
"""What a source counts for a user's request."""
