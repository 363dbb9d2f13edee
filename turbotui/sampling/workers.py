"""Workers: one plain thread pinned to each CPU, which opens, reads and closes that CPU's counters.

A worker is never waited for: a tick that it does not answer in time goes on without it, and it is not asked again
until it has answered. Its results are immutable.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.machine.topology import Topology
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sampling.plan import Task
from turbotui.sources.source import Adjustable, CpuGone, Reader, SharedReader, Source, Turning

SHARED = -1
"""Stands for a CPU number where a reading holds all CPUs."""


@dataclass(frozen=True, slots=True)
class Readings:
    """What readers gave, one item for each of them in every list, in the order of time.

    Lists side by side, because a machine of a thousand CPUs has ten thousand of them every tick, and what takes them
    runs on another CPU: it then touches the lists and the values, and nothing else.

    Attributes:
        cpus: for which CPU.
        sources: id of the source.
        signals: what it returns; the same tuple for as long as the reader returns the same.
        started_ns, ended_ns: host monotonic time around the read.
        raws: one raw value per signal; None where the read failed.
    """

    cpus: list[int] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    signals: list[tuple[SignalId, ...]] = field(default_factory=list)
    started_ns: list[int] = field(default_factory=list)
    ended_ns: list[int] = field(default_factory=list)
    raws: list[Sequence[Raw] | None] = field(default_factory=list)

    def add(self, head: tuple[int, str], signals: tuple[SignalId, ...], started_ns: int, ended_ns: int,
            raw: Sequence[Raw] | None) -> None:
        """Append the reading of a CPU by a source."""
        self.cpus.append(head[0])
        self.sources.append(head[1])
        self.signals.append(signals)
        self.started_ns.append(started_ns)
        self.ended_ns.append(ended_ns)
        self.raws.append(raw)

    def extend(self, other: Readings) -> None:
        """Append those of another worker."""
        self.cpus.extend(other.cpus)
        self.sources.extend(other.sources)
        self.signals.extend(other.signals)
        self.started_ns.extend(other.started_ns)
        self.ended_ns.extend(other.ended_ns)
        self.raws.extend(other.raws)

    def each(self) -> Iterator[tuple[tuple[int, str], tuple[SignalId, ...], int, int, Sequence[Raw]]]:
        """Those that did not fail, with CPU and source, as `add` takes them."""
        heads = zip(self.cpus, self.sources, strict=True)
        for head, names, began, ended, raw in zip(heads, self.signals, self.started_ns, self.ended_ns, self.raws,
                                                  strict=True):
            if raw is not None:
                yield head, names, began, ended, raw

    def known(self) -> Readings:
        """These without those that failed."""
        found = Readings()
        for one in self.each():
            found.add(*one)
        return found

    def kind(self) -> Readings:
        """Where they come from, without what was read: it can be kept and costs nothing."""
        return Readings(self.cpus, self.sources, self.signals)

    def alike(self, other: Readings) -> bool:
        """Whether the others are of the same CPUs by the same sources in the same order, of the same signals."""
        return self.cpus == other.cpus and self.sources == other.sources and self.signals == other.signals


_INTERRUPTED = 8  # times as long as the quickest read of the same counters: the thread lost its CPU in between
_INTERRUPTED_NS = 100_000  # and long enough to matter: 1e-4 of a second's interval


@dataclass(frozen=True, slots=True)
class SharedReading:
    """What one file that holds all CPUs gave: for each signal a sequence over its instances."""

    source: str
    signals: tuple[SignalId, ...]
    started_ns: int
    ended_ns: int
    raw: Sequence[Sequence[Raw]] | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A worker's answer to one tick.

    Attributes:
        gone: CPUs found offline.
        began: (source id, CPU or SHARED) whose counts began with this tick.
        failures: (source id, CPU or SHARED) -> why opening or reading failed.
        crash: what a source raised although its contract does not allow it; the sampler ends with it.
    """

    worker: Worker
    readings: Readings = field(default_factory=Readings)
    shared: tuple[SharedReading, ...] = ()
    gone: frozenset[int] = frozenset()
    began: frozenset[tuple[str, int]] = frozenset()
    failures: Mapping[tuple[str, int], str] = field(default_factory=dict)
    crash: Exception | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """One request: bring the open readers in line with these tasks, then read them all.

    Attributes:
        look: only read what is open of these tasks, and open and close nothing: the look between two ticks at counters
            that wrap.
    """

    tasks: tuple[Task, ...]
    shared: tuple[tuple[Source, frozenset[SignalId]], ...]
    machine: Machine
    reply: Callable[[Answer], None]
    look: bool = False

    @property
    def cpus(self) -> set[int]:
        """The CPUs that the tasks are about."""
        return {task.cpu for task in self.tasks}


