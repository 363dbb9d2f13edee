"""Totals of one application, from one aggregator or from several multiplexed ones joined by instructions.

While a set is on, nothing else of the application is counted: what every set counts is added up, and what only one
counts is brought to all instructions of the row (docs/specs/carm.md 2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.tasks.report import Apart
from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.features.tasks.tables import Grouping, TaskRow, active_tasks, task_rows, whole_run_of, with_own_keys
from turbotui.features.tasks.thread_totals import Mark, Thread
from turbotui.features.tasks.totals_table import IN_NO_ROW
from turbotui.machine.tasks.sets import TaskSampling
from turbotui.quantities.by_key import lists_by_key, sums_by_key

Marks = tuple[Mapping[int, Mark], ...]
"""What the entries of each aggregator had at one instant."""
REFERENCE: Final = "instructions"
"""The event that every set counts, by which multiplexed sets are joined."""


def multiplexing_sentence(sets: int) -> str:
    """The note printed below numbers from multiplexed event sets."""
    return (f"~ not all events fit into one set: {sets} multiplexed sets are joined by instructions, so what not "
            "all of them count is an estimate")


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals over all rows of an application; when whole CPUs are watched, without the idle task."""

    sets: tuple[Mapping[str, int], ...]  # counts by name, of each set while it was on
    lost: int = 0  # samples that found no room
    throttled: int = 0  # times that the kernel held samples back

    @property
    def everything(self) -> dict[str, int | None]:
        """Counts by name: summed if every set counts the event, otherwise scaled to all instructions.

        None where the set that counts it saw no instruction while others did.
        """
        return self.brought_to({})

    def brought_to(self, sums: Mapping[str, int]) -> dict[str, int | None]:
        """Counts by name, scaled to the given sums of the events that every set counts."""
        names = dict.fromkeys(name for counter_set in self.sets for name in counter_set)
        always = {name: sums[name] if name in sums else sum(counter_set[name] for counter_set in self.sets)
                  for name in names
                  if all(name in counter_set for counter_set in self.sets)}
        return {name: always[name] if name in always else _brought(name, always[REFERENCE], self.sets)
                for name in names}


