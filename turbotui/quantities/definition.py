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
    """Events and formulas of one request, as resolved on a machine."""

    request: EventRequest  # with the titles of its columns
    traits: Mapping[str, EventTraits]


@dataclass(frozen=True, slots=True)
class CountedUnits:
    """Counters of one uncore PMU; signals are named by number, bundle and event (`sources.uncore.UncoreRequest`)."""

    pmu: str  # its name in sysfs
    number: int  # told apart from earlier orders of the same PMU
    units: tuple[str, ...]  # keys of its units
    bundles: tuple[tuple[str, ...], ...]  # events by name or terms; those of one bundle are counted in the same time
    settings: tuple[tuple[str, int], ...] = ()  # values of filter fields


Definition: TypeAlias = "AddedCounter | CountedEvents | CountedUnits | SpyPlan"
"""What a source counts for a user's request."""