_TOGETHER = 16  # workers at once: enough to hide how long a busy CPU takes to wake one (a few ms)
_STUCK_NS = 100_000_000  # a worker that takes longer gives its place to another and goes on beside it


class Turnstile:
    """Lets few workers at a time have their request, and the next one as soon as one has answered.

    A thread that waits for the interpreter's lock wakes at every switch interval to ask for it. A thousand that wait
    at once, all woken by one tick, leave hardly any time to the one that has it.
    """

    def __init__(self, together: int = _TOGETHER, stuck_ns: int = _STUCK_NS) -> None:
        self._together = together
        self._stuck_ns = stuck_ns
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Worker, Work]] = deque()
        self._inside: dict[Worker, int] = {}

    def enter(self, worker: Worker, work: Work) -> None:
        """Hand the request over, now or when it is this worker's turn."""
        with self._lock:
            self._waiting.append((worker, work))
            self._admit()

    def admit(self) -> None:
        """See whether workers that are stuck have to give their places to others."""
        with self._lock:
            self._admit()

    def leave(self, worker: Worker) -> None:
        """The worker has answered; on its own thread."""
        with self._lock:
            self._inside.pop(worker, None)
            self._admit()

    def _admit(self) -> None:
        now = time.monotonic_ns()
        if len(self._inside) >= self._together:
            self._inside = {worker: since for worker, since in self._inside.items() if now - since < self._stuck_ns}
        while self._waiting and len(self._inside) < self._together:
            worker, work = self._waiting.popleft()
            self._inside[worker] = now
            worker.take(work)


@dataclass(slots=True)
class _Held:
    """An open reader, what it was opened for, and ns of its quickest read so far, 0 before the first."""

    wanted: frozenset[SignalId]
    reader: Reader
    quickest: int = 0