class ApplicationTotals:
    """Totals of one application, of all its event sets together, each with an aggregator.

    Attributes:
        choice: how the threads are sampled; of its counters those of the first set.
        names: of everything that a set counts.
        always: of what every set counts.
    """

    def __init__(self, aggregators: Sequence[SampleAggregator]) -> None:
        self._aggregators = tuple(aggregators)
        first = aggregators[0]
        self.choice: TaskSampling = first.choice
        self.timeline = first.timeline
        self.names = tuple(dict.fromkeys(name for aggregator in aggregators for name in aggregator.names))
        self.always = frozenset(self.names).intersection(*(aggregator.names for aggregator in aggregators))

    @property
    def set_count(self) -> int:
        """How many event sets are multiplexed; 1 where none is."""
        return len(self._aggregators)

    @property
    def lost(self) -> int:
        """Samples lost because a ring buffer was full."""
        return sum(aggregator.lost for aggregator in self._aggregators)

    @property
    def throttled(self) -> int:
        """How often the kernel throttled sampling."""
        return sum(aggregator.throttled for aggregator in self._aggregators)

    @property
    def misnumbered(self) -> int:
        """Samples whose thread is unknown because another program's sampler numbered them."""
        return sum(aggregator.misnumbered for aggregator in self._aggregators)

    @property
    def samples(self) -> int:
        """Samples added to totals so far."""
        return sum(entry.samples for aggregator in self._aggregators for entry in aggregator.entries()
                   if entry.tid not in IN_NO_ROW)

    @property
    def together(self) -> int:
        """The number of threads merged into shared rows because there are too many threads."""
        return max(aggregator.together for aggregator in self._aggregators)

    @property
    def tail(self) -> tuple[int, ...]:
        """Counts that appeared in the final read but in no sample, by `names`, for each set while it was active."""
        return self._added([aggregator.tail for aggregator in self._aggregators])

    @property
    def read(self) -> tuple[int, ...] | None:
        """Counts of the final read; None until the counters are closed."""
        reads = [aggregator.read for aggregator in self._aggregators if aggregator.read is not None]
        return self._added(reads) if len(reads) == len(self._aggregators) else None

    def sums(self) -> tuple[int, ...]:
        """Counts over all entries, including those without a row, for each set while it was active."""
        return self._added([aggregator.sums() for aggregator in self._aggregators])

    def apart(self, since: Marks | None = None) -> dict[str, Apart]:
        """Counts of whole CPUs that no row has, by kind: the idle task, and threads outside the command.

        Without what only one of several sets counts, for that was counted for a part of the time.
        """
        parts: dict[str, Apart] = {}
        for aggregator, marks in self._since(since):
            for what, done in aggregator.apart(marks).items():
                part = parts.setdefault(what, Apart({name: 0 for name in self.names if name in self.always}, {}))
                for name, count in zip(aggregator.names, done.totals, strict=True):
                    if name in part.counts:
                        part.counts[name] += count
                for cpu, load in done.loads_by_cpu().items():
                    part.loads[cpu] = part.loads.get(cpu, 0) + load
        return parts

    def totals(self, since: Marks | None = None) -> Totals:
        """Counts of the rows since the given marks, or since the start.

        It is added up from the entries that there are, as rows are: a set that turns out to count what another one
        counts too is left out with all that it had, and a difference of two sums would fall below zero.
        """
        sets = [dict(zip(aggregator.names, aggregator.sums_since(marks or {}), strict=True))
                for aggregator, marks in self._since(since)]
        return Totals(tuple(sets), self.lost, self.throttled)

    @property
    def reads(self) -> tuple[Mapping[str, int] | None, ...]:
        """Counts of each set's final read by name; None until that read."""
        return tuple(None if aggregator.read is None else dict(zip(aggregator.names, aggregator.read, strict=True))
                     for aggregator in self._aggregators)

    def marks(self) -> Marks:
        """The current marks of all entries, from which a later interval is subtracted."""
        return tuple(aggregator.marks() for aggregator in self._aggregators)

    def tidy(self) -> tuple[Mapping[int, int], ...]:
        """Merge the oldest ended threads when there are too many."""
        return tuple(aggregator.tidy() for aggregator in self._aggregators)

    def threads(self, rows: Iterable[TaskRow]) -> dict[int, Thread]:
        """The ids of the threads in some rows by the serial numbers of their entries; each event set has entries.

        Left out are threads that ended before, merged threads, and threads that had the same number in turn: what is
        known by number is of both.
        """
        listed = list(rows)
        serials, ran = (frozenset[int]().union(*each) for each in (
            [row.serials for row in listed], [row.ran for row in listed]))
        threads: dict[int, Thread] = {}
        shared: set[int] = set()
        for aggregator in self._aggregators:
            own = [entry for entry in aggregator.entries() if entry.tid > 0 and entry.serial in serials
                   and (not entry.ended or entry.serial in ran)]
            threads |= {entry.serial: Thread(entry.pid, entry.tid) for entry in own}
            shared.update(tid for tid, times in Counter(entry.tid for entry in own).items() if times > 1)
        return {serial: thread for serial, thread in threads.items() if thread.tid not in shared}

    def rows(self, by: Grouping, since: Marks | None = None, application: str = "",
             before: Marks | None = None) -> list[TaskRow]:
        """Rows by falling run time.

        Args:
            by: what a row stands for.
            since: marks of an instant before; None: from the beginning.
            before: marks of a still earlier instant: for events whose set had no time slice since the other one.
        """
        if len(self._aggregators) == 1:
            rows = task_rows(self._aggregators[0], by, None if since is None else since[0], application)
            return with_own_keys(rows) if by is Grouping.THREAD else rows

        active = None if since is None else set().union(
            *(active_tasks(aggregator, by, mark) for aggregator, mark in zip(self._aggregators, since, strict=True)))

        def parts(marks: Marks | None) -> list[list[TaskRow]]:
            return [task_rows(aggregator, by, mark, application, idle=True, only=active)
                    for aggregator, mark in self._since(marks)]

        rows = joined(parts(since), self.names, self.always, () if before is None else parts(before))
        return rows if since is None else [row for row in rows if any(row.counts.values())]

    def _since(self, marks: Marks | None) -> Iterator[tuple[SampleAggregator, Mapping[int, Mark] | None]]:
        return zip(self._aggregators, (None,) * len(self._aggregators) if marks is None else marks, strict=True)

    def _added(self, values: Sequence[Sequence[int]]) -> tuple[int, ...]:
        totals = dict.fromkeys(self.names, 0)
        for aggregator, numbers in zip(self._aggregators, values, strict=True):
            for name, number in zip(aggregator.names, numbers, strict=True):
                totals[name] += number
        return tuple(totals.values())


