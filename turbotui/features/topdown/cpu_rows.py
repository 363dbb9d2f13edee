"""Rows of CPUs, cores, packages and the system, from the counters of an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

from turbotui.features.topdown.engine import EventGroup, GroupCounts, TopdownCounters
from turbotui.features.topdown.model import TopdownRow, count_name
from turbotui.features.topdown.places import CpuSet
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame


class _Counted:
    """A group's counts in an interval, prepared for rows."""

    def __init__(self, group: EventGroup, counts: GroupCounts) -> None:
        self.branch, self.key, self.why = group.branch, (group.branch.pmu, group.parent), counts.why
        self.title = group.request.text
        self.missing = counts.missing
        self.columns = tuple(counts.counts.values())
        self.names = [count_name(group.branch, group.parent, name, several=False) for name in counts.counts]
        self.long_names = [count_name(group.branch, group.parent, name, several=True) for name in counts.counts]
        self.ran = counts.ran
        self._known = [None not in each for each in zip(*self.columns, strict=True)]
        self._all = all(self._known)

    def known(self, at: Sequence[int]) -> Sequence[int]:
        return at if self._all else [position for position in at if self._known[position]]


def rows_of(counters: TopdownCounters, frame: Frame | None, wanted: Sequence[CpuSet]) -> tuple[TopdownRow, ...]:
    """Return the rows of an interval."""
    found = [_Counted(group, counters.counted(frame, group)) for group in counters.groups()]
    return tuple([_row(counters, found, place) for place in wanted])


def _row(counters: TopdownCounters, found: Sequence[_Counted], place: CpuSet) -> TopdownRow:
    positions = counters.positions(place.cpus)
    counts: dict[str, float] = {}
    ran: dict[tuple[str, str], float] = {}
    missing: dict[str, Unavailable] = {}
    whys: dict[tuple[str, str], Unavailable] = {}
    partial: set[tuple[str, str]] = set()
    for one in found:
        at = positions.get(one.branch.pmu)
        if not at:
            continue
        if one.why is not None:
            whys[one.key] = one.why
            continue
        known = one.known(at)
        if not known:
            whys[one.key] = Unavailable(Reason.NOT_READ, f"{one.title} is not counted on these CPUs")
            continue
        if len(known) < len(at):
            if one.branch.tree.core and len(at) <= one.branch.threads:
                whys[one.key] = Unavailable(Reason.NOT_READ, f"{one.title}: a CPU of the core gave no counts, and "
                                            "its slots are those of all its CPUs")
                continue
            partial.add(one.key)
        for name, why in one.missing.items():
            missing[count_name(one.branch, one.key[1], name, several=len(positions) > 1)] = why
        for name, column in zip(one.names if len(positions) == 1 else one.long_names, one.columns, strict=True):
            counts[name] = math.fsum([column[position] or 0.0 for position in known])  # known: none is None
        times = [one.ran[position] for position in known]
        if times and None not in times:
            ran[one.key] = math.fsum([part or 0.0 for part in times]) / len(times)
    branches = tuple([branch for branch in counters.branches if branch.pmu in positions])
    return TopdownRow(place, branches, counts, ran, whys, frozenset(partial), missing=missing)
