"""Workers: plain threads, one pinned to each CPU, which open, read and close that CPU's counters.

Nobody waits for a worker: a tick continues without an answer that is not in time, and the worker is not asked again
    until it has answered. Results are immutable.
"""

from __future__ import annotations

import contextlib
import math
import queue
import threading
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from turbotui.dataclass import dataclass
from turbotui.installed_features import contained, failure_of
from turbotui.machine.host import HostError
from turbotui.machine.timed_reads import is_interrupted, undisturbed
from turbotui.machine.topology import Topology
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sampling.answers import SHARED, Answer, Readings, ReadRequest, SharedReading
from turbotui.sampling.collector import CLOCK, Clock
from turbotui.sampling.plan import Task
from turbotui.sampling.semaphore import WorkerSemaphore
from turbotui.sources.source import (
    Adjustable,
    CpuGone,
    Incomplete,
    Momentary,
    Reader,
    Rotating,
    SharedReader,
    TopologyFollower,
)
from turbotui.threads import name_this_thread

_FIRST_GAP, _LONGEST_GAP = 0.5, 60.0  # seconds before a reader tries again to open what it lacks: at first, at most
_APART = 8  # parts of a gap by which the attempts of CPUs differ


@dataclass(slots=True)
class _Held:
    """An open reader."""

    wanted: frozenset[SignalId]  # the signals that it returns
    task: Task
    reader: Reader
    rotating: Rotating | None  # the same reader, if it rotates between event sets
    take: Callable[[], object]  # reads it; `decode` turns the result, read between two times in ns, into values
    decode: Callable[[Any, int, int], Sequence[Raw]]
    momentary: bool = False  # whether it may take any time, and is read once
    quickest: int = 0  # ns of its quickest read so far; 0 before the first
    lacking: Incomplete | None = None  # the same reader, while it lacks something that may be had later
    retry_at: float = 0.0  # when it tries to get that again, on the worker's clock
    gap: float = _FIRST_GAP  # seconds between the last two attempts

    def retry(self, now: float) -> None:
        """Try to complete the reader if it is time; the attempts become rarer, and those of CPUs do not coincide."""
        if self.lacking is None or now < self.retry_at:
            return
        with contextlib.suppress(HostError, CpuGone):  # of the CPU, reading tells; for a descriptor it tries again
            self.lacking.retry()
        self.gap = min(_LONGEST_GAP, 2 * self.gap)
        self.retry_at = now + self.gap * (1 + self.task.cpu % _APART / _APART)
        if not self.lacking.incomplete:
            self.lacking = None


_Taken = tuple[_Held, int, object, int, bool]
"""The reader, ns before, the result or error of `take`, ns after; whether the thread lost its CPU in between."""


def _hold(task: Task, reader: Reader, now: float) -> _Held:
    if isinstance(reader, Rotating):
        return _Held(task.wanted, task, reader, reader, reader.capture, reader.decode)
    lacking = reader if isinstance(reader, Incomplete) and reader.incomplete else None
    return _Held(task.wanted, task, reader, None, reader.read, _as_it_is, isinstance(reader, Momentary),
                 lacking=lacking, retry_at=0.0 if lacking is None else now + _FIRST_GAP)


def _as_it_is(raw: Sequence[Raw], _started: int, _ended: int) -> Sequence[Raw]:
    return raw


_NOTHING_OPEN = (None, None, None)


