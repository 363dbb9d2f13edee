"""Adds up who ran beside whom, interval by interval, and assigns it to rows; unknown where switches went unseen."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.features.tasks.parallel_columns import ParallelWindow, cause_of
from turbotui.features.tasks.tables import TaskRow
from turbotui.machine.tasks.parallelism import (
    LAG_NS,
    Parallelism,
    ParallelSpan,
    ParallelTime,
    Piece,
    SerialStretch,
    rename_threads,
)
from turbotui.quantities.by_key import total_of
from turbotui.quantities.unavailable import Reason, Unavailable

_LOOK_NS: Final = 50_000_000  # between two looks at what threads wait for
_LOOKS: Final = 2_000  # latest looks that are kept
_DISPLACED_NS: Final = 2_000_000  # before a look, in which it may have taken the CPU from what is watched
_LATE: Final = 1e-3  # share of the run time that may be missing because it was reported late
_LATE_WORD: Final = "slices of run time were reported too late"
_OVERRUN: Final = Unavailable(Reason.NOT_READ, "a thread that runs on did not report its run time")


class ParallelWatch:
    """Who ran beside whom in one application.

    Args:
        began: when watching began, in ns; None: with the first slice, of a command.
        cpus: on which threads can run: no more run at a time.
        drawn: whether serial stretches are kept.
        looks: whether to look at what threads wait for.
        why: why this cannot be known at all; None where it can.
    """

    def __init__(self, began: int | None, cpus: int, *, drawn: bool, looks: bool = False,
                 why: Unavailable | None = None) -> None:
        self.slices = Parallelism(began, cpus=cpus, keep_stretches=drawn)
        self.looks = looks or drawn
        self.why = why
        self._unsettled: deque[tuple[int, str]] = deque(maxlen=_LOOKS)
        self._idle: Counter[str] = Counter()
        self._ran_until: int | None = None
        self._interval: tuple[ParallelSpan, dict[int, ParallelTime]] = ParallelSpan(), {}
        self._everything: tuple[ParallelSpan, dict[int, ParallelTime]] = ParallelSpan(), {}
        self._unseen: list[Mapping[str, int]] = [{}]
        self._looks: deque[tuple[int, dict[int, str]]] = deque(maxlen=_LOOKS)
        self._called = 0
        self._whys: tuple[Unavailable | None, Unavailable | None] = None, None

    def begin(self, unseen: Mapping[str, int]) -> None:
        """Note what was unseen before."""
        self._unseen = [unseen]

    def settle(self, now: int, open_since: int | None) -> list[Piece]:
        """Add up what is known by now; see `Parallelism.settle`.

        The clock of a thread may rest until the next call (`clock_throttle`), so that a thread reports within 50 ms of
        a call, however late that is on a machine without a free CPU.
        """
        until, self._called = min(now - LAG_NS, self._called or now - LAG_NS), now
        return self._explained(self.slices.settle(until, open_since))

    def finish(self) -> list[Piece]:
        """Add up all that ran, when all that is watched has ended."""
        return self._explained(self.slices.finish())

    def _explained(self, pieces: list[Piece]) -> list[Piece]:
        """Note what was waited for at the looks that fell into settled moments in which none ran."""
        settled, at = self.slices.settled, 0
        while settled is not None and self._unsettled and self._unsettled[0][0] < settled:
            time, cause = self._unsettled.popleft()
            while at < len(pieces) and pieces[at][0] <= time:
                self._ran_until = pieces[at][1]
                at += 1
            if self._ran_until is not None and time - self._ran_until > _DISPLACED_NS:
                self._idle[cause] += 1
        self._ran_until = pieces[-1][1] if pieces else self._ran_until
        return pieces

    def look_in(self, now: int) -> float:
        """Seconds until the next look at what threads wait for; 0 if it is time, infinite if there is none.

        Who waits for records has to wake up then: looks only where records came would be looks while threads run.
        """
        if not self.looks:
            return math.inf
        return max(0, self._looks[-1][0] + _LOOK_NS - now) / 1e9 if self._looks else 0.0

    def look(self, now: int, waits: dict[int, str]) -> None:
        """Note what each thread that waits waits for, by its entry's number."""
        self._looks.append((now, waits))
        self._unsettled.append((now, cause_of(waits.values())))

    def waited(self, stretch: SerialStretch) -> dict[int, str]:
        """What the other threads waited for in a serial stretch, by the looks in it; empty where there was none."""
        words: dict[int, Counter[str]] = {}
        for time, waits in self._looks:
            if stretch.start < time <= stretch.end:
                for thread, word in waits.items():
                    words.setdefault(thread, Counter())[word] += 1
        return {thread: seen.most_common(1)[0][0] for thread, seen in words.items() if thread != stretch.thread}

    def renumber(self, numbers: Mapping[int, int]) -> None:
        """Give the time of entries to others, which they were merged into."""
        if numbers:
            self.slices.renumber(numbers)
            for _span, threads in (self._interval, self._everything):
                rename_threads(threads, numbers)

    def end_interval(self, unseen: Mapping[str, int]) -> None:
        """End the interval.

        Args:
            unseen: by what it is: how often something went unseen so far. What was lost in an interval makes the next
                one unknown too, for slices before the loss may be settled in it.
        """
        span, threads = self._interval = self.slices.take()
        total, everything = self._everything
        total.span += span.span
        total.ran += span.ran
        total.covered += span.covered
        total.alone += span.alone
        total.late += span.late
        total.crowded += span.crowded
        for thread, time in threads.items():
            everything.setdefault(thread, ParallelTime()).add(time)
        self._unseen = [*self._unseen[-2:], unseen]
        self._whys = self._why(self._unseen[0], span), self._why({}, total)

    def window(self, *, whole: bool) -> ParallelWindow:
        """The window of the interval that ended last, or of the time since watching began."""
        span, why = (self._everything[0], self._whys[1]) if whole else (self._interval[0], self._whys[0])
        waited = tuple(self._idle.most_common()) if whole else ()
        return ParallelWindow(span.span, span.ran, span.covered, span.alone, why, waited)

    def rows(self, rows: Sequence[TaskRow], *, whole: bool) -> list[TaskRow]:
        """The rows with the times of their threads."""
        threads = (self._everything if whole else self._interval)[1]
        return [replace(row, parallel=total_of(ParallelTime(), (
            threads[serial] for serial in row.serials if serial in threads))) for row in rows]

    def _why(self, before: Mapping[str, int], span: ParallelSpan) -> Unavailable | None:
        if self.why is not None:
            return self.why
        if self.slices.overrun:
            return _OVERRUN
        for what, times in self._unseen[-1].items():
            if times > before.get(what, 0):
                return Unavailable(Reason.NOT_READ, f"{what} ({times - before.get(what, 0)})")
        if span.late > _LATE * span.ran:
            return Unavailable(Reason.NOT_READ, f"{span.late / 1e6:.3f} ms of {span.ran / 1e6:.3f} ms: {_LATE_WORD}")
        if span.crowded > _LATE * span.ran:
            return Unavailable(Reason.OUT_OF_RANGE,
                               f"more threads ran than there are CPUs for {span.crowded / 1e6:.3f} ms")
        return None
