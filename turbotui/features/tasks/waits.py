"""The columns of task waits (for a CPU, for storage, sleep, quota), which are read only while one of them is shown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.tasks.fact_columns import MeasuredCell, MeasuredFact
from turbotui.machine.tasks.run_queue import WaitSums
from turbotui.quantities.by_key import sums_by_key, total_of
from turbotui.quantities.histograms import quantile
from turbotui.quantities.unavailable import Reason, Unavailable

MOST_BEHIND: Final = 8
"""Tasks that are kept as those that ran while a row waited."""
WAIT: Final = "waits"
"""The word that columns of waits need."""
_MILLION: Final = 1e6  # ns in a ms
_LITTLE: Final = 0.01  # of the time; a task that waits less, waits for nothing
_DOCUMENTS: Final = "kernel Documentation/trace/events.rst; Documentation/scheduler/sched-stats.rst"
_NO_DELAY: Final = Unavailable(Reason.NOT_READ, "the row has no thread that could be asked at the end of the interval")
NOT_YET: Final = Unavailable(
    Reason.NOT_READ, "what tasks wait for was not read: it is while it is shown, from the next interval on, and is "
    "recorded by turbotui record --tables waits")


@dataclass(frozen=True, slots=True)
class Waits:
    """The waits of a row's threads in an interval."""

    waited: WaitSums | None = None  # by records of switches; None where there are none
    delay: int | None = None  # ns on run queues by schedstat; None where that was not read
    slices: int | None = None  # time slices by schedstat
    pusher: str = ""  # name of the thread that took their CPUs most often; "" where nobody did
    sleeping: str = ""  # what most of them slept for when the interval ended; "" where none was met asleep
    why_no_records: Unavailable | None = None  # None where there are records of switches
    why_no_wakeups: Unavailable | None = None  # None where it is known when threads are woken, and what they slept for
    why_no_delay: Unavailable = _NO_DELAY  # why `delay` is None, where it is
    behind: tuple[tuple[str, int], ...] = ()  # who ran while they waited 0.1 ms or longer, in ns; the longest first
    lost: int = 0  # records of switches that were lost meanwhile
    why_no_lengths: Unavailable | None = None  # why the lengths of single waits are unknown; None where they are known
    # ns of `delay` for each ns between its two readings, which are later than the begin and end of the interval; None
    # where that time was not kept
    delayed: float | None = None
    partial: bool = False  # whether it lacks threads that ran: put together with others, or of a number used again
    delay_partial: bool = False  # whether `delay` and `slices` do, or those that ended or were too many to be read

    @property
    def complete(self) -> WaitSums | None:
        """The waits if all of them are known; otherwise None."""
        return self.waited if self.why_no_wakeups is None else None

    @property
    def queued(self) -> int | None:
        """The time spent waiting for a CPU, in ns."""
        return self.delay if self.complete is None else self.complete.queued

    @property
    def times(self) -> int | None:
        """The number of waits for a CPU; by schedstat, the number of time slices."""
        return self.slices if self.complete is None else self.complete.times


def behind_of_all(parts: Iterable[tuple[tuple[str, int], ...]]) -> tuple[tuple[str, int], ...]:
    """Add up who ran while several rows waited; the longest first."""
    return tuple(Counter(sums_by_key(pair for part in parts for pair in part)).most_common(MOST_BEHIND))


