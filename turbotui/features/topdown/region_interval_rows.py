"""Rows of regions on the screen, counted since these rows are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from turbotui.features.topdown.counter_parts import Counts
from turbotui.features.topdown.engine import Branch
from turbotui.features.topdown.model import TopdownRow
from turbotui.features.topdown.places import CpuSet, RowLevel
from turbotui.features.topdown.region_rows import ALL_PROGRAMS, region_rows
from turbotui.features.topdown.region_slots import RegionInterval, RegionSpan
from turbotui.features.topdown.tables import EXACT
from turbotui.features.topdown.thread_rows import USER_ONLY, rows_with_kinds
from turbotui.machine.regions import SHARED_BY_TIME
from turbotui.quantities.sentences import several
from turbotui.quantities.unavailable import Reason, Unavailable

_COMMAND: Final = "the command"
_NOT_BELOW: Final = Unavailable(Reason.NOT_READ, "not counted of this row",
                                "see it while it runs; record --tables region-slots has level 2 of all")
_NOT_SINCE: Final = Unavailable(Reason.NOT_READ, "what lies below level 1 is counted since this row was opened, "
                                "and nothing ran there since", "wait until something does")


def interval_rows(branches: Sequence[Branch], interval: RegionInterval) -> tuple[TopdownRow, ...]:
    """Return the rows of programs and regions until now; the opened row since it was opened."""
    rows = _span_rows(branches, interval.first, interval)
    if interval.deeper is None:
        return rows
    deeper = {row.place.key: row for row in _span_rows(branches, interval.deeper, interval)}
    return tuple(_opened(row, deeper.get(row.place.key)) if row.place.key == interval.opened else row for row in rows)


def _span_rows(branches: Sequence[Branch], span: RegionSpan, interval: RegionInterval) -> tuple[TopdownRow, ...]:
    place = CpuSet(RowLevel.COMMAND, ("command", 0), _COMMAND if interval.family else ALL_PROGRAMS, ())
    whole = rows_with_kinds(place, branches, span.whole, span.seconds)
    counts = {region.extent.name: region.counts for region in span.regions}
    rows = (*whole, *region_rows(branches, [region.extent for region in span.regions], counts, span.seconds,
                                 whole[0].slots()))
    return tuple(_with_gaps(row, span.whole) for row in rows)


def _with_gaps(row: TopdownRow, counted: Counts) -> TopdownRow:
    """Return a row with the reason for each node whose group was not counted."""
    gaps = {(branch.pmu, node.id): _NOT_BELOW for branch in row.branches for node in branch.tree.nodes
            if (branch.pmu, node.id) not in counted}
    return replace(row, whys={**gaps, **row.whys}) if row.slots() is not None else row


def _opened(row: TopdownRow, since: TopdownRow | None) -> TopdownRow:
    """Return the counts since a row was opened; until there are any, those of level 1."""
    if since is not None and since.slots() is not None:
        return since
    below = {(branch.pmu, node.id): _NOT_SINCE for branch in row.branches for node in branch.tree.nodes}
    return replace(row, whys={**row.whys, **below})


def region_interval_notes(interval: RegionInterval) -> tuple[str, ...]:
    """Return the notes for readers of rows of regions."""
    ended = ", until the programs ended" if interval.ended else ""
    notes = [f"counted for {interval.first.seconds:.1f} s, from when its regions were first counted{ended}"]
    if interval.deeper is not None:
        notes.append(f"the opened row is counted since it was opened, for {interval.deeper.seconds:.1f} s")
    notes += [f"{several(number, 'program')} not counted: {why}" for why, number in interval.refused.items()]
    if any(region.extent.apportioned > EXACT * region.extent.seconds for region in interval.first.regions):
        notes.append(SHARED_BY_TIME)
    if interval.lost:
        notes.append(f"{interval.lost} marks of regions were lost: what began or ended then is not known (~)")
    return (*notes, *(USER_ONLY if interval.user_only else ()))