class Worker(threading.Thread):
    """Reads the counters of `cpus` (one on a real machine) whenever asked.

    Args:
        name: of the thread.
        pin_to: the CPUs it is bound to; none: it is not bound.
        turnstile: who it waits for when asked; None: nobody.

    Attributes:
        busy: asked and not yet answered.
        crash: what a source raised although its contract does not allow it.
    """

    def __init__(self, name: str, pin_to: tuple[int, ...], turnstile: Turnstile | None = None) -> None:
        super().__init__(name=name, daemon=True)
        self._turnstile = turnstile
        self.busy = False
        self.crash: Exception | None = None
        self._pin_to = pin_to
        self._pinned: Topology | None = None
        self._inbox: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._readers: dict[tuple[str, int], _Held] = {}
        self._shared: dict[str, tuple[frozenset[SignalId], object, SharedReader]] = {}

    def ask(self, work: Work) -> None:
        """Hand over one request; the answer comes through `work.reply` on this worker's thread."""
        self.busy = True
        if self._turnstile is None:
            self.take(work)
        else:
            self._turnstile.enter(self, work)

    def take(self, work: Work) -> None:
        """Have the request now."""
        self._inbox.put(work)

    def end(self) -> None:
        """Close everything and stop, after what is under way."""
        self._inbox.put(None)

    def run(self) -> None:
        """Serve requests until `end`."""
        while (work := self._inbox.get()) is not None:
            try:
                answer = self._serve(work)
            except Exception as error:  # noqa: BLE001 - the sampler raises it: this thread has nobody to tell
                self.crash = error
                answer = Answer(self, crash=error)
            work.reply(answer)
            del answer, work  # a thousand workers that wait would keep a thousand old readings
            if self._turnstile is not None:
                self._turnstile.leave(self)
        self._close_all()

    def _close_all(self) -> None:
        while self._readers:
            self._readers.popitem()[1].reader.close()
        while self._shared:
            self._shared.popitem()[1][2].close()

    def _serve(self, work: Work) -> Answer:
        if self._pin_to and self._pinned is not work.machine.topology:
            # anew whenever CPUs came or went: what took CPUs away from us may have moved this thread too
            try:
                work.machine.host.pin_this_thread(self._pin_to)
            except HostError:  # the CPU went offline, or left our cpuset
                self._close_all()
                return Answer(self, gone=frozenset(self._pin_to))
            self._pinned = work.machine.topology
        gone: set[int] = set()
        failures: dict[tuple[str, int], str] = {}
        began: set[tuple[str, int]] = set()
        if not work.look:
            began = self._open(work, gone, failures) | self._open_shared(work, failures)
        answer = self._read(work, gone, failures, began)
        for key in [key for key in self._readers if key[1] in gone]:
            # A CPU that comes back before anybody looks has lost its counters, and its pinned thread has been moved.
            self._readers.pop(key).reader.close()
            self._pinned = None
        return answer

    def _read(self, work: Work, gone: set[int], failures: dict[tuple[str, int], str],
              began: set[tuple[str, int]]) -> Answer:
        now = work.machine.host.now_ns
        readings = Readings()
        for task in work.tasks:
            key = (task.source.id, task.cpu)
            held = self._readers.get(key)
            if held is None or task.cpu in gone:
                continue
            reader = held.reader
            raw: Sequence[Raw] | None
            try:
                started, raw, ended = _undisturbed(reader, held.quickest, now)
            except CpuGone:
                gone.add(task.cpu)
                continue
            except HostError as error:
                failures[key] = str(error)
                started = ended = now()
                raw = None
            else:
                took = ended - started
                held.quickest = min(held.quickest or took, took)
            readings.add((task.cpu, task.source.id), reader.signals, started, ended, raw)
            if isinstance(reader, Turning) and not work.look:
                try:
                    reader.turn()
                except CpuGone:
                    gone.add(task.cpu)
                except HostError as error:
                    failures[key] = str(error)
        shared: list[SharedReading] = []
        for source, _wanted in work.shared:
            held_shared = self._shared.get(source.id)
            if held_shared is None:
                continue
            started = now()
            try:
                rows: Sequence[Sequence[Raw]] | None = held_shared[2].read()
            except HostError as error:
                failures[source.id, SHARED] = str(error)
                rows = None
            shared.append(SharedReading(source.id, held_shared[2].signals, started, now(), rows))
        return Answer(self, readings, tuple(shared), frozenset(gone), frozenset(began), failures)

    def _open(self, work: Work, gone: set[int], failures: dict[tuple[str, int], str]) -> set[tuple[str, int]]:
        """Close readers nobody wants, open those that are missing; a reader that gives enough is left alone."""
        tasks = {(task.source.id, task.cpu): task for task in work.tasks}
        for key in [key for key in self._readers if key not in tasks]:
            self._readers.pop(key).reader.close()
        began: set[tuple[str, int]] = set()
        for key, task in tasks.items():
            held = self._readers.get(key)
            if held is not None and held.wanted == task.wanted:
                continue
            if held is not None and isinstance(held.reader, Adjustable) and held.reader.choose(task.wanted):
                held.wanted = task.wanted
                continue
            try:
                reader = task.source.open(work.machine, task.cpu, task.wanted)
            except CpuGone:
                gone.add(task.cpu)
                continue
            except HostError as error:
                failures[key] = str(error)
                continue
            if held is not None:
                held.reader.close()
            self._readers[key] = _Held(task.wanted, reader)
            if task.source.counts_from_open:
                began.add(key)
        return began

    def _open_shared(self, work: Work, failures: dict[tuple[str, int], str]) -> set[tuple[str, int]]:
        began: set[tuple[str, int]] = set()
        wanted = {source.id: (source, names) for source, names in work.shared}
        for name in [name for name in self._shared if name not in wanted]:
            self._shared.pop(name)[2].close()
        for name, (source, names) in wanted.items():
            held = self._shared.get(name)
            topology = work.machine.topology
            if held is not None and held[1] is topology:
                if held[0] == names:
                    continue
                if isinstance(held[2], Adjustable) and held[2].choose(names):
                    self._shared[name] = (names, topology, held[2])
                    continue
            try:
                reader = source.open_shared(work.machine, names)
            except HostError as error:
                failures[name, SHARED] = str(error)
                continue
            if held is not None:
                held[2].close()
            self._shared[name] = (names, topology, reader)
            if source.counts_from_open:
                began.add((name, SHARED))
        return began


def _undisturbed(reader: Reader, quickest: int, now: Callable[[], int]) -> tuple[int, Sequence[Raw], int]:
    """Read; once more if the read was interrupted: a time stamp is only as good as its read is short.

    Args:
        reader: what to read.
        quickest: ns of its quickest read so far, 0 if there was none.
        now: the host's clock.

    Returns:
        When the better of the reads began, what it gave, when it ended.
    """
    started = now()
    raw = reader.read()
    ended = now()
    if not quickest or ended - started <= max(_INTERRUPTED * quickest, _INTERRUPTED_NS):
        return started, raw, ended
    again = now()
    second = reader.read()
    done = now()
    return (again, second, done) if done - again < ended - started else (started, raw, ended)
