"""Rows of threads, commands and regions: what counters that went with them say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from turbotui.features.topdown.counter_parts import Counts, GroupKey, PartCount
from turbotui.features.topdown.engine import Branch
from turbotui.features.topdown.finding import MOST, CountedThread
from turbotui.features.topdown.model import TopdownRow, count_key
from turbotui.features.topdown.places import CpuSet, RowLevel
from turbotui.features.topdown.thread_counters import ThreadInterval
from turbotui.quantities.unavailable import Reason, Unavailable

USER_ONLY: Final = ("counts leave the kernel out: kernel.perf_event_paranoid hides it from this user",)
"""The note on counts that do."""
_ALL: Final = 0.99
_VISIT: Final = 0.01
"""Share of the time on another kind of core that is left out, with a mark: deeper levels of two kinds do not join."""
_NEVER: Final = Unavailable(Reason.NEVER_RAN, "the counters of this row never ran in this interval",
                            "end other perf sessions, or let it run longer")
_NOT_COUNTED: Final = Unavailable(Reason.NOT_READ, "the thread was not among the busiest, and is counted from the next "
                                  "interval on; or it did not run on these cores")
_DID_NOT_RUN: Final = Unavailable(Reason.ASLEEP, "the thread did not run in this interval")


def thread_rows(branches: Sequence[Branch], interval: ThreadInterval) -> tuple[TopdownRow, ...]:
    """The rows of threads, those of most slots first; a thread that ran on several kinds of core has one for each."""
    rows = [row for one in interval.threads
            for row in kind_rows(_place(one.thread), branches, one.counts, interval.seconds)]
    return tuple(sorted(rows, key=lambda row: (-(row.slots() or 0.0), -(row.busy or 0.0), row.place.key)))


def waiting_row(place: CpuSet, branches: Sequence[Branch], why: Unavailable = _NOT_COUNTED) -> TopdownRow:
    """The row of what lives, and was not counted in an interval, or not on such cores.

    Args:
        place: what it is.
        branches: the trees of the machine's cores.
        why: it was not counted.
    """
    branches = [branch for branch in branches if branch.kind == place.kind] or branches
    return TopdownRow(place, tuple(branches), {}, {}, {(branch.pmu, ""): why for branch in branches})


def _place(thread: CountedThread) -> CpuSet:
    return CpuSet(RowLevel.THREAD, ("thread", thread.tid), thread.name or f"thread {thread.tid}", (), pid=thread.pid,
                  tid=thread.tid)


def kind_rows(place: CpuSet, branches: Sequence[Branch], counts: Counts, seconds: float) -> tuple[TopdownRow, ...]:
    """What ran, apart for each kind of core that it ran on: level 2 and deeper ones of two kinds do not join.

    Args:
        place: see `counted_row`.
        branches: likewise.
        counts: likewise.
        seconds: likewise.
    """
    whole = counted_row(place, branches, counts, seconds)
    if len(branches) == 1 or whole.slots() is None:
        return (whole,)
    return tuple(counted_row(_on(place, branch), branches, counts, seconds, branch) for branch in whole.branches)


def rows_with_kinds(place: CpuSet, branches: Sequence[Branch], counts: Counts, seconds: float) -> tuple[
        TopdownRow, ...]:
    """The row of all that ran, and where that was on several kinds of core, the rows of each of them.

    Args:
        place: see `counted_row`.
        branches: likewise.
        counts: likewise.
        seconds: likewise.
    """
    whole = counted_row(place, branches, counts, seconds)
    return (whole, *(kind_rows(place, branches, counts, seconds) if whole.several else ()))


def _on(place: CpuSet, branch: Branch) -> CpuSet:
    name = place.name if place.tid is not None else f"{place.name} on {branch.kind} cores"
    return replace(place, key=(f"{place.key[0]} {branch.pmu}", place.key[1]), name=name, kind=branch.kind)


def counted_row(place: CpuSet, branches: Sequence[Branch], counts: Counts, seconds: float,
                only: Branch | None = None) -> TopdownRow:
    """A row of counters that went from CPU to CPU with what they count.

    A counter stands while its thread is on a CPU of another kind. So where there are several kinds each is to have run
    for its share of the time in which those of level 1 did.

    Args:
        place: what the row is of.
        branches: the trees of the machine's cores.
        counts: of every group, by PMU and node.
        seconds: of the interval.
        only: one of the trees, for what ran on such cores; None: for all of it.
    """
    at_first = {branch.pmu: _share_of(_parts(counts, branch.pmu, "")) for branch in branches}
    enabled = max((part.enabled for branch in branches for part in _parts(counts, branch.pmu, "")), default=0.0)
    total = sum(at_first.values())
    here = tuple(branch for branch in branches if at_first[branch.pmu] > _VISIT * total)
    left_out = sum(1 for branch in branches if at_first[branch.pmu]) > len(here)
    busy = 100.0 * enabled / 1e9 / seconds if seconds > 0 else None
    if not here:
        return _nothing(place, branches, counts, enabled, busy)
    unsplit = sum(1 for share in at_first.values() if share) > 1 and total < _ALL
    if only is not None:
        here = (only,)
        busy = None if busy is None else busy * at_first[only.pmu] / total
    row = TopdownRow(place, here, {})
    found: dict[str, float] = {}
    ran: dict[GroupKey, float] = {}
    whys: dict[GroupKey, Unavailable] = {}
    for branch in here:
        # where kinds of core together ran all the time, a counter stood for no other reason than the other kind
        expected = 1.0 if len(branches) == 1 else at_first[branch.pmu] / (total if total < _ALL else 1.0)
        for key, group in counts.items():
            if key[0] != branch.pmu:
                continue
            if isinstance(group, Unavailable):
                whys[key] = group
                continue
            shares = [_near(_share_of((part,)) / expected) for part in group]
            if not all(shares):
                whys[key] = _NEVER
                continue
            for part, share in zip(group, shares, strict=True):
                for name, value in part.values.items():
                    found[count_key(row, branch, key[1], name)] = value / share
            ran[key] = min(shares, default=1.0)
    return TopdownRow(place, here, found, ran, whys, frozenset(ran) if left_out else frozenset(), busy,
                      unsplit=unsplit)


def _share_of(parts: Sequence[PartCount]) -> float:
    """The part of the time in which counters ran, of those of a group that ran longest."""
    return max((part.running / part.enabled for part in parts if part.enabled), default=0.0)


def _near(share: float) -> float:
    """A share, 1 from nearly 1 on: groups are not read at one instant."""
    return 1.0 if share >= _ALL else share


def _nothing(place: CpuSet, branches: Sequence[Branch], counts: Counts, enabled: float,
             busy: float | None) -> TopdownRow:
    whys = {key: group if isinstance(group, Unavailable) else _NEVER if enabled else _DID_NOT_RUN
            for key, group in counts.items()}
    return TopdownRow(place, tuple(branches), {}, {}, whys, busy=busy)


def _parts(counts: Counts, pmu: str, parent: str) -> Sequence[PartCount]:
    found = counts.get((pmu, parent), ())
    return () if isinstance(found, Unavailable) else found


def interval_notes(found: ThreadInterval) -> tuple[str, ...]:
    """What a reader of rows of threads has to know."""
    notes = []
    if found.left_out:
        notes.append(f"the {MOST} busiest threads; {found.left_out} more ran and are not counted")
    notes += [f"{number} threads are not counted: {why.sentence()}" for why, number in found.refused.items()]
    return (*notes, *(USER_ONLY if found.user_only else ()))
