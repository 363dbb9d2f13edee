"""The entries of sampled threads: found by thread id, named, summed, and merged by name if there are too many."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final, NamedTuple

from turbotui.dataclass import dataclass
from turbotui.features.tasks.cpu_time import CPU_TIME, CpuTime
from turbotui.features.tasks.thread_totals import RUN, Mark, ThreadTotals, places_of
from turbotui.features.tasks.timeline import Timeline
from turbotui.machine.perf_records import Record
from turbotui.machine.tasks.sets import Mode, TaskSampling
from turbotui.machine.tasks.slices import RunTimes

ENDED: Final = 4_000
"""Threads that ended and keep a row of their own; older ones are put together by name."""
ALIVE: Final = 4_000
"""Threads that live and keep a row of their own; those that ran least are put together by name."""
_NAMES: Final = 1_000  # names that those are put together by; the rest is one row
_LATE_NS: Final = 2_000_000_000  # after a thread's end by which its last counts have come, or never will
_SILENT_NS: Final = 60_000_000_000  # after which a thread without samples has ended, where records were lost
LOST: Final = -2
"""What nobody can be named for."""
OTHERS: Final = -3
"""Who is no descendant of what is watched."""
OUTSIDE: Final = -4
"""Who has no number in the pid namespace in which the counters were opened, and is not the idle task for certain."""
MISNUMBERED: Final = -5
"""Who was counted while another program numbered the samples (`sample_numbers`)."""
IDLE_PART: Final = "idle"
OUTSIDE_PART: Final = "outside what may be seen"
MEANWHILE_PART: Final = "ended meanwhile, or interrupts"
EITHER_PART: Final = "idle or outside what may be seen"
MISNUMBERED_PART: Final = "numbered by another program"
IN_NO_ROW: Final = {0: IDLE_PART, OTHERS: "others", OUTSIDE: OUTSIDE_PART, MISNUMBERED: MISNUMBERED_PART}
"""Accounts of whole CPUs that are no row: nobody's work, or that of others than a watched command, by thread number."""
_UNNAMED: Final = {0: "idle", -1: "(ending)", LOST: "(lost samples)", OTHERS: "(others)", OUTSIDE: "(outside)",
                   MISNUMBERED: "(numbered by another program)"}
_MANY: Final = "(many names)"
_GONE: Final = 4_096  # threads whose names are remembered after their end


class MergedThread(NamedTuple):
    """A living thread whose totals are part of another entry."""

    owner: ThreadTotals  # the entry that it is part of
    places: int  # where it was seen


@dataclass(slots=True)
class MultiplexedSets:
    """Entry numbers and last CPUs of threads, shared by all aggregators of one application."""

    listeners: list[Callable[[int, Record], None]] = field(default_factory=list)  # take records that all have to know
    serials: Iterator[int] = field(default_factory=itertools.count)  # gives entries their numbers
    places: dict[int, int] = field(default_factory=dict)  # by thread the CPU where it was seen last

    def moved(self, tid: int, cpu: int) -> bool:
        """Record a sample's CPU; return whether the thread has migrated since its last sample."""
        last = self.places.get(tid, cpu)
        self.places[tid] = cpu
        return last != cpu


