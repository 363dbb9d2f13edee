"""The books of sampled threads: every difference of two samples is booked once, and the final read closes the books.

Counters are cumulative, so a lost record loses time resolution and nothing else where counters belong to a thread. On
whole CPUs (mode C) a lost switch books two threads' counts on one; then the table says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from turbotui.machine.perf_ring import Exited, Forked, Lost, Named, Reading, Record, Sample, Switched, Throttled
from turbotui.machine.tasks.following import Closing, Taken
from turbotui.machine.tasks.sets import Choice, Mode, When

RUN: Final = "run"
SWITCHES: Final = "switches"
_WHOLE: Final = 0.98  # of the enabled time; less is no longer what reading the two clocks one after the other explains
_SHORT_NS: Final = 1_000_000  # nothing is said of less than a millisecond
_SLICES: Final = 20_000  # of the timeline; older ones are forgotten


@dataclass(frozen=True, slots=True)
class Slice:
    """Where a thread ran: from `start` to `end` in ns of the perf clock, on one CPU."""

    tid: int
    cpu: int
    start: int
    end: int


@dataclass(slots=True)
class Account:
    """One thread's totals, in the order of the names of the set; run time in ns.

    Attributes:
        root: the thread whose set counted it.
        windows: by CPU of the set: ns for which it was enabled, and for which it counted.
    """

    pid: int
    tid: int
    root: int
    name: str
    totals: list[int]
    samples: int = 0
    last_cpu: int = -1
    cpus: set[int] = field(default_factory=set)
    ended: bool = False
    windows: dict[int, tuple[int, int]] = field(default_factory=dict)
    switches_seen: int = 0

    @property
    def incomplete(self) -> bool:
        """Whether the set had to take turns with somebody else's counters, so that counts are too low.

        A set of one CPU counts only while the thread is there, so it is the sum over CPUs that has to be whole.
        """
        enabled = max((window[0] for window in self.windows.values()), default=0)
        running = sum(window[1] for window in self.windows.values())
        return running < _WHOLE * enabled - _SHORT_NS


class Ledger:
    """Accounts of threads, fed with records.

    Args:
        choice: how the threads are sampled.
        roots: by the identifier of a sample: the thread whose set took it (`Follower.roots`, which grows).
    """

    def __init__(self, choice: Choice, roots: Mapping[int, int]) -> None:
        self.choice = choice
        self.names = choice.names
        self.lost = 0
        self.throttled = 0
        self.forked: set[int] = set()
        self._creators: set[int] = set()
        self.timeline: deque[Slice] = deque(maxlen=_SLICES)
        self.tail: tuple[int, ...] = (0,) * len(self.names)
        self.read: tuple[int, ...] | None = None
        self._run = self.names.index(RUN)
        self._accounts: dict[tuple[int, int], Account] = {}
        self._finished: list[Account] = []
        self._last: dict[tuple[int, int, int], Reading] = {}
        self._known: dict[int, str] = {}
        self._roots = roots

    def name(self, tid: int, name: str) -> None:
        """A thread's name as /proc has it."""
        if name:
            self._known[tid] = name

    def feed(self, taken: Iterable[Taken]) -> None:
        """Book what came, in the order of time across rings."""
        rows = [(record.time, order, ring.cpu, record) for order, ring in enumerate(taken) for record in ring.records]
        rows.sort(key=lambda row: row[:2])
        for _time, _order, cpu, record in rows:
            self._book(cpu, record)

    def close(self, closings: Sequence[Closing]) -> None:
        """Book what was counted after the last samples.

        A thread's own counters go to the thread, as do those that no other thread inherited. Where the kernel only
        gives the sum over all threads that inherited a set, or over a CPU, what no sample showed goes to `tail`:
        switches-out of ending threads give no sample.
        """
        rejected = self._rejected()
        tail, total = [0] * len(self.names), [0] * len(self.names)
        lost = 0
        for closing in closings:
            if closing.root in rejected:
                continue
            values = closing.reading.values
            lost += sum(closing.reading.lost)
            for number, value in enumerate(values):
                total[number] += value
            # A set that nobody inherited counted one thread; a lost FORK record would have hidden an heir.
            alone = self.choice.mode is Mode.INHERITED and closing.root not in self._creators and not self.lost
            if alone or self.choice.mode is Mode.THREADS:
                account = self._account(closing.root, closing.root, closing.root)
                self._add(account, (closing.root, closing.root, closing.cpu), closing.reading)
        if self.choice.mode is not Mode.THREADS:
            booked = self.sums()
            tail = [value - known for value, known in zip(total, booked, strict=True)]
        self.lost = max(self.lost, lost)
        self.tail, self.read = tuple(tail), tuple(total)

    def accounts(self) -> list[Account]:
        """One for each thread; a number that was used again has several."""
        rejected = self._rejected()
        return [one for one in (*self._finished, *self._accounts.values()) if one.root not in rejected]

    def sums(self) -> tuple[int, ...]:
        """Over all accounts."""
        totals = [0] * len(self.names)
        for account in self.accounts():
            for number, value in enumerate(account.totals):
                totals[number] += value
        return tuple(totals)

    def _rejected(self) -> frozenset[int]:
        """Roots that another root's set counts already: threads made between the open of one and the look for others.

        Their own sets saw the same counts again.
        """
        everyone = (*self._finished, *self._accounts.values())
        return frozenset(one.tid for one in everyone if one.root not in (one.tid, -1))

    def _book(self, cpu: int, record: Record) -> None:
        match record:
            case Sample():
                self._sample(cpu, record)
            case Lost():
                self.lost += record.count
            case Named():
                self._known[record.tid] = record.name
                for account in self._accounts.values():
                    if account.tid == record.tid:
                        account.name = record.name
            case Forked():
                self.forked.add(record.tid)
                self._creators.add(record.parent_tid)
                self._known[record.tid] = self._known.get(record.parent_tid, "")
                self._renew(record.tid)
            case Exited():
                for account in self._accounts.values():
                    if account.tid == record.tid:
                        account.ended = True
            case Switched(out=True):
                for account in self._accounts.values():
                    if account.tid == record.tid:
                        account.switches_seen += 1
            case Throttled(on=True):
                self.throttled += 1
            case _:
                return  # switches-in, and records that say nothing about tasks

    def _renew(self, tid: int) -> None:
        """A thread number begins a new life: counts start at zero again."""
        for key in [key for key, account in self._accounts.items() if key[1] == tid and account.ended]:
            self._finished.append(self._accounts.pop(key))
            for last in [last for last in self._last if last[:2] == key]:
                del self._last[last]

    def _account(self, root: int, pid: int, tid: int) -> Account:
        account = self._accounts.get((root, tid))
        if account is None:
            name = self._known.get(tid) or ("idle" if tid == 0 else "")
            account = self._accounts[root, tid] = Account(pid, tid, root, name, [0] * len(self.names))
        return account

    def _sample(self, ring_cpu: int, sample: Sample) -> None:
        if len(sample.reading.values) != len(self.names):
            return  # a group is cut short while its events are being opened one by one
        whole = self.choice.mode is Mode.CPUS
        root = -1 if whole else self._roots.get(sample.event, sample.tid)
        account = self._account(root, sample.pid, sample.tid)
        account.pid = sample.pid
        account.samples += 1
        account.last_cpu = sample.cpu
        account.cpus.add(sample.cpu)
        ran = self._add(account, (root, -1 if whole else sample.tid, ring_cpu), sample.reading)
        if ran > 0:
            self.timeline.append(Slice(sample.tid, sample.cpu, sample.time - ran, sample.time))

    def _add(self, account: Account, key: tuple[int, int, int], reading: Reading) -> int:
        """Book the difference to the reading before; returns the run time in it."""
        before = self._last.get(key)
        self._last[key] = reading
        new = reading.values
        old = (0,) * len(new) if before is None else before.values
        # Two rings may be taken a little out of order: an older reading has nothing to add, and is not kept.
        if new[self._run] < old[self._run] and before is not None:
            self._last[key] = before
            return 0
        for number, value in enumerate(new):
            account.totals[number] += value - old[number]
        if self.choice.when is When.SWITCHES:  # ticks come too seldom for the sum over CPUs to be whole
            account.windows[key[2]] = (reading.enabled, reading.running)
        return new[self._run] - old[self._run]
