"""The columns of who makes a program take long: run time weighed by how many threads ran at the same moment."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.tasks.fact_columns import MeasuredCell, MeasuredFact
from turbotui.machine.tasks.parallelism import LAG_NS, ParallelTime
from turbotui.quantities.by_key import sums_by_key, total_of
from turbotui.quantities.sentences import several
from turbotui.quantities.unavailable import Reason, Unavailable

PARALLEL: Final = "parallelism"
"""The word that columns of parallelism need."""
NOT_WEIGHED: Final = Unavailable(
    Reason.NOT_READ, "how many threads ran at a time was not added up: it is while it is shown, from the next interval "
    "on, and is recorded by turbotui record --tables parallel")
MADE_LONG: Final = "Who made it long: "
"""Begins the mark of a kept run that has the sentence on its command."""
_IDLED: Final = Unavailable(Reason.NEVER_RAN, "the task did not run in this time")
_MAIN_SHARE: Final = 0.9  # of the time in which one thread ran alone that the names of the sentence explain
_MOST_NAMES: Final = 3
_NAMED_SHARE: Final = 0.005  # of the time that a name or a wait explains, at least
_UNKNOWN_WAIT: Final = "?"
_CAUSES: Final = {
    "a CPU": "a CPU", "storage": "storage", "socket": "a socket", "timer": "a timer",
    _UNKNOWN_WAIT: "what is not known", "poll": "events (poll)", "pipe": "a pipe", "signal": "a signal",
    "kernel lock": "a lock of the kernel", "futex": "another thread (futex)", "child": "a child",
}
"""What threads wait for (`machine/tasks/sleeping.py`), as the sentence has it: what comes from without a program first,
and last what another of its threads has to do. A function of the kernel stands before polls."""
_RANKS: Final = {word: rank for rank, word in enumerate(_CAUSES)}


@dataclass(frozen=True, slots=True)
class ParallelWindow:
    """The time of which wall-clock shares are shares, and what ran in it, in ns."""

    span: float = 0.0
    ran: float = 0.0  # run time of all threads
    covered: float = 0.0  # in which at least one thread ran
    alone: float = 0.0  # in which exactly one did
    why: Unavailable | None = None  # why shares are unknown; None where they are known
    # looks while none ran, by what the program waited for; of a whole run of a command
    waited: tuple[tuple[str, int], ...] = ()

    def plus(self, other: ParallelWindow) -> ParallelWindow:
        """The window of two consecutive intervals."""
        return ParallelWindow(self.span + other.span, self.ran + other.ran, self.covered + other.covered,
                              self.alone + other.alone, self.why or other.why)

    @property
    def unknown(self) -> Unavailable | None:
        """Why nothing is known of it; None where it is."""
        return self.why or (None if self.span > 0 else NOT_WEIGHED)

    def sentence(self, alone: Mapping[str, float]) -> str:
        """Who ran alone for what share of the time; "" if nothing ran.

        Args:
            alone: ns in which threads of a name ran alone.
        """
        if self.why is not None:
            return f"who makes it long is unknown: {self.why.sentence()}"
        if not self.covered:
            return ""
        names: list[tuple[str, float]] = []
        explained = 0.0
        for name, length in sorted(alone.items(), key=lambda item: (-item[1], item[0])):
            if length < _NAMED_SHARE * self.span or len(names) == _MOST_NAMES or explained >= _MAIN_SHARE * self.alone:
                break
            names.append((name, length))
            explained += length
        whose = ", ".join(name if len(names) == 1 else f"{name} ({length / self.span:.0%})" for name, length in names)
        idle = 1 - self.covered / self.span
        return (f"{self.alone / self.span:.0%} of the time one thread ran alone{f': {whose}' * bool(whose)}; "
                f"none ran for {idle:.0%}{self._waits(idle)}, else {self.ran / self.covered:.2f} at a time "
                f"({self.span / 1e9:.3f} s)").replace("%", " %")

    def _waits(self, idle: float) -> str:
        """What was waited for while none ran, as shares of the time; "" where there was no look."""
        looks = sum(count for _word, count in self.waited)
        shares = [(word, idle * count / looks) for word, count in self.waited if idle * count / looks >= _NAMED_SHARE]
        parts = ", ".join(f"~{share:.0%} for {_CAUSES.get(word, word)}" for word, share in shares[:_MOST_NAMES])
        return f" (waiting {parts}, by {several(looks, 'look')} at /proc)" if parts else ""


def cause_of(waits: Collection[str]) -> str:
    """What a program waits for whose threads, none of which runs, wait for these things."""
    between = _RANKS["poll"] - 0.5
    return min(waits, key=lambda word: (_RANKS.get(word, between), word), default=_UNKNOWN_WAIT)


def times_of_all(parts: Sequence[ParallelTime | None]) -> ParallelTime | None:
    """Add up the times of several rows; None if one row's are unknown."""
    known = [part for part in parts if part is not None]
    return total_of(ParallelTime(), known) if known and len(known) == len(parts) else None


def alone_by_name(rows: Iterable[tuple[str, ParallelTime | None]]) -> dict[str, float]:
    """The ns in which threads of each name ran alone."""
    return sums_by_key((name, time.alone) for name, time in rows if time is not None)


def _share(time: ParallelTime, window: ParallelWindow) -> MeasuredCell:
    return MeasuredCell(100 * time.weighed / window.span)


def _mean(time: ParallelTime, _window: ParallelWindow) -> MeasuredCell:
    return MeasuredCell(time.crowd / time.ran) if time.ran else MeasuredCell(None, _IDLED)


DOCUMENT: Final = "kernel tools/perf/Documentation/cpu-and-latency-overheads.txt"
COST: Final = f"added up while shown; intervals lie {LAG_NS / 1e9:g} s before the other columns'"
PARALLEL_FACTS: Final[tuple[MeasuredFact[ParallelTime, ParallelWindow], ...]] = (
    MeasuredFact("Wall%", "%", 1, 6, "share of the wall-clock time: each moment in which it ran, divided by the number "
                 "of watched threads that ran then; all rows and the time in which none ran are 100. What a program "
                 f"would be faster by, at most, without it; {COST}", _share, DOCUMENT),
    MeasuredFact("Parallel", "", 2, 8, "mean number of watched threads that ran while it ran, itself among them", _mean,
                 DOCUMENT),
    MeasuredFact("Alone%", "%", 1, 6, "share of the wall-clock time in which it ran and no other watched thread did",
                 lambda time, window: MeasuredCell(100 * time.alone / window.span), DOCUMENT),
    MeasuredFact("Wall_s", "s", 6, 12, "wall-clock time that is its own: Wall% in seconds", lambda time, _window:
                 MeasuredCell(time.weighed / 1e9), DOCUMENT, accumulates=True),
    MeasuredFact("Alone_s", "s", 6, 12, "time in which it ran and no other watched thread did", lambda time, _window:
                 MeasuredCell(time.alone / 1e9), DOCUMENT, accumulates=True),
)
"""What is watched: the threads of a program, a control group or the machine (--all)."""
PARALLEL_BY_ID: Final = {fact.id: fact for fact in PARALLEL_FACTS}
"""By the names of the columns; while one of them is shown, parallelism is added up."""


def parallel_cell(column: str, time: ParallelTime | None, window: ParallelWindow | None) -> MeasuredCell:
    """The value of a column, or the reason why it is unknown."""
    why = NOT_WEIGHED if window is None else window.unknown
    if window is None or why is not None:
        return MeasuredCell(None, why)
    return MeasuredCell(None, NOT_WEIGHED) if time is None else PARALLEL_BY_ID[column].of(time, window)
