"""The threads of a top-down analysis in recordings: the counts of each thread in an interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Self

from turbotui.dataclass import dataclass
from turbotui.features.topdown.counter_parts import Counts, GroupKey, PartCount
from turbotui.features.topdown.recorded_counts import group_facts, groups_from
from turbotui.features.topdown.thread_counters import ThreadCounts, ThreadInterval
from turbotui.features.topdown.thread_search import CountedThread
from turbotui.quantities.unavailable import Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, reason_facts, reason_from
from turbotui.recording.rows import TOPDOWN_STREAM, FindRows, IntervalRows, joined_rows
from turbotui.sampling.frame import Frame

_MOST_ROWS: Final = 20_000
"""The most threads of an interval, and of joined ones: a counter of each takes a descriptor."""


@dataclass(frozen=True, slots=True)
class ThreadRecord(IntervalRows):
    """The counted threads of one interval."""

    stream = TOPDOWN_STREAM

    interval: ThreadInterval

    def facts(self) -> Mapping[str, object]:
        interval = self.interval
        threads = interval.threads
        return {
            "table": "topdown threads", "seconds": interval.seconds, "left_out": interval.left_out,
            "user_only": interval.user_only,
            "refused": [[number, reason_facts(why)] for why, number in interval.refused.items()],
            "pid": [thread.thread.pid for thread in threads], "tid": [thread.thread.tid for thread in threads],
            "name": [thread.thread.name for thread in threads],
            "groups": group_facts([thread.counts for thread in threads]),
        }

    def plus(self, later: Self) -> Self:
        """Add the next interval; threads are matched by their numbers."""
        before = {counted.thread: counted.counts for counted in self.interval.threads}
        threads = [replace(counted, counts=_joined(before.pop(counted.thread, {}), counted.counts))
                   for counted in later.interval.threads]
        threads += (ThreadCounts(thread, counts) for thread, counts in before.items())
        newer, older = later.interval, self.interval
        return replace(later, interval=replace(
            newer, threads=tuple(threads[:_MOST_ROWS]), seconds=older.seconds + newer.seconds,
            left_out=max(older.left_out, newer.left_out) + max(0, len(threads) - _MOST_ROWS),
            refused={**older.refused, **newer.refused},
            user_only=older.user_only or newer.user_only))


def _joined(first: Counts, later: Counts) -> Counts:
    """Join the counts of two intervals.

    A group that was counted in one interval only is scaled to the thread's running time in both, and marked as an
    estimate, as multiplexed groups are.
    """
    joined: dict[GroupKey, tuple[PartCount, ...] | Unavailable] = {}
    for key in dict.fromkeys((*later, *first)):
        earlier, two = first.get(key), later.get(key)
        if not isinstance(earlier, tuple) or not earlier:
            joined[key] = _stood(two, _ran(first)) if isinstance(two, tuple) and two else two or earlier or ()
        elif not isinstance(two, tuple) or not two:
            joined[key] = _stood(earlier, _ran(later))
        elif [part.values.keys() for part in earlier] != [part.values.keys() for part in two]:
            joined[key] = _stood(two, _ran(first))
        else:
            joined[key] = tuple(old.plus(new) for old, new in zip(earlier, two, strict=True))
    return joined


def _ran(counts: Counts) -> float:
    """Return the time for which the thread ran, by any open counter."""
    return max((part.enabled for parts in counts.values() if isinstance(parts, tuple) for part in parts), default=0.0)


def _stood(parts: Sequence[PartCount], more: float) -> tuple[PartCount, ...]:
    return tuple(replace(part, enabled=part.enabled + more) for part in parts)


def thread_record(data: JsonValue, wall_ns: int) -> ThreadRecord:
    """Restore the threads of a JSON document.

    Raises:
        DamagedError: it is none.
    """
    pids, tids, names = data["pid"].values(int), data["tid"].values(int), data["name"].lines()
    many = len(pids)
    if many > _MOST_ROWS:
        raise DamagedError(f"{data.where} of the recording has {many:,} threads, and none has more than {_MOST_ROWS:,}")
    data.expect_columns(many, tids, names)
    counts = groups_from(data["groups"], many)
    refused = {reason_from(why): number.integer() for number, why in map(_pair, data["refused"].items())}
    threads = tuple(ThreadCounts(CountedThread(pid, tid, name), thread_counts)
                    for pid, tid, name, thread_counts in zip(pids, tids, names, counts, strict=True))
    return ThreadRecord(wall_ns, 0, ThreadInterval(threads, data["seconds"].number(), data["left_out"].integer(),
                                                   refused, data["user_only"].flag()))


def _pair(data: JsonValue) -> tuple[JsonValue, JsonValue]:
    parts = data.items()
    if len(parts) != 2:
        raise DamagedError(f"{data.where} of the recording is no number with a reason")
    return parts[0], parts[1]


def threads_of(rows: FindRows, frame: Frame) -> ThreadInterval | None:
    """Return the threads of a frame's interval, adding up recorded intervals."""
    record = joined_rows(rows, frame, ThreadRecord, thread_record)
    return None if record is None else record.interval