class TotalsTable:
    """Entries of threads, which an aggregator fills.

    Args:
        roots: by the identifier of a sample: the thread whose set took it (`TaskTracer.roots`, which grows).
        multiplexed: what the aggregators of multiplexed event sets share; None where there is one set.
        scheduled: whether CPU time is booked beside perf's task clock.

    Attributes:
        names: of what is counted.
        time: adds CPU time; None where that is perf's task clock.
        lost: samples that found no room.
        newest: time of the latest record.
    """

    def __init__(self, choice: TaskSampling, roots: Mapping[int, int], timeline: Timeline | None, *, ended: int,
                 alive: int, multiplexed: MultiplexedSets | None, scheduled: bool = False) -> None:
        self.choice = choice
        self.names = (*choice.names, CPU_TIME) if scheduled else choice.names
        self.time = CpuTime(len(choice.names)) if scheduled else None
        self.lost = 0
        self.timeline = timeline or Timeline()
        self.newest = 0
        self._run = self.names.index(RUN)
        self._zero = (0,) * len(self.names)
        self._early: dict[int, list[int]] = {}
        self._keep, self._keep_alive = ended, alive
        self._limit = min(ended, alive)
        self._multiplexed = multiplexed
        self._serials = itertools.count() if multiplexed is None else multiplexed.serials
        self._entries: dict[tuple[int, int], ThreadTotals] = {}
        self._by_tid: dict[int, list[ThreadTotals]] = {}
        self._finished: list[ThreadTotals] = []
        # of whole CPUs, threads that ended long ago, to which nothing has been added since the marks before the last
        self._settled: dict[int, ThreadTotals] = {}
        self._marks: dict[int, Mark] = {}
        self._together: dict[str, ThreadTotals] = {}
        self._torn: set[int] = set()  # processes of which a further thread is, or was, in an entry of several
        self._merged: dict[tuple[int, int], MergedThread] = {}
        self._last: dict[tuple[int, int, int], tuple[int, ...]] = {}
        # by root and thread, or by whole CPU and -1: ns for which the counters were to count
        self._enabled: dict[tuple[int, int], int] = {}
        self._unseen: set[tuple[int, int]] = set()
        self._known: dict[int, str] = {}
        self._cut: list[ThreadTotals] = []
        self._gone: deque[int] = deque()
        self._twice: set[int] = set()
        self._roots = roots
        self._roots_seen, self._with_sets = 0, frozenset[int]()
        self._kept: set[int] | None = None

    def name(self, tid: int, name: str) -> None:
        """Record a thread's name, as /proc has it."""
        if name:
            self._known[tid] = name

    def name_of(self, tid: int) -> str:
        """Return a thread's name, also of one that did nothing yet; "" if it is not known."""
        return self._known.get(tid, "")

    def rename(self, tid: int, name: str) -> None:
        """Record a thread's name, as /proc has it now, unless another name is known."""
        self.name(tid, name)
        for entry in self._by_tid.get(tid, ()):
            entry.name = entry.name or name

    def spend(self, ran: RunTimes) -> None:
        """Add the run times of threads between switches, after the samples of the same time."""
        if self.time is None:
            return
        for tid, spent in ran.threads.items():
            if owners := self._by_tid.get(tid):
                owner = next((entry for entry in owners if entry.root not in self._twice), owners[0])
                owner.totals[self.time.place] += spent
                owner.guessed = owner.guessed or tid in ran.guessed
            elif (merged := self._merged_of(tid)) is not None:
                merged.owner.totals[self.time.place] += spent
            elif tid in self._known:
                self.time.claim_later(tid, spent)

    def _merged_of(self, tid: int) -> MergedThread | None:
        if not self._merged:
            return None
        self._look_at_roots()
        keys = ((root, tid) for root in (-1, *self._with_sets))
        return next((merged for key in keys if (merged := self._merged.get(key)) is not None), None)

    def of_threads(self) -> list[ThreadTotals]:
        """Return the entries of threads that live, or ended a little while ago."""
        return [entry for entry in self._entries.values() if entry.root not in self._twice]

    def nameless(self) -> list[tuple[int, int]]:
        """Return the living processes and threads whose names are unknown."""
        return [(entry.pid, entry.tid) for entry in self._entries.values()
                if not entry.name and not entry.ended and entry.pid > 0]

    def entries(self) -> list[ThreadTotals]:
        """The entries of all threads; a thread id that was reused has several.

        Left out are sets that another root's set counts already: of threads made between the open of one and the look
        for others. They saw the same counts again.
        """
        return [*self._settled.values(), *self.recent()]

    def recent(self) -> list[ThreadTotals]:
        """The entries to which something may have been added since the last marks, or in the interval before."""
        everyone = [*self._together.values(), *self._finished, *self._entries.values()]
        return [entry for entry in everyone if entry.root not in self._twice] if self._twice else everyone

    def sums(self) -> tuple[int, ...]:
        """Return the totals by name over all entries, including those without a row."""
        return tuple(map(sum, zip(self._zero, *(entry.totals for entry in self.entries()), strict=True)))

    def sums_since(self, since: Mapping[int, Mark]) -> tuple[int, ...]:
        """Return the counts since marks over all entries with a row; for an entry without a mark, all of its counts."""
        totals = [0] * len(self.names)
        for entry in self.recent() if since else self.entries():
            if entry.tid not in IN_NO_ROW:
                mark = since.get(entry.serial)
                if mark is not None and mark.totals == tuple(entry.totals):
                    continue  # most threads sleep
                for number, value in enumerate(entry.totals):
                    totals[number] += value - (0 if mark is None else mark.totals[number])
        return tuple(totals)

    def apart(self, since: Mapping[int, Mark] | None = None) -> dict[str, Mark]:
        """Return what the entries without a row (idle task, other threads) did since marks or since the start."""
        return {what: entry.since((since or {}).get(entry.serial)) for tid, what in IN_NO_ROW.items()
                if (entry := self._entries.get((-1, tid))) is not None}

    def marks(self) -> dict[int, Mark]:
        """Return the current marks of all entries, by serial number."""
        self._early.clear()
        late = self.newest - _LATE_NS if self.choice.mode is Mode.CPUS else 0
        for entry in self.recent():
            mark, before = entry.mark(), self._marks.get(entry.serial)
            if mark is before and 0 < entry.ended_ns < late and entry.held is None:
                self._settled[entry.serial] = entry
            self._marks[entry.serial] = mark
        self._finished = [entry for entry in self._finished if entry.serial not in self._settled]
        for key in [key for key, entry in self._entries.items() if entry.serial in self._settled]:
            self._forget(key)
        return self._marks.copy()

    def cut(self, span: int, elsewhere: Mapping[int, int] | None = None) -> dict[int, int]:
        """Hold back what a thread can only have done after the end of an interval, until `go_on`.

        Records are taken, and schedstat is read, a thread at a time and after the instant at which the interval is said
        to end. Of a run time beyond the interval all counts are held back in proportion, so that clocks and rates per
        instruction stay what they are.

        Args:
            span: ns from the last marks to the end of the interval.
            elsewhere: ns that other event sets counted of each thread in the same interval.

        Returns:
            The ns of run time of each thread that stay in the interval, those elsewhere included.
        """
        spent = dict(elsewhere or {})
        for entry in self.recent():
            if entry.tid not in IN_NO_ROW:
                before = spent.get(entry.tid, 0) if entry.threads == 1 else 0
                spent[entry.tid] = before + self._cut_entry(entry, span * entry.threads - before)
        return spent

    def _cut_entry(self, entry: ThreadTotals, span: int) -> int:
        """Hold back a thread's counts beyond a span; returns the ns of run time that are left."""
        totals, last, early = entry.totals, entry.last_totals, self._early.get(entry.serial) or self._zero
        run = self._run if self.time is None else self.time.place  # whose time is shown
        ran = totals[self._run] - last[self._run] - early[self._run]
        if ran <= span and totals[run] - last[run] - early[run] <= span:
            return ran
        new = [total - old - late for total, old, late in zip(totals, last, early, strict=True)]
        over = min(new[self._run], new[self._run] - span)
        held = [max(0, count) * over // new[self._run] for count in new] if over > 0 else [0] * len(new)
        if self.time is not None:
            held[self.time.place] = max(0, new[self.time.place] - span)
        entry.hold(held)
        self._cut.append(entry)
        return new[self._run] - held[self._run]

    def go_on(self) -> None:
        """Add what was held back at the end of an interval."""
        for entry in self._cut:
            entry.go_on()
        self._cut.clear()

    def early(self) -> Mapping[int, Sequence[int]]:
        """Return the counts that were added since `marks` but happened before the interval began, by serial number."""
        return self._early

    @property
    def together(self) -> int:
        """The number of threads that are merged with others, and have no row of their own."""
        return sum(entry.threads for entry in self._together.values())

    @property
    def is_full(self) -> bool:
        """Whether there are so many entries that `tidy` is due."""
        return len(self._entries) + len(self._finished) > self._limit

    def tidy(self) -> dict[int, int]:
        """Merge the oldest ended threads by name if there are too many, and forget old parts of the timeline.

        A thread that has a set of its own keeps its entry, for the last read of that set is still to come; so does
        one whose last counts are still to come.

        Returns:
            The serial number of each entry that is no more, and of the one that it is part of now: differences to
            earlier marks need it.
        """
        self.timeline.forget()
        ended: list[tuple[int, int]] = []
        alive: list[tuple[int, int]] = []
        for key, entry in self._entries.items():
            # who is no thread goes on for ever, and would be one among those put together
            if entry.root != entry.tid and entry.tid not in _UNNAMED and entry.root not in self._twice:
                (ended if self._over(entry) else alive).append(key)
        moved: dict[int, int] = {}
        if (surplus := len(ended) + len(self._finished) + len(self._settled) - self._keep) > 0:
            old = [self._settled.pop(serial) for serial in [*self._settled][:surplus]]
            rest = surplus - len(old)
            old, self._finished = [*old, *self._finished[:rest]], self._finished[rest:]
            old.extend(self._forget(key) for key in ended[: surplus - len(old)])
            for entry in old:
                if entry.root not in self._twice:  # it may have become so since it ended
                    self._join(entry, moved)
        if len(alive) > self._keep_alive:
            least = heapq.nsmallest(len(alive) - self._keep_alive, alive,
                                    key=lambda key: self._entries[key].totals[self._run])
            for key in least:
                self._silence(key, moved)
        for serial in moved:
            self._marks.pop(serial, None)
        if moved and self._multiplexed is not None:
            places = self._multiplexed.places
            for tid in [tid for tid in places if tid not in self._by_tid]:
                del places[tid]
        self._limit = len(self._entries) + len(self._finished) + max(1, min(self._keep, self._keep_alive) // 8)
        return moved

    def _over(self, entry: ThreadTotals) -> bool:
        """Tell whether no more samples of an ended thread can arrive."""
        if not entry.ended:  # its end may have been lost
            return bool(self.lost) and 0 < entry.seen_ns < self.newest - _SILENT_NS
        if self.time is not None and (self.time.until or self.newest) < entry.ended_ns + _LATE_NS // 1_000:
            return False  # its last switch is still to come
        return entry.closed or not self.choice.last or self.newest - entry.ended_ns > _LATE_NS

    def lacks_some(self, entry: ThreadTotals, *, process: bool) -> bool:
        """Whether a part of what a thread, or its process, did is in an entry of several threads."""
        return entry.pid in self._torn if process else entry.resumed

    def _join(self, entry: ThreadTotals, moved: dict[int, int]) -> ThreadTotals:
        """Merge an entry with others of the same name, and return the merged entry."""
        if entry.pid != entry.tid:
            self._torn.add(entry.pid)
        name = entry.name if entry.name in self._together or len(self._together) < _NAMES else _MANY
        owner = self._together.get(name)
        self.timeline.drop(entry.serial)
        if owner is None:
            entry.shrink(name)
            self._together[name] = entry
            return entry
        owner.add_thread(entry, self._run)
        if entry.held:
            self._cut.append(owner)
        moved[entry.serial] = owner.serial
        if (early := self._early.pop(entry.serial, None)) is not None:
            before = self._early.get(owner.serial, [0] * len(early))
            self._early[owner.serial] = [count + more for count, more in zip(before, early, strict=True)]
        return owner

    def _silence(self, key: tuple[int, int], moved: dict[int, int]) -> None:
        """Merge a living thread with others; its last counts are kept, so that later differences are right."""
        entry = self._entries.pop(key)
        self._leave(entry)
        places = entry.places
        self._merged[key] = MergedThread(self._join(entry, moved), places)

    def _separate(self, entry: ThreadTotals) -> None:
        """Give a merged thread an entry of its own again."""
        if (merged := self._merged.pop((entry.root, entry.tid), None)) is not None:
            merged.owner.threads -= 1
            entry.places, entry.resumed = merged.places, True
            self._torn.add(entry.pid)

    def _forget_names(self, tid: int) -> None:
        """Limit the number of names kept of ended threads that never had an entry."""
        self._gone.append(tid)
        if len(self._gone) > _GONE:
            old = self._gone.popleft()
            if old not in self._by_tid:
                self._known.pop(old, None)
                self._forget_merged(old)
                if self.time is not None:
                    self.time.forget(old)
            if self._kept is not None:
                self._kept.discard(old)

    def _forget(self, key: tuple[int, int]) -> ThreadTotals:
        entry = self._entries.pop(key)
        if self._leave(entry) and entry.ended:
            self._known.pop(entry.tid, None)
        self._forget_last(key, entry.places)
        return entry

    def _leave(self, entry: ThreadTotals) -> bool:
        """Stop finding an entry by its thread id, and return whether the id is free."""
        same = self._by_tid[entry.tid]
        same.remove(entry)
        if not same:
            del self._by_tid[entry.tid]
        return not same

    def _forget_merged(self, tid: int) -> None:
        """Forget a merged thread that has ended, or whose thread id is reused."""
        if self._merged:
            self._look_at_roots()
            for root in (-1, *self._with_sets):
                if (merged := self._merged.pop((root, tid), None)) is not None:
                    self._forget_last((root, tid), merged.places)

    def _forget_last(self, key: tuple[int, int], places: int) -> None:
        self._enabled.pop(key, None)
        for cpu in (*places_of(places), -1):
            self._last.pop((*key, cpu), None)

    def _entry(self, root: int, pid: int, tid: int) -> ThreadTotals:
        entry = self._entries.get((root, tid))
        if entry is None:
            name = self._known.get(tid) or _UNNAMED.get(tid, "")
            entry = ThreadTotals(next(self._serials), pid, tid, root, name, [0] * len(self.names))
            self._entries[root, tid] = entry
            self._by_tid.setdefault(tid, []).append(entry)
            self._unseen.discard((root, tid))
            if pid == tid:  # of a process before it that had the number
                self._torn.discard(pid)
            self._separate(entry)
            if self.time is not None:
                self.time.open(entry)
            if root not in (tid, -1) and self._has_set(tid):
                self._twice.add(tid)
        return entry

    def _has_set(self, tid: int) -> bool:
        self._look_at_roots()
        return tid in self._with_sets

    def _look_at_roots(self) -> None:
        if len(self._roots) != self._roots_seen:
            self._roots_seen, self._with_sets = len(self._roots), frozenset(self._roots.values())
