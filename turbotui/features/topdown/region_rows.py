"""Rows of the regions that a program marks: what was counted while each was open in at least one thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from turbotui.features.topdown.counter_parts import Counts
from turbotui.features.topdown.engine import Branch
from turbotui.features.topdown.model import RegionPart, TopdownRow
from turbotui.features.topdown.places import CpuSet, RowLevel
from turbotui.features.topdown.thread_rows import counted_row
from turbotui.machine.regions import RegionExtent


def region_rows(branches: Sequence[Branch], extents: Sequence[RegionExtent], counts: Mapping[str, Counts],
                seconds: float, slots: float | None) -> tuple[TopdownRow, ...]:
    """The rows of regions, in their order.

    Args:
        branches: the trees of the machine's cores.
        extents: of the regions.
        counts: by the names of regions.
        seconds: for which the program was counted.
        slots: of the whole program meanwhile; None where they are not known.
    """
    return tuple(_row(branches, one, counts.get(one.name, {}), seconds, slots) for one in extents)


def _row(branches: Sequence[Branch], extent: RegionExtent, counts: Counts, seconds: float,
         every: float | None) -> TopdownRow:
    place = CpuSet(RowLevel.REGION, (f"region {extent.name}", 0), extent.name, ())
    row = counted_row(place, branches, counts, extent.seconds)
    slots = row.slots()
    return replace(row, extent=RegionPart(
        extent.entries, extent.seconds, extent.seconds / seconds if seconds else 0.0,
        slots / every if slots is not None and every else None,
        extent.apportioned / extent.seconds if extent.seconds else 0.0))
