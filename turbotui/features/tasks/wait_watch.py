"""Reads what tasks wait for, in addition to their counters, and assigns the waits to rows.

By tracepoints of the scheduler where they may be opened; else by records of switches, which do not say when a thread
was woken, and the schedstat of each thread, which does not say who took its CPU; else by schedstat alone.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from turbotui.errors import MachineError
from turbotui.features.tasks.shared_intervals import SharedIntervals
from turbotui.features.tasks.tables import TaskRow, threads_in
from turbotui.features.tasks.thread_totals import Thread
from turbotui.features.tasks.waits import Waits, behind_of_all
from turbotui.machine.host import Host, HostError
from turbotui.machine.tasks.group_names import GroupName
from turbotui.machine.tasks.processes import name_of, processes, run_delay, threads_of
from turbotui.machine.tasks.run_queue import WaitSums
from turbotui.machine.tasks.sleeping import sleeps_in
from turbotui.machine.tasks.wait_set import WaitSet
from turbotui.machine.tasks.wait_times import WaitTimes
from turbotui.quantities.by_key import total_of
from turbotui.quantities.unavailable import Reason, Unavailable

_MOST_READ: Final = 2_000  # threads whose schedstat is read at the end of an interval: 14 us each
_MOST_ASKED: Final = 400  # threads whose place of sleep is read then: 10 us each
_OF_A_ROW: Final = 8
_MOST_ADDED: Final = 32  # threads that ran during a row's waits whose names are read
_MOST_KEPT: Final = 20_000  # threads whose waits since the beginning are kept
_NO_NUMBER: Final = Unavailable(Reason.NOT_READ, "waits are known by a thread's number: the row's threads were put "
                                "together with others, or their number was given to others in the same interval")


class Delay(NamedTuple):
    """The counts of a thread's schedstat since its creation: ns on run queues, and time slices."""

    waited: int
    slices: int
    read_ns: int  # when they were read; of a difference: between the two readings

    def since(self, before: Delay) -> Delay:
        """Return the difference from an earlier reading."""
        return Delay(max(0, self.waited - before.waited), max(0, self.slices - before.slices),
                     self.read_ns - before.read_ns)


