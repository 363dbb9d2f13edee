"""Rows of marked regions, with the counts while each was open in at least one thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.features.topdown.counter_parts import Counts
from turbotui.features.topdown.engine import Branch
from turbotui.features.topdown.model import RegionPart, TopdownRow
from turbotui.features.topdown.places import CpuSet, RowLevel
from turbotui.features.topdown.thread_rows import rows_with_kinds
from turbotui.machine.regions import RegionExtent

ALL_PROGRAMS: Final = "all that mark regions"
"""The name of the row of all programs that mark in a FIFO named by the user."""


def region_rows(branches: Sequence[Branch], extents: Sequence[RegionExtent], counts: Mapping[str, Counts],
                seconds: float, slots: float | None) -> tuple[TopdownRow, ...]:
    """Return the rows of regions, in order, followed by a row for each core type if there are several.

    Args:
        seconds: time for which the program was counted.
        slots: slots of the whole program in that time; None if unknown.
    """
    return tuple(row for extent in extents for row in _rows(branches, extent, counts.get(extent.name, {}), seconds,
                                                            slots))


def _rows(branches: Sequence[Branch], extent: RegionExtent, counts: Counts, seconds: float,
          every: float | None) -> Iterator[TopdownRow]:
    place = CpuSet(RowLevel.REGION, (f"region {extent.name}", 0), extent.name, ())
    for row in rows_with_kinds(place, branches, counts, extent.seconds):
        slots = row.slots()
        yield replace(row, extent=RegionPart(
            extent.entries, extent.seconds, extent.seconds / seconds if seconds else 0.0,
            slots / every if slots is not None and every and not row.unsplit else None,
            extent.apportioned / extent.seconds if extent.seconds else 0.0))