def joined(parts: Sequence[Sequence[TaskRow]], names: Sequence[str], always: frozenset[str],
           longer: Sequence[Sequence[TaskRow]] = ()) -> list[TaskRow]:
    """Join the rows of multiplexed sets into one row per thread, process or command.

    Args:
        names: of everything that a set counts.
        always: of what every set counts.
        longer: the same over a longer time, for events whose set had no time slice.
    """
    spans, past = _by_task(parts), _by_task(longer)
    together = [_together(rows, names, always, past.get(key, ())) for key, rows in spans.items()]
    return sorted(together, key=lambda row: (-row.run_seconds, row.pid or 0, row.tid or 0))


def _by_task(parts: Sequence[Sequence[TaskRow]]) -> dict[str | tuple[int, int | None], list[TaskRow]]:
    return lists_by_key((row.name if row.pid is None else (row.pid, row.tid), row) for rows in parts for row in rows)


def _estimate(name: str, everything: int, *spans: Sequence[TaskRow]) -> int | None:
    """A count that only some sets have, scaled to all instructions by the first span in which such a set was active."""
    return next((estimate for rows in spans
                 if (estimate := _brought(name, everything, [row.counts for row in rows])) is not None), None)


def _brought(name: str, everything: int, sets: Sequence[Mapping[str, int]]) -> int | None:
    """A count scaled by the instructions counted beside it; None if the set that counts it saw no instructions."""
    counting = [counter_set for counter_set in sets if name in counter_set]
    beside = sum(counter_set[REFERENCE] for counter_set in counting)
    if not beside and everything:
        return None
    return round(sum(counter_set[name] for counter_set in counting) * everything / (beside or 1))


def _together(rows: Sequence[TaskRow], names: Sequence[str], always: frozenset[str],
              longer: Sequence[TaskRow]) -> TaskRow:
    most = max(rows, key=lambda row: row.run_seconds)
    loads = sums_by_key((cpu, load) for row in rows for cpu, load in row.loads.items())
    everything = sum(row.counts[REFERENCE] for row in rows)
    counts: dict[str, int] = {}
    for name in names:
        value = (sum(row.counts[name] for row in rows) if name in always
                 else _estimate(name, everything, rows, longer))
        if value is not None:  # else it did not run while this was counted
            counts[name] = value
    return replace(
        most,
        threads=max(row.threads for row in rows),
        cpus=tuple(sorted(set().union(*(row.cpus for row in rows)))),
        counts=counts,
        migrations=sum(row.migrations for row in rows),
        loads=loads,
        whole_run=whole_run_of(rows),
        guessed=any(row.guessed for row in rows),
        incomplete=any(row.incomplete for row in rows),
        ended=any(row.ended for row in rows),
        serials=frozenset().union(*(row.serials for row in rows)),
        ran=frozenset().union(*(row.ran for row in rows)),
        died=frozenset().union(*(row.died for row in rows)),
        estimated=frozenset(names) - always,
    )
