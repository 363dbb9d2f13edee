"""Totals that never decrease: sums of intervals' increases for each level since the collector's start.

A register's value means nothing across a wrap, a reset or an offline CPU, but its increases do. A total is the sum of
increases: it stays when CPUs go offline, continues when they return, and never wraps.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, cast

from turbotui.feature_list import installed_parts
from turbotui.features.export.live.families import COUNTERS, GAUGES, CounterFamily, GaugeFamily
from turbotui.features.export.live.levels import LevelPlaces, MetricLevel
from turbotui.quantities.signals import SignalId
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.plan import reading_cpus

# found here and not in `families`, which a package that adds families imports first
_ADDED: Final = tuple(installed_parts("exported", cast("type[CounterFamily | GaugeFamily]",
                                                       CounterFamily | GaugeFamily)))
ALL_COUNTERS: Final = (*COUNTERS, *(family for family in _ADDED if isinstance(family, CounterFamily)))
ALL_GAUGES: Final = (*GAUGES, *(family for family in _ADDED if isinstance(family, GaugeFamily)))
"""The families of turbotui and of other packages."""


def known_counters(capabilities: Capabilities, levels: Iterable[MetricLevel]) -> tuple[CounterFamily, ...]:
    """Return the counters of these levels that a machine has; of alternatives, the first."""
    wanted = frozenset(levels)
    families: list[CounterFamily] = []
    taken: set[tuple[str, str]] = set()
    for family in ALL_COUNTERS:
        names = {(family.stem, level.word) for level in family.levels if level in wanted}
        if names and family.signals[0] in capabilities.signals and names.isdisjoint(taken):
            taken |= names
            families.append(family)
    return tuple(families)


def signals_of_counters(families: Iterable[CounterFamily], capabilities: Capabilities) -> frozenset[SignalId]:
    """Return the available signals of these counters."""
    names = {name for family in families for name in (*family.signals, *family.together, family.factor)}
    return frozenset(names & capabilities.signals.keys())


_MISSED: Final = 2
"""Consecutive intervals for which a counter may be unknown."""


class RecentTotals:
    """Sums of increases by their keys, without those whose increases have been unknown for a while.

    Attributes:
        values: the sums; one that was left out begins anew at 0.
    """

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self._missed: dict[str, int] = {}

    def add(self, key: str, increase: float | None) -> None:
        """Add the increase of an interval, or note that it is unknown."""
        if increase is not None:
            self.values[key] = self.values.get(key, 0.0) + increase
            self._missed.pop(key, None)
        elif key in self.values:
            self._missed[key] = self._missed.get(key, 0) + 1
            if self._missed[key] > _MISSED:
                del self.values[key], self._missed[key]


class CounterTotals:
    """Adds up the increases of frames, which one thread feeds in order; `seconds` is the time that the totals cover."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._of: dict[tuple[str, str], dict[Hashable, float]] = {}
        self._known: dict[tuple[str, str], dict[Hashable, int]] = {}
        self._fed = 0

    def feed(self, frame: Frame, places: LevelPlaces, families: Sequence[CounterFamily]) -> None:
        """Add an interval."""
        if frame.older is None or frame.seconds is None:
            return
        self.seconds += frame.seconds
        self._fed += 1
        for family in families:
            if family.signals[0] not in frame.capabilities.signals:
                continue
            scope = frame.capabilities.signals[family.signals[0]].scope
            rises = _increases(frame, family)
            without = _without(frame, family) if None in rises else frozenset()
            for level in family.levels:
                if level in places.levels and level.holds(scope):
                    lost = self._add(family, level, places.parts(level, scope), rises, without)
                    known = self._known.setdefault((family.stem, level.word), {})
                    known.update(dict.fromkeys(places.labels(level).keys() - lost, self._fed))

    def _add(self, family: CounterFamily, level: MetricLevel, parts: Mapping[Hashable, Sequence[int]],
             rises: Sequence[float | None], without: AbstractSet[int]) -> AbstractSet[Hashable]:
        """Add increases to their instances of a level, and return the instances of which a part is unknown."""
        totals = self._of.setdefault((family.stem, level.word), {})
        lost: set[Hashable] = set()
        for key, positions in parts.items():
            inside = rises if len(positions) == len(rises) else [rises[at] for at in positions]
            if None in inside:
                lost |= {key} if any(rises[at] is None and at not in without for at in positions) else set()
            if known := [rise for rise in inside if rise is not None]:
                totals[key] = totals.get(key, 0.0) + math.fsum(known)
        return lost

    def of(self, family: CounterFamily, level: MetricLevel) -> Mapping[Hashable, float]:
        """Return a counter's totals by present instance, leaving out instances of which a part was unknown lately.

        A total that stands still for lack of readings would look like 0 watts, and one that lacks a CPU like an idle
        machine. A single interval may be unknown, because all counters are reopened when CPUs come or go, and because
        the increases of a late CPU come with its next answer.
        """
        known = self._known.get((family.stem, level.word), {})
        totals = self._of.get((family.stem, level.word), {})
        return {key: total for key, total in totals.items() if key in known and self._fed - known[key] <= _MISSED}


def _increases(frame: Frame, family: CounterFamily) -> Sequence[float | None]:
    """Return a counter's increase for each instance; None if it, or a signal of `together`, is unknown."""
    signals = frame.capabilities.signals
    scope = signals[family.signals[0]].scope
    values: list[float | None] = list(frame.deltas(family.signals[0]))
    for name in family.signals[1:]:
        if name in signals and signals[name].scope is scope:
            more = frame.deltas(name)
            values = [None if a is None or b is None else a + b for a, b in zip(values, more, strict=True)]
    for name in family.together:
        if name in signals and signals[name].scope is scope and frame.has_gaps(name):
            values = [None if b is None else a for a, b in zip(values, frame.deltas(name), strict=True)]
    factor = 1.0 if family.factor not in frame.capabilities.signals else frame.whole_level(family.factor) or 1.0
    return values if factor == 1.0 else [None if a is None else a * factor for a in values]


def _without(frame: Frame, family: CounterFamily) -> frozenset[int]:
    """Return the positions of instances that lack a counter of the family, and are no lost part of coarser ones."""
    signals = frame.capabilities.signals
    scope = signals[family.signals[0]].scope
    without: set[int] = set()
    for name in (*family.signals, *family.together):
        if name in signals and signals[name].scope is scope and signals[name].absent:
            reading = reading_cpus(signals[name], frame.topology)
            without.update(at for at, cpu in enumerate(reading) if cpu in signals[name].absent)
    return frozenset(without)
