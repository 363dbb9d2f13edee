"""Least, 95th percentile and greatest over the CPUs or cores of an instance: what no sum tells."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final

from turbotui.features.export.live.families import SPREADS, SpreadFamily
from turbotui.features.export.live.levels import LevelPlaces, MetricLevel
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.signals import SignalId
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame

BUSY_TIMES: Final = ("stat.user", "stat.nice", "stat.system", "stat.irq", "stat.softirq")
"""Fields of /proc/stat in which a CPU runs something (proc(5)); guest time is in the first two."""
_BUSY_COLUMN: Final = "Busy%"
_HARDLY: Final = 1.0  # per cent


def known_spreads(capabilities: Capabilities, catalog: Catalog) -> tuple[SpreadFamily, ...]:
    """Spreads whose column a machine has; of alternatives the first."""
    found: list[SpreadFamily] = []
    taken: set[tuple[str, str]] = set()
    for family in SPREADS:
        names = {(family.stem, level.word) for level in family.levels}
        if names.isdisjoint(taken) and set(_needs(family, catalog)) <= capabilities.signals.keys():
            taken |= names
            found.append(family)
    return tuple(found)


def columns_of_spreads(families: Iterable[SpreadFamily]) -> tuple[ColumnId, ...]:
    """The columns of the catalog that these are made of."""
    return tuple(dict.fromkeys(family.column for family in families if family.column))


def signals_of_spreads(families: Iterable[SpreadFamily]) -> frozenset[SignalId]:
    """The signals that those are made of which are no column's."""
    return frozenset(BUSY_TIMES) if any(not family.column for family in families) else frozenset()


def _needs(family: SpreadFamily, catalog: Catalog) -> Sequence[SignalId]:
    column = catalog.get(family.column) if family.column else None
    if column is None:
        return ("stat.user",) if not family.column else ("column that is not there",)
    return column.needs


def spread(frame: Frame, family: SpreadFamily, places: LevelPlaces, level: MetricLevel,
           catalog: Catalog) -> Mapping[Hashable, Mapping[str, float]]:
    """The three values of each instance of which something is known, by their names.

    Args:
        frame: the newest.
        family: what is asked for.
        places: of the frame's topology.
        level: one of the family's.
        catalog: that has the family's column.
    """
    by_key: dict[Hashable, list[float]] = {}
    for key, value in zip(places.owners(level, family.scope), _values(frame, family, catalog), strict=True):
        if value is not None and key is not None:
            by_key.setdefault(key, []).append(value * family.factor)
    return {key: {"min": min(values), "p95": percentile(values, 0.95), "max": max(values)}
            for key, values in by_key.items()}


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest of the values that at least this share of them does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def _values(frame: Frame, family: SpreadFamily, catalog: Catalog) -> Sequence[float | None]:
    column = catalog.get(family.column) if family.column else None
    if column is None:
        return busy_shares(frame)
    rows = frame.rows(family.scope)
    values = [None if isinstance(value, str) else value for value in frame.cells(column, rows)]
    busy = catalog.get(_BUSY_COLUMN) if family.busy else None
    if busy is None:
        return values
    shares = frame.cells(busy, rows)
    return [value if isinstance(share, int | float) and share >= _HARDLY else None
            for value, share in zip(values, shares, strict=True)]


def busy_shares(frame: Frame) -> Sequence[float | None]:
    """The share of the interval in which each CPU ran something, 0 to 1, by /proc/stat; None where unknown."""
    known = [name for name in BUSY_TIMES if name in frame.capabilities.signals]
    if not known:
        return [None] * len(frame.topology.cpus)
    spans = frame.spans(known[0])
    times = zip(*(frame.deltas(name) for name in known), strict=True)
    return [min(1.0, sum(parts) / span) if span and None not in parts else None
            for span, parts in zip(spans, times, strict=True)]
