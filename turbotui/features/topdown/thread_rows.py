"""Rows of threads, commands and regions, from counters that followed them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from turbotui.features.topdown.counter_parts import Counts, GroupKey, PartCount
from turbotui.features.topdown.engine import Branch
from turbotui.features.topdown.model import TopdownRow, count_key
from turbotui.features.topdown.places import CpuSet, RowLevel
from turbotui.features.topdown.thread_counters import ThreadInterval
from turbotui.features.topdown.thread_search import MOST, CountedThread
from turbotui.quantities.sentences import several
from turbotui.quantities.unavailable import Reason, Unavailable

USER_ONLY: Final = ("counts leave the kernel out: kernel.perf_event_paranoid hides it from this user",)
"""The note on counts that exclude the kernel."""
_ALL: Final = 0.99
_VISIT: Final = 0.01
"""The share of time on another core type that is ignored, with a mark, as deeper levels cannot be joined."""
_NEVER: Final = Unavailable(Reason.NEVER_RAN, "the counters of this row never ran in this interval",
                            "end other perf sessions, or let it run longer")
_NOT_COUNTED: Final = Unavailable(Reason.NOT_READ, "the thread was not among the busiest, and is counted from the next "
                                  "interval on; or it did not run on these cores")
_DID_NOT_RUN: Final = Unavailable(Reason.ASLEEP, "the thread did not run in this interval")


def thread_rows(branches: Sequence[Branch], interval: ThreadInterval) -> tuple[TopdownRow, ...]:
    """Return the rows of threads, most slots first; a thread has a row for each core type that it ran on."""
    rows = [row for thread in interval.threads
            for row in kind_rows(_place(thread.thread), branches, thread.counts, interval.seconds)]
    return tuple(sorted(rows, key=lambda row: (-(row.slots() or 0.0), -(row.busy or 0.0), row.place.key)))


def waiting_row(place: CpuSet, branches: Sequence[Branch], why: Unavailable = _NOT_COUNTED) -> TopdownRow:
    """Return the row of a thread that was not counted in an interval, or not on such cores."""
    branches = [branch for branch in branches if branch.kind == place.kind] or branches
    return TopdownRow(place, tuple(branches), {}, {}, {(branch.pmu, ""): why for branch in branches})


def _place(thread: CountedThread) -> CpuSet:
    return CpuSet(RowLevel.THREAD, ("thread", thread.tid), thread.name or f"thread {thread.tid}", (), pid=thread.pid,
                  tid=thread.tid)


def kind_rows(place: CpuSet, branches: Sequence[Branch], counts: Counts, seconds: float) -> tuple[TopdownRow, ...]:
    """Return a row for each core type that was used, because deeper levels of two types cannot be joined."""
    whole = counted_row(place, branches, counts, seconds)
    if len(branches) == 1 or whole.slots() is None:
        return (whole,)
    return tuple(counted_row(_on(place, branch), branches, counts, seconds, branch) for branch in whole.branches)


def rows_with_kinds(place: CpuSet, branches: Sequence[Branch], counts: Counts, seconds: float) -> tuple[
        TopdownRow, ...]:
    """Return the row of the whole, and if it ran on several core types, a row for each of them."""
    whole = counted_row(place, branches, counts, seconds)
    return (whole, *(kind_rows(place, branches, counts, seconds) if whole.several else ()))


def _on(place: CpuSet, branch: Branch) -> CpuSet:
    name = place.name if place.tid is not None else f"{place.name} on {branch.kind} cores"
    return replace(place, key=(f"{place.key[0]} {branch.pmu}", place.key[1]), name=name, kind=branch.kind)


def counted_row(place: CpuSet, branches: Sequence[Branch], counts: Counts, seconds: float,
                only: Branch | None = None) -> TopdownRow:
    """Make a row from counters that followed threads from CPU to CPU.

    A counter pauses while its thread is on a CPU of another core type. So on machines with several types, each counter
    is expected to run for its type's share of the time in which the counters of level 1 ran.

    Args:
        only: one of the trees, for the part on such cores; None for the whole.
    """
    at_first = {branch.pmu: _share_of(_parts(counts, branch.pmu, "")) for branch in branches}
    enabled = max((part.enabled for branch in branches for part in _parts(counts, branch.pmu, "")), default=0.0)
    total = math.fsum(at_first.values())
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
    sums: dict[str, float] = {}
    ran: dict[GroupKey, float] = {}
    whys: dict[GroupKey, Unavailable] = {}
    missing: dict[str, Unavailable] = {}
    for branch in here:
        # if core types together cover the whole time, counters paused only for the other type
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
                    sums[count_key(row, branch, key[1], name)] = value / share
                for name, why in part.refused.items():
                    missing[count_key(row, branch, key[1], name)] = why
            ran[key] = min(shares, default=1.0)
    return TopdownRow(place, here, sums, ran, whys, frozenset(ran) if left_out else frozenset(), busy,
                      unsplit=unsplit, missing=missing)


def _share_of(parts: Sequence[PartCount]) -> float:
    """Return the part of the time in which the longest running part of a group ran."""
    return max((part.running / part.enabled for part in parts if part.enabled), default=0.0)


def _near(share: float) -> float:
    """Round a share of nearly 1 to 1, because groups are not read at one instant."""
    return 1.0 if share >= _ALL else share


def _nothing(place: CpuSet, branches: Sequence[Branch], counts: Counts, enabled: float,
             busy: float | None) -> TopdownRow:
    whys = {key: group if isinstance(group, Unavailable) else _NEVER if enabled else _DID_NOT_RUN
            for key, group in counts.items()}
    return TopdownRow(place, tuple(branches), {}, {}, whys, busy=busy)


def _parts(counts: Counts, pmu: str, parent: str) -> Sequence[PartCount]:
    parts = counts.get((pmu, parent), ())
    return () if isinstance(parts, Unavailable) else parts


def interval_notes(interval: ThreadInterval) -> tuple[str, ...]:
    """Return the notes for readers of rows of threads."""
    notes = []
    if interval.left_out:
        notes.append(f"the {MOST} busiest threads; {interval.left_out} more ran and are not counted")
    notes += [f"{several(number, 'thread')} not counted: {why.sentence()}" for why, number in interval.refused.items()]
    return (*notes, *(USER_ONLY if interval.user_only else ()))
