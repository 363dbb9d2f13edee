"""The books of sampled threads: every difference of two samples is booked once, and the final read closes the books.

Counters are cumulative, so a lost record loses time resolution and nothing else where counters belong to a thread. On
whole CPUs (mode C) a lost switch books two threads' counts on one; then the table says so.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

from turbotui.analysis.tasks.accounts import RUN, Account, Mark
from turbotui.analysis.tasks.timeline import Timeline
from turbotui.machine.perf_ring import Exited, Forked, Lost, Named, Reading, Record, Sample, Switched, Throttled
from turbotui.machine.tasks.following import Closing, Taken
from turbotui.machine.tasks.sets import Choice, Mode, When

_ENDED: Final = 4_000  # threads that ended and keep a row of their own; older ones are put together by name
_TIME: Final = itemgetter(0)
_NOBODY: Final = 0xFFFFFFFF  # the number of a thread that has given its number back (kernel/events/core.c)
_UNNAMED: Final = {0: "idle", -1: "(ending)"}
_DYING: Final = 16  # threads remembered a CPU between their end and their last switch-out


@dataclass(slots=True)
class Turns:
    """What the ledgers of sets that take turns share.

    Attributes:
        ledgers: these.
        serials: gives accounts their numbers.
        places: by thread the CPU where it was seen last.
    """

    ledgers: list[Ledger] = field(default_factory=list)
    serials: Iterator[int] = field(default_factory=itertools.count)
    places: dict[int, int] = field(default_factory=dict)

    def moved(self, tid: int, cpu: int) -> bool:
        """Take note of a sample; says whether the thread has come from another CPU."""
        last = self.places.get(tid, cpu)
        self.places[tid] = cpu
        return last != cpu


class Ledger:
    """Accounts of threads, fed with records.

    Args:
        choice: how the threads are sampled.
        roots: by the identifier of a sample: the thread whose set took it (`Follower.roots`, which grows).
        timeline: where slices are drawn.
        ended: how many threads that ended keep an account of their own.
        turns: what is shared with the ledgers of sets that take turns with this one; None where none does.
    """

    def __init__(self, choice: Choice, roots: Mapping[int, int], timeline: Timeline | None = None,
                 ended: int = _ENDED, turns: Turns | None = None) -> None:
        self.choice = choice
        self.names = choice.names
        self.lost = 0
        self.throttled = 0
        self.forked: set[int] = set()
        self.timeline = timeline or Timeline()
        self.tail: tuple[int, ...] = (0,) * len(self.names)
        self.read: tuple[int, ...] | None = None
        self._creators: set[int] = set()
        self._keep = ended
        self._run = self.names.index(RUN)
        self._load = self.names.index("cycles") if "cycles" in self.names else self._run
        self._turns = turns
        if turns is not None:
            turns.ledgers.append(self)
        self._serials = itertools.count() if turns is None else turns.serials
        self._accounts: dict[tuple[int, int], Account] = {}
        self._by_tid: dict[int, list[Account]] = {}
        self._finished: list[Account] = []
        self._together: dict[str, Account] = {}
        self._last: dict[tuple[int, int, int], tuple[int, ...]] = {}
        self._known: dict[int, str] = {}
        self._twice: set[int] = set()
        self._dying: dict[int, deque[tuple[int, int]]] = {}
        self._roots = roots

    def name(self, tid: int, name: str) -> None:
        """A thread's name as /proc has it."""
        if name:
            self._known[tid] = name

    def feed(self, taken: Iterable[Taken]) -> None:
        """Book what came, in the order of time across rings."""
        rows: list[tuple[int, int, Record]] = [
            (record.time, ring.cpu, record) for ring in taken for record in ring.records
        ]
        rows.sort(key=_TIME)
        for _time, cpu, record in rows:
            if type(record) is Sample:
                self._sample(cpu, record)
            elif self._turns is not None and isinstance(record, (Named, Forked, Exited)):
                for one in self._turns.ledgers:  # a set that rests does not hear of it
                    one.book(cpu, record)
            else:
                self.book(cpu, record)

    def close(self, closings: Sequence[Closing]) -> None:
        """Book what was counted after the last samples.

        A thread's own counters go to the thread, as do those that no other thread inherited. Where the kernel only
        gives the sum over all threads that inherited a set, or over a CPU, what no sample showed goes to `tail`:
        switches-out of ending threads give no sample.
        """
        tail, total = [0] * len(self.names), [0] * len(self.names)
        lost = 0
        for closing in closings:
            if closing.root in self._twice:
                continue
            values = self._values(closing.reading)
            lost += sum(closing.reading.lost)
            for number, value in enumerate(values):
                total[number] += value
            # A set that nobody inherited counted one thread; a lost FORK record, or one between two turns, would have
            # hidden an heir.
            alone = (self.choice.mode is Mode.INHERITED and closing.root not in self._creators and not self.lost
                     and self._turns is None)
            if alone or self.choice.mode is Mode.THREADS:
                account = self._account(closing.root, closing.root, closing.root)
                cpu = closing.cpu if closing.cpu >= 0 else account.last_cpu
                ran = self._add(account, (closing.root, closing.root, closing.cpu), closing.reading, cpu)
                if ran > 0 and account.ended and cpu >= 0:  # from its last sample to its end
                    self.timeline.add(account.serial, cpu, account.ended_ns - ran, account.ended_ns)
        if self.choice.mode is not Mode.THREADS:
            booked = self.sums()
            tail = [value - known for value, known in zip(total, booked, strict=True)]
        self.lost = max(self.lost, lost)
        self.tail, self.read = tuple(tail), tuple(total)

    def accounts(self) -> list[Account]:
        """One for each thread; a number that was used again has several.

        Left out are sets that another root's set counts already: of threads made between the open of one and the look
        for others. They saw the same counts again.
        """
        everyone = (*self._together.values(), *self._finished, *self._accounts.values())
        return [one for one in everyone if one.root not in self._twice] if self._twice else list(everyone)

    def sums(self) -> tuple[int, ...]:
        """Over all accounts."""
        totals = [0] * len(self.names)
        for account in self.accounts():
            for number, value in enumerate(account.totals):
                totals[number] += value
        return tuple(totals)

    def marks(self) -> dict[int, Mark]:
        """What every account has now, by its serial number."""
        return {one.serial: one.mark() for one in self.accounts()}

    def tidy(self) -> dict[int, int]:
        """Put the oldest of very many ended threads together by name, and forget old parts of the timeline.

        A thread that has a set of its own keeps its account, for the last read of that set is still to come.

        Returns:
            The serial number of each account that is no more, and of the one that it is part of now: differences to
            earlier marks need it.
        """
        self.timeline.forget()
        ended = [key for key, account in self._accounts.items() if account.ended and account.root != account.tid]
        surplus = len(ended) + len(self._finished) - self._keep
        if surplus <= 0:
            return {}
        self._known = {tid: name for tid, name in self._known.items() if tid in self._by_tid}
        old, self._finished = self._finished[:surplus], self._finished[surplus:]
        for key in ended[: surplus - len(old)]:
            old.append(self._forget(key))
        moved: dict[int, int] = {}
        for account in old:
            if account.root in self._twice:
                continue
            account.root = -1
            home = self._together.get(account.name)
            if home is None:
                self._together[account.name] = account
                account.pid = account.tid = -1
            else:
                home.swallow(account)
                moved[account.serial] = home.serial
        return moved

    def book(self, cpu: int, record: Record) -> None:
        """Take note of a record that is no sample, from the ring of a CPU."""
        match record:
            case Lost():
                self.lost += record.count
            case Named():
                self._known[record.tid] = record.name
                for account in self._by_tid.get(record.tid, ()):
                    account.name = record.name
            case Forked():
                if self.choice.mode is Mode.THREADS:
                    self.forked.add(record.tid)
                elif self.choice.mode is Mode.INHERITED:
                    self._creators.add(record.parent_tid)
                self._known[record.tid] = self._known.get(record.parent_tid, "")
                self._renew(record.tid)
            case Exited():
                self._dying.setdefault(cpu, deque(maxlen=_DYING)).append((record.pid, record.tid))
                for account in self._by_tid.get(record.tid, ()):
                    account.ended_ns = record.time
            case Switched(out=True):
                for account in self._by_tid.get(record.tid, ()):
                    account.switches_seen += 1
            case Throttled(on=True):
                self.throttled += 1
            case _:
                return  # switches-in, and records that say nothing about tasks

    def _renew(self, tid: int) -> None:
        """A thread number begins a new life: counts start at zero again."""
        for account in [one for one in self._by_tid.get(tid, ()) if one.ended]:
            self._finished.append(self._forget((account.root, account.tid)))

    def _forget(self, key: tuple[int, int]) -> Account:
        account = self._accounts.pop(key)
        same = self._by_tid[account.tid]
        same.remove(account)
        if not same:
            del self._by_tid[account.tid]
        for cpu in account.windows.keys() | account.cpus | {-1}:
            self._last.pop((key[0], key[1], cpu), None)
        return account

    def _account(self, root: int, pid: int, tid: int) -> Account:
        account = self._accounts.get((root, tid))
        if account is None:
            name = self._known.get(tid) or _UNNAMED.get(tid, "")
            account = Account(next(self._serials), pid, tid, root, name, [0] * len(self.names))
            self._accounts[root, tid] = account
            self._by_tid.setdefault(tid, []).append(account)
            if root not in (tid, -1):
                self._twice.add(tid)
        return account

    def _sample(self, ring_cpu: int, sample: Sample) -> None:
        reading = sample.reading
        if len(reading.values) != len(self.names):
            return  # a group is cut short while its events are being opened one by one
        pid, tid, cpu = sample.pid, sample.tid, sample.cpu
        if tid == _NOBODY:
            pid, tid = self._who_died(ring_cpu, pid)
        if self.choice.mode is Mode.CPUS:
            root, key = -1, (-1, -1, ring_cpu)
        else:
            root = self._roots.get(sample.event, tid)
            key = (root, tid, ring_cpu)
        account = self._accounts.get((root, tid)) or self._account(root, pid, tid)
        account.pid = pid
        account.samples += 1
        if self._turns is not None:
            account.migrations += self._turns.moved(tid, cpu)
        elif account.last_cpu not in (cpu, -1):
            account.migrations += 1
        if account.last_cpu != cpu:
            account.last_cpu = cpu
            account.cpus.add(cpu)
        ran = self._add(account, key, reading, cpu)
        if ran > 0 and tid:
            self.timeline.add(account.serial, cpu, sample.time - ran, sample.time)

    def _who_died(self, ring_cpu: int, pid: int) -> tuple[int, int]:
        """The process and thread that left this CPU for good: the latest that ended there, of this process if known."""
        for owner, tid in reversed(self._dying.get(ring_cpu, ())):
            if pid in (owner, _NOBODY):
                return owner, tid
        return (-1 if pid == _NOBODY else pid), -1

    def _values(self, reading: Reading) -> tuple[int, ...]:
        """Counts by `names`; run time is what the set was on its CPU for: its clock may rest (`machine.tasks.pace`)."""
        values, run = reading.values, self._run
        return (*values[:run], reading.running, *values[run + 1:])

    def _add(self, account: Account, key: tuple[int, int, int], reading: Reading, cpu: int) -> int:
        """Book the difference to the reading before; returns the run time in it."""
        old = self._last.get(key)
        new = self._values(reading)
        totals = account.totals
        if old is None:
            self._last[key] = new
            for number, value in enumerate(new):
                totals[number] += value
            ran, load = new[self._run], new[self._load]
        else:
            ran, load = new[self._run] - old[self._run], new[self._load] - old[self._load]
            # Two rings may be taken a little out of order: an older reading has nothing to add, and is not kept.
            if ran < 0:
                return 0
            self._last[key] = new
            for number, value in enumerate(new):
                totals[number] += value - old[number]
        account.loads[cpu] = account.loads.get(cpu, 0) + load
        if self.choice.when is When.SWITCHES:  # ticks come too seldom for the sum over CPUs to be whole
            account.windows[key[2]] = reading
        return ran