def waits_of_all(parts: Sequence[Waits | None]) -> Waits | None:
    """Add up the waits of several rows; None if one row's waits are unknown."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    waited = [part.waited for part in known if part.waited is not None]
    delayed = [part for part in known if part.delay is not None]
    most = max(known, key=lambda part: -1 if part.waited is None else part.waited.pushed)
    sleeping = Counter(part.sleeping for part in known if part.sleeping).most_common(1)
    shares = [part.delayed for part in delayed if part.delayed is not None]
    return replace(
        next((part for part in known if part.waited is not None), known[0]),
        waited=total_of(WaitSums(), waited) if waited else None,
        delay=sum(part.delay or 0 for part in delayed) if delayed else None,
        slices=sum(part.slices or 0 for part in delayed) if delayed else None,
        delayed=math.fsum(shares) if delayed and len(shares) == len(delayed) else None,
        partial=any(part.partial for part in known) or 0 < len(waited) < len(known),
        delay_partial=any(part.delay_partial for part in known) or 0 < len(delayed) < len(known),
        pusher=most.pusher,
        behind=behind_of_all(part.behind for part in known),
        lost=max(part.lost for part in known),
        why_no_lengths=next((part.why_no_lengths for part in known if part.why_no_lengths is not None), None),
        sleeping=sleeping[0][0] if sleeping else "",
    )


def _share(waits: Waits, spent: int | None, seconds: float) -> MeasuredCell:
    if spent is None:
        return MeasuredCell(None, waits.why_no_wakeups or waits.why_no_records)
    return MeasuredCell(None if seconds <= 0 else spent / seconds / 1e7)


def _wait(waits: Waits, seconds: float) -> MeasuredCell:
    if waits.complete is None and waits.delayed is not None:
        return MeasuredCell(100.0 * waits.delayed)
    return MeasuredCell(None, waits.why_no_delay) if waits.queued is None else _share(waits, waits.queued, seconds)


def _mean(waits: Waits, _seconds: float) -> MeasuredCell:
    if waits.queued is None or waits.times is None:
        return MeasuredCell(None, waits.why_no_delay)
    return MeasuredCell(waits.queued / waits.times / _MILLION) if waits.times else MeasuredCell(None, _NEVER)


def _greatest(waits: Waits, _seconds: float) -> MeasuredCell:
    if waits.waited is None:
        return MeasuredCell(None, waits.why_no_records)
    return MeasuredCell(waits.waited.longest / _MILLION, estimated=waits.why_no_wakeups is not None)


def _tail(share: float) -> Callable[[Waits, float], MeasuredCell]:
    """A quantile of the lengths of waits; marked where there are too few waits for it, or only those after a push."""
    def cell(waits: Waits, _seconds: float) -> MeasuredCell:
        if waits.waited is None:
            return MeasuredCell(None, waits.why_no_records)
        if waits.why_no_lengths is not None:
            return MeasuredCell(None, waits.why_no_lengths)
        if waits.lost:
            return MeasuredCell(None, Unavailable(Reason.NOT_READ, f"{waits.lost} records of switches were lost"))
        if (length := quantile(waits.waited.lengths, share)) is None:
            return MeasuredCell(None, _NONE_ENDED)
        few = sum(waits.waited.lengths.values()) * (1 - share) < 1
        most = waits.waited.longest or length  # a bucket may reach beyond the longest wait
        return MeasuredCell(min(length, most) / _MILLION, estimated=few or waits.why_no_wakeups is not None)

    return cell


def _behind(waits: Waits, _seconds: float) -> MeasuredCell:
    if waits.waited is None:
        return MeasuredCell(None, waits.why_no_records)
    total = sum(ran for _name, ran in waits.behind)
    if not total:
        return MeasuredCell(None, _SHORT)
    name, ran = waits.behind[0]
    return MeasuredCell(f"{name} {ran / total:.0%}".replace("%", " %"))


def _pushed(waits: Waits, seconds: float) -> MeasuredCell:
    if waits.waited is None:
        return MeasuredCell(None, waits.why_no_records)
    return MeasuredCell(None if seconds <= 0 else waits.waited.pushed / seconds)


def _pusher(waits: Waits, _seconds: float) -> MeasuredCell:
    if waits.waited is None:
        return MeasuredCell(None, waits.why_no_records)
    return MeasuredCell(waits.pusher or None, None if waits.pusher else _NOBODY)


def _storage(waits: Waits, seconds: float) -> MeasuredCell:
    return _share(waits, None if waits.complete is None else waits.complete.storage, seconds)


def _asleep(waits: Waits, seconds: float) -> MeasuredCell:
    return _share(waits, None if waits.complete is None else waits.complete.asleep, seconds)


def _waits_for(waits: Waits, seconds: float) -> MeasuredCell:
    if (sums := waits.complete) is None:
        return MeasuredCell(None, waits.why_no_wakeups or waits.why_no_records)
    kinds = {"CPU": sums.queued - sums.held, "quota": sums.held, "storage": sums.storage, "sleep": sums.asleep}
    most = max(kinds, key=kinds.__getitem__)
    if kinds[most] <= _LITTLE * 1e9 * seconds:
        return MeasuredCell("nothing")
    return MeasuredCell(waits.sleeping, estimated=True) if most == "sleep" and waits.sleeping else MeasuredCell(most)


def _sleeps_in(waits: Waits, _seconds: float) -> MeasuredCell:
    return MeasuredCell(waits.sleeping, estimated=True) if waits.sleeping else MeasuredCell(
        None, _SIMULATED if waits is SIMULATED else _AWAKE)


_NEVER: Final = Unavailable(Reason.NEVER_RAN, "the task did not get a CPU in this interval")
_AWAKE: Final = Unavailable(
    Reason.NOT_READ, "/proc/PID/task/TID/wchan: it was not asleep when the interval ended, or this user may not look",
    "run as root to see tasks of others")
_NOBODY: Final = Unavailable(Reason.NEVER_RAN, "nobody took its CPU while it could have run on")

_NONE_ENDED: Final = Unavailable(Reason.NEVER_RAN, "no wait for a CPU ended in this interval")
_SHORT: Final = Unavailable(Reason.NEVER_RAN, "the task never waited 0.1 ms for a CPU while another ran there")
TAILS: Final = (("WaitP50", "half", 0.5), ("WaitP99", "99 %", 0.99), ("WaitP999", "99.9 %", 0.999))
"""Columns of quantiles of waits: name, words, share."""
COST: Final = "read while shown: a record at each switch of the machine, about 5 us of CPU time each"
WAIT_FACTS: Final[tuple[MeasuredFact[Waits, float], ...]] = (
    MeasuredFact("Wait%", "%", 1, 6, "time on a run queue: it could run and had no CPU; 100 is one thread all the "
                 f"time; {COST}", _wait, _DOCUMENTS),
    MeasuredFact("WaitMean", "ms", 3, 8, "mean wait for a CPU; by schedstat, of each time that it got one", _mean,
                 _DOCUMENTS),
    MeasuredFact("WaitMax", "ms", 3, 8, "greatest wait for a CPU; ~ of waits after being pushed off alone", _greatest,
                 _DOCUMENTS),
    *(MeasuredFact(id_, "ms", 3, 8, f"{part} of its waits for a CPU ended within this time: from when it was woken or "
                   "lost its CPU to when it got one; at most 1/16 too high (histograms); ~ "
                   "of waits after being pushed off alone, or of too few waits", _tail(share), _DOCUMENTS)
      for id_, part, share in TAILS),
    MeasuredFact("Behind", "", -1, 18, "who ran longest on its CPU while it waited 0.1 ms or longer, and the share of "
                 "that time (of those that are kept: the 8 that ran longest); of a container, job or unit "
                 "which other one", _behind, _DOCUMENTS),
    MeasuredFact("Pushed/s", "/s", 0, 8, "times that another thread, or a quota, took its CPU while it could have run "
                 "on", _pushed, _DOCUMENTS),
    MeasuredFact("PushedBy", "", -1, 15, "who took its CPU most often while it could have run on", _pusher, _DOCUMENTS),
    MeasuredFact("Storage%", "%", 1, 8, "time that it waited uninterruptibly (state D), mostly for storage", _storage,
                 _DOCUMENTS),
    MeasuredFact("Sleep%", "%", 1, 6, "time that it slept: until a lock (futex), a timer, input or another task woke "
                 "it", _asleep, _DOCUMENTS),
    MeasuredFact("WaitsFor", "", -1, 8, "what the task waited for longest: a CPU, storage, sleep, or its quota, by the "
                 "time that it could run while its CPU had nothing to do; ~ instead of sleep what SleepsIn says",
                 _waits_for, _DOCUMENTS),
    MeasuredFact("SleepsIn", "", -1, 8, "what the task slept for when the interval ended: a futex (a lock of "
                 "programs), poll, timer, pipe, socket, child, signal, storage, else the kernel's function; ~: it is "
                 "inferred from one look", _sleeps_in, "proc_pid_wchan(5)"),
)
_SIMULATED: Final = Unavailable(Reason.NO_HARDWARE, "tasks of a simulated machine wait for nothing that is recorded")
SIMULATED: Final = Waits(why_no_records=_SIMULATED, why_no_wakeups=_SIMULATED, why_no_delay=_SIMULATED)
"""What is said of tasks that are simulated."""
WAIT_BY_ID: Final = {fact.id: fact for fact in WAIT_FACTS}
"""By the names of the columns; while one of them is shown, waits are read."""
_UNNUMBERED: Final = "* waits lack threads that were put together with others, or whose number two threads had"
_UNREAD: Final = ("* Wait% and WaitMean lack threads that ended in the interval, or were too many to be read: "
                  "schedstat is read at its end")
_BY_DELAY: Final = frozenset({"Wait%", "WaitMean"})  # columns that are by schedstat where wake-ups are not known


def lacking_threads(waits: Waits | None) -> str:
    """A sentence on the threads of a row that its waits lack; "" if there are none."""
    if waits is None or not (waits.partial or waits.delay_partial):
        return ""
    return _UNNUMBERED if waits.partial else _UNREAD if waits.complete is None else ""


def wait_cell(column: str, waits: Waits, seconds: float) -> MeasuredCell:
    """The value of a column of waits, marked where threads of the row are missing in it, or why it is unknown."""
    by_delay = column in _BY_DELAY and waits.complete is None
    return WAIT_BY_ID[column].of(waits, seconds)._replace(
        partial=waits.delay_partial or waits.partial if by_delay else waits.partial)