class Worker(threading.Thread):
    """Reads the counters of `cpus` (a single CPU on a real machine) when asked.

    Args:
        pin_to: the CPUs to which the thread is bound; empty: not bound.
        clock: the time of the ticks.

    Attributes:
        busy: whether it was asked and has not answered yet.
        crash: an exception that a source's contract does not allow.
    """

    def __init__(self, name: str, pin_to: tuple[int, ...], clock: Clock = CLOCK) -> None:
        super().__init__(name=name, daemon=True)
        self._semaphore: WorkerSemaphore | None = None
        self.busy = False
        self.crash: Exception | None = None
        self._pin_to = pin_to
        self._clock = clock
        self._pinned: Topology | None = None
        self._inbox: queue.SimpleQueue[ReadRequest | None] = queue.SimpleQueue()
        self._readers: dict[tuple[str, int], _Held] = {}
        self._shared: dict[str, tuple[frozenset[SignalId], object, SharedReader]] = {}
        self._quickest: dict[str, int] = {}  # ns of the quickest read so far of each shared source
        self._open_for: tuple[object, object, object] = _NOTHING_OPEN
        self._momentary: list[Momentary] = []  # open readers that may look between two requests
        self._wake_up = threading.Lock()  # locked until somebody wakes the worker

    def ask(self, work: ReadRequest, semaphore: WorkerSemaphore | None = None) -> None:
        """Hand over a request, which `semaphore` admits; `work.reply` gets the answer on this worker's thread."""
        self.busy = True
        self._semaphore = semaphore
        self._wake_up.acquire(blocking=False)
        if semaphore is None:
            self.take(work)
        else:
            semaphore.enter(self, work)

    def cut(self) -> None:
        """Answer with the ticks read so far and read no more; called on the requesting thread."""
        with contextlib.suppress(RuntimeError):  # the worker is being woken already
            self._wake_up.release()

    def take(self, work: ReadRequest) -> None:
        """Take the request now."""
        self._inbox.put(work)

    def end(self) -> None:
        """Close everything and stop, after the current request."""
        self._inbox.put(None)

    def run(self) -> None:
        """Serve requests until `end`."""
        name_this_thread()
        while (work := self._next()) is not None:
            try:
                answer = self._serve_ticks(work) if work.ticks else self._serve(work)
            except Exception as error:  # noqa: BLE001 - the sampler raises it: this thread cannot report it
                self.crash = error
                answer = Answer(self)
            semaphore = self._semaphore  # before the answer, after which the next request may arrive
            work.reply(answer)
            del answer, work  # a thousand waiting workers would keep a thousand old readings
            if semaphore is not None:
                semaphore.leave(self)
        self._close_all()

    def _next(self) -> ReadRequest | None:
        """Wait for a request, and let readers look until it comes."""
        while self._momentary:
            pause = min((pause for one in self._momentary if (pause := one.pause) is not None), default=None)
            try:
                return self._inbox.get(timeout=pause)
            except queue.Empty:
                try:
                    for reader in self._momentary:
                        if reader.pause is not None:
                            reader.look()
                except Exception:  # noqa: BLE001 - the next reading tells of it, on the way of all failures
                    self._momentary = []
        return self._inbox.get()

    def _serve_ticks(self, work: ReadRequest) -> Answer:
        """Read at each tick by this thread's own clock, skipping ticks whose time has passed.

        Only the reading itself is done at the tick; if the readers allow it, everything else waits for the last tick,
        because all work of a thread takes several times as long after a rest.
        """
        found: dict[int, Answer] = {}
        pending: dict[int, list[_Taken]] = {}
        readers = self._deferrable(work)
        now, after = work.machine.host.now_ns, work.after
        ends = (*work.ticks[1:], math.inf)
        for number, (tick, end) in enumerate(zip(work.ticks, ends, strict=True)):
            if self._clock.wait(self._wake_up, tick + after):
                break
            if self._clock.now() >= end:
                continue
            if readers:
                pending[number] = taken = _take(readers, now)
                if not any(isinstance(one[2], Exception) for one in taken):
                    continue
                self._decode_ticks(pending, found)
            else:
                found[number] = self._serve(work)
            readers = self._deferrable(work)
        self._decode_ticks(pending, found)
        return Answer(self, ticks=found)

    def _deferrable(self, work: ReadRequest) -> list[_Held]:
        """The readers, if a tick consists of readings that can all be decoded later; otherwise none."""
        if work.shared or not self._is_open_for(work):
            return []
        readers = self._held(work)
        return readers if all(held.rotating is None or held.rotating.deferrable for held in readers) else []

    def _held(self, work: ReadRequest) -> list[_Held]:
        keys = ((task.source.id, task.cpu) for task in work.tasks)
        return [self._readers[key] for key in keys if key in self._readers]

    def _decode_ticks(self, pending: dict[int, list[_Taken]], found: dict[int, Answer]) -> None:
        """Decode the readings of several ticks, in order."""
        while pending:
            number = next(iter(pending))
            found[number] = self._decode(pending.pop(number), more=bool(pending))

    def _close_all(self) -> None:
        self._momentary = []
        while self._readers:
            contained(self._readers.popitem()[1].reader.close)
        while self._shared:
            contained(self._shared.popitem()[1][2].close)

    def _serve(self, work: ReadRequest) -> Answer:
        if self._pin_to and self._pinned is not work.machine.topology:
            # pin again whenever CPUs came or went: the cause may have moved this thread too
            try:
                work.machine.host.pin_this_thread(self._pin_to)
            except HostError:  # the CPU went offline or left the cpuset
                self._close_all()
                self._open_for = _NOTHING_OPEN
                return Answer(self, gone=frozenset(self._pin_to))
            self._pinned = work.machine.topology
        gone: set[int] = set()
        failures: dict[tuple[str, int], str] = {}
        began: set[tuple[str, int]] = set()
        if not work.wrap_check and not self._is_open_for(work):
            began = self._open(work, gone, failures) | self._open_shared(work, failures)
            # readers that did not open are tried again in every tick
            self._open_for = _NOTHING_OPEN if gone or failures else (work.tasks, work.shared, work.machine)
        held = self._held(work)
        for one in held:
            if one.lacking is not None:
                one.retry(self._clock.now())
        taken = _take(held, work.machine.host.now_ns)
        shared = self._read_shared(work, failures)
        return self._decode(taken, gone, failures, began, shared, rotate=not work.wrap_check)

    def _is_open_for(self, work: ReadRequest) -> bool:
        """Whether the open readers are those of exactly these tasks."""
        return all(one is other for one, other in zip((work.tasks, work.shared, work.machine), self._open_for,
                                                      strict=True))

    def _decode(self, taken: Sequence[_Taken], gone: set[int] | None = None,
                failures: dict[tuple[str, int], str] | None = None, began: AbstractSet[tuple[str, int]] = frozenset(),
                shared: Sequence[SharedReading] = (), *, rotate: bool = True, more: bool = False) -> Answer:
        """Decode readings into an answer, and let readers rotate to their next event set.

        Args:
            rotate: whether an interval ended with these readings.
            more: whether results of later ticks are still to be decoded.
        """
        gone = set() if gone is None else gone
        failures = {} if failures is None else failures
        readings = Readings()
        interrupted = {(one.source, SHARED): one.ended_ns - one.started_ns for one in shared if one.lost}
        for held, started, found, ended, lost in taken:
            cpu, source = held.task.cpu, held.task.source.id
            key = (source, cpu)
            if cpu in gone:
                continue
            raw: Sequence[Raw] | None = None
            try:
                if isinstance(found, Exception):
                    raise found  # noqa: TRY301 - the handlers are those of `decode`
                if self._readers.get(key) is not held:  # closed since, for the same reason
                    gone.add(cpu)
                    continue
                raw = held.decode(found, started, ended)
                readings.add((cpu, source), held.reader.signals, started, ended, raw)
                if lost:
                    interrupted[key] = ended - started
                if rotate and held.rotating is not None:
                    held.rotating.rotate(more=more)
            except CpuGone:
                gone.add(cpu)
            except Exception as error:  # noqa: BLE001 - raised again where it is turbotui's own
                failures[key] = why_failed(error)
                if raw is None:
                    readings.add((cpu, source), held.reader.signals, started, ended, None)
        for key in [key for key in self._readers if key[1] in gone]:
            # a CPU that returns before anybody checks has lost its counters, and its pinned thread was moved
            contained(self._readers.pop(key).reader.close)
            self._pinned, self._open_for = None, _NOTHING_OPEN
        return Answer(self, readings, tuple(shared), frozenset(gone), frozenset(began), failures,
                      interrupted=interrupted)

    def _read_shared(self, work: ReadRequest, failures: dict[tuple[str, int], str]) -> list[SharedReading]:
        now = work.machine.host.now_ns
        shared: list[SharedReading] = []
        for source, _wanted in work.shared:
            held_shared = self._shared.get(source.id)
            if held_shared is None:
                continue
            quickest = self._quickest.get(source.id, 0)
            rows: Sequence[Sequence[Raw]] | None = None
            lost = False
            try:
                started, rows, ended = undisturbed(held_shared[2].read, quickest, now)
            except Exception as error:  # noqa: BLE001 - as above
                failures[source.id, SHARED] = why_failed(error)
                started = ended = now()
            else:
                took = ended - started
                lost = quickest > 0 and is_interrupted(took, quickest)
                self._quickest[source.id] = min(quickest or took, took)
            shared.append(SharedReading(source.id, held_shared[2].signals, started, ended, rows, lost=lost))
        return shared

    def _open(self, work: ReadRequest, gone: set[int], failures: dict[tuple[str, int], str]) -> set[tuple[str, int]]:
        """Close readers that nobody wants and open missing ones; a reader that returns enough stays open."""
        tasks = {(task.source.id, task.cpu): task for task in work.tasks}
        for key in [key for key in self._readers if key not in tasks]:
            contained(self._readers.pop(key).reader.close)
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
            except Exception as error:  # noqa: BLE001 - as above
                failures[key] = why_failed(error)
                continue
            if held is not None:
                contained(held.reader.close)
            self._readers[key] = _hold(task, reader, self._clock.now())
            if task.source.counts_from_open:
                began.add(key)
        self._momentary = [held.reader for held in self._readers.values() if isinstance(held.reader, Momentary)]
        return began

    def _open_shared(self, work: ReadRequest, failures: dict[tuple[str, int], str]) -> set[tuple[str, int]]:
        began: set[tuple[str, int]] = set()
        wanted = {source.id: (source, names) for source, names in work.shared}
        for name in [name for name in self._shared if name not in wanted]:
            contained(self._shared.pop(name)[2].close)
        for name, (source, names) in wanted.items():
            held = self._shared.get(name)
            topology = work.machine.topology
            if held is not None and held[1] is not topology and isinstance(held[2], TopologyFollower):
                held[2].follow(topology.cpus)
                held = self._shared[name] = (held[0], topology, held[2])
            if held is not None and held[1] is topology:
                if held[0] == names:
                    continue
                if isinstance(held[2], Adjustable) and held[2].choose(names):
                    self._shared[name] = (names, topology, held[2])
                    continue
            try:
                reader = source.open_shared(work.machine, names)
            except Exception as error:  # noqa: BLE001 - as above
                failures[name, SHARED] = why_failed(error)
                continue
            if held is not None:
                contained(held[2].close)
            self._shared[name] = (names, topology, reader)
            if source.counts_from_open:
                began.add((name, SHARED))
        return began


def why_failed(error: Exception) -> str:
    """Why a reader gives nothing; raises what is neither the machine's fault nor another package's."""
    return str(error) if isinstance(error, HostError) else failure_of(error)


def _take(readers: Sequence[_Held], now: Callable[[], int]) -> list[_Taken]:
    """Take the result of each reader, with the host's time around it."""
    taken: list[_Taken] = []
    for held in readers:
        try:
            started, found, ended = undisturbed(held.take, held.quickest, now)
        except Exception as error:  # noqa: BLE001 - raised again by `_decode`
            started = ended = now()
            found, interrupted = error, False
        else:
            interrupted = not held.momentary and is_interrupted(ended - started, held.quickest)
            held.quickest = 0 if held.momentary else min(held.quickest or ended - started, ended - started)
        taken.append((held, started, found, ended, interrupted))
    return taken