class WaitWatch:
    """The waits of all threads, interval by interval.

    Args:
        host: this machine.
        waiting: ends its wait when a ring is half full.
        beginning: whether what is watched begins now, with `forget`: then the first interval is whole.
    """

    def __init__(self, host: Host, cpus: Sequence[int], waiting: WaitSet, *, beginning: bool) -> None:
        self._host = host
        self._times: WaitTimes | None = None
        self._why_no_records: Unavailable | None = None
        try:
            self._times = WaitTimes(host, cpus, waiting)
        except (HostError, MachineError) as error:
            self._why_no_records = Unavailable(
                Reason.NOT_PERMITTED, f"switches of whole CPUs: {error}", "run as root, or with CAP_PERFMON")
        self._intervals = SharedIntervals(beginning=beginning)
        self.cpus: Mapping[int, WaitSums] = {}
        self._every_cpu: dict[int, WaitSums] = {}
        self._lost = (0, 0)
        self._slept: dict[Thread, str] = {}
        self._names: dict[int, str] = {}
        self._interval: Mapping[int, WaitSums] = {}
        self._everything: dict[int, WaitSums] = {}
        self._read_ns = self._base_ns = host.now_ns()
        self._delays: dict[Thread, Delay] = {} if self._complete or beginning else self._all_delays()
        self._first: dict[Thread, Delay] = dict(self._delays)
        self._first_ns = self._began_ns = self._ended_ns = host.now_ns()
        self._grown: dict[Thread, Delay] = {}
        self._late: set[Thread] = set()  # that ran in an interval in which they were not read

    @property
    def _complete(self) -> bool:
        return self._times is not None and self._times.why_no_wakeups is None

    @property
    def lost(self) -> int:
        """The number of records of switches for which a ring had no room."""
        return 0 if self._times is None else self._times.lost

    def drain(self, until_ns: int) -> None:
        """Process the records up to a time that has passed; call it often enough that no ring overflows."""
        if self._times is not None:
            self._times.drain(until_ns)

    def forget(self, until_ns: int) -> None:
        """Ignore everything before a time, because the watched threads' counters were opened just then.

        Opening them took 0.9 s beside a load of 20, in which threads waited, too: schedstat is read from now on.
        """
        if self._times is not None:
            self._times.take(until_ns)
        if not self._complete:
            self._read_ns = self._host.now_ns()
            self._delays = self._all_delays()
            self._first = dict(self._delays)
            self._first_ns = self._began_ns = self._ended_ns = self._host.now_ns()

    def close(self) -> None:
        """Close every descriptor."""
        if self._times is not None:
            self._times.close()

    def end_interval(self, who: Hashable, until_ns: int) -> None:
        """End the interval of one application at a time; each of several applications ends the same interval once."""
        if self._intervals.end(who):
            self._cut(until_ns)

    def _cut(self, until_ns: int) -> None:
        self._interval = {} if self._times is None else self._times.take(until_ns)
        self._lost = self._lost[1], self.lost
        self.cpus = {} if self._times is None else self._times.take_cpus()
        for cpu, waited in self.cpus.items():
            self._every_cpu.setdefault(cpu, WaitSums()).add(waited)
        for tid, waited in self._interval.items():
            if tid in self._everything or len(self._everything) < _MOST_KEPT:
                self._everything.setdefault(tid, WaitSums()).add(waited)
        self._base_ns = self._read_ns  # of the readings at the beginning of the interval, the earliest
        self._began_ns, self._ended_ns = self._ended_ns, self._host.now_ns()
        self._read_ns = self._ended_ns
        self._grown = {}
        self._slept = {}
        self._names = {}

    def rows(self, rows: Iterable[TaskRow], threads: Mapping[int, Thread], *, whole: bool, again: bool = False,
             group_of: Callable[[int], GroupName | None] | None = None) -> list[TaskRow]:
        """Return the rows with the waits of their threads.

        Args:
            threads: by serial number of an entry (`ApplicationTotals.threads`).
            whole: since the beginning.
            again: of the interval that has ended, once more.
            group_of: gives the control group of a thread where rows are groups, which wait behind each other; None
                where rows wait behind threads.
        """
        waiting_rows = list(rows)
        if not self._complete and not again:
            self._read_delays(dict.fromkeys(threads[serial] for row in waiting_rows
                                            for serial in sorted(row.ran - row.died) if serial in threads))
        if not (self._intervals.known or whole):
            return waiting_rows
        waited = self._everything if whole else self._interval

        def name(tid: int) -> str:
            group = None if group_of is None or tid == 0 else group_of(tid)
            return self._name(tid) if group is None else group.text

        return [replace(row, waits=self._waits(row, threads, waited, name, whole=whole)) for row in waiting_rows]

    def _waits(self, row: TaskRow, numbered: Mapping[int, Thread], waited: Mapping[int, WaitSums],
               name: Callable[[int], str], *, whole: bool) -> Waits:
        threads, ran = threads_in(row, numbered), [numbered.get(serial) for serial in row.ran]
        if not threads:
            return Waits(why_no_records=_NO_NUMBER, why_no_wakeups=_NO_NUMBER, why_no_delay=_NO_NUMBER)
        unkept = whole and len(self._everything) >= _MOST_KEPT
        known = None if self._times is None else total_of(
            WaitSums(), (waited[thread.tid] for thread in threads if thread.tid in waited))
        delays = [delay for thread in threads if (delay := self._delay(thread, whole=whole)) is not None]
        pusher = known.pusher if known is not None else None
        return Waits(
            known,
            sum(delay.waited for delay in delays) if delays else None,
            sum(delay.slices for delay in delays) if delays else None,
            "" if pusher is None else name(pusher),
            self._sleeping(threads),
            self._why_no_records,
            None if self._times is None else self._times.why_no_wakeups,
            behind=() if known is None else _behind(known, name),
            lost=self._lost[1] - (0 if whole else self._lost[0]),
            delayed=sum(delay.waited / delay.read_ns for delay in delays)
            if delays and all(delay.read_ns > 0 for delay in delays) else None,
            partial=any(thread is None or (unkept and thread.tid not in waited) for thread in ran),
            delay_partial=any(thread not in self._grown for thread in ran),
        )

    def cpu_waits(self, *, whole: bool) -> dict[int, Waits]:
        """The waits that ended on each CPU, in the interval or since the beginning."""
        why = None if self._times is None else self._times.why_no_wakeups
        lost = self._lost[1] - (0 if whole else self._lost[0])
        return {cpu: Waits(waited, behind=_behind(waited, self._name), lost=lost, why_no_wakeups=why)
                for cpu, waited in sorted((self._every_cpu if whole else self.cpus).items())}

    def _sleeping(self, threads: Collection[Thread]) -> str:
        """Return the most frequent reason of sleep among a row's threads, of those that are examined; "" if unknown."""
        asked = list(itertools.islice(threads, _OF_A_ROW))
        for thread in asked:
            if thread not in self._slept and len(self._slept) < _MOST_ASKED:
                self._slept[thread] = sleeps_in(self._host, thread.pid, thread.tid)
        words = Counter(filter(None, map(self._slept.get, asked)))
        return words.most_common(1)[0][0] if words else ""

    def _name(self, tid: int) -> str:
        if (known := self._names.get(tid)) is None:
            known = self._names[tid] = "nobody" if tid == 0 else name_of(self._host, tid, tid) or f"thread {tid}"
        return known

    def _delay(self, thread: Thread, *, whole: bool) -> Delay | None:
        if not whole:
            return self._grown.get(thread)
        first, last = self._first.get(thread), self._delays.get(thread)
        return None if last is None or last == first else last.since(first or Delay(0, 0, self._first_ns))

    def _read_delays(self, threads: Collection[Thread]) -> None:
        """Read schedstat of the threads that ran once an interval, as of many; all of a new thread's delay counts."""
        unread = [thread for thread in threads if thread not in self._grown]
        self._late.update(unread[_MOST_READ:])
        for thread in unread[:_MOST_READ]:
            if (read := run_delay(self._host, thread.pid, thread.tid)) is None:
                continue
            now, before = Delay(*read, self._host.now_ns()), self._delays.get(thread)
            self._delays[thread] = now
            if before is None or now.slices < before.slices:  # of a thread that had the same number
                self._first.pop(thread, None)
                before = Delay(0, 0, self._began_ns)
            if thread in self._late:  # it has the delay of more than the interval
                self._late.discard(thread)
            else:
                slept = before.read_ns < self._base_ns
                self._grown[thread] = now.since(before._replace(read_ns=self._began_ns) if slept else before)

    def _all_delays(self) -> dict[Thread, Delay]:
        """Read schedstat of every thread that this user may inspect."""
        return {Thread(pid, tid): Delay(*read, self._host.now_ns())
                for pid in processes(self._host) for tid in threads_of(self._host, pid)
                if (read := run_delay(self._host, pid, tid)) is not None}


def _behind(waited: WaitSums, name: Callable[[int], str]) -> tuple[tuple[str, int], ...]:
    """Who ran while threads waited, by name, the longest first."""
    most = heapq.nlargest(_MOST_ADDED, waited.behind.items(), key=lambda pushed: pushed[1])
    return behind_of_all(((name(tid), ran),) for tid, ran in most)
