"""Workers: plain threads that open, read and close counters on the CPUs that these belong to.

A worker of one CPU is pinned to it. One of several CPUs moves from one to the next: counters of a CPU are read there,
because it takes an interrupt for each of them from elsewhere (arch/x86/lib/msr-smp.c, perf_event_read in
kernel/events/core.c), and because the time in an idle state is only counted when the CPU leaves it
(drivers/cpuidle/cpuidle.c).

Nobody waits for a worker: a tick continues without an answer that is not in time, and the worker is not asked again
until it has answered. Results are immutable.
"""

from __future__ import annotations

import contextlib
import math
import queue
import threading
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import cast

from turbotui.installed_features import contained, failure_of
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.machine.timed_reads import is_interrupted, undisturbed
from turbotui.machine.topology import Topology
from turbotui.quantities.signals import Raw
from turbotui.sampling.answers import SHARED, Answer, Readings, ReadRequest, SharedReading
from turbotui.sampling.collector import CLOCK, Clock
from turbotui.sampling.held_readers import HeldReader, HeldSharedReader, Taken, has_role, hold
from turbotui.sampling.semaphore import WorkerSemaphore
from turbotui.sources.source import (
    Adjustable,
    CpuGone,
    Momentary,
    Summing,
    TopologyFollower,
)
from turbotui.threads import name_this_thread

_SLOW_NS = 1_000_000  # for a CPU to be reached and read; busy ones take more, and are better waited for together
_AT_FIRST = 4  # times the above that a few CPUs may take
_NOTHING_OPEN = (None, None, None)


class Worker(threading.Thread):
    """Reads the counters of some CPUs, one after the other, when asked.

    Args:
        pins: whether the thread is bound to the CPU that it reads.
        clock: the time of the ticks.

    Attributes:
        busy: whether it was asked and has not answered yet.
        crash: an exception that a source's contract does not allow.
        cpu: the CPU to which it was last bound; -1 before the first.
    """

    def __init__(self, name: str, *, pins: bool = False, clock: Clock = CLOCK) -> None:
        super().__init__(name=name, daemon=True)
        self._semaphore: WorkerSemaphore | None = None
        self.busy = False
        self.crash: Exception | None = None
        self.cpu = -1
        self._pins = pins
        self._clock = clock
        self._pinned: Topology | None = None
        self._slow_ns = 0  # when this reading takes too long
        self._inbox: queue.SimpleQueue[ReadRequest | None] = queue.SimpleQueue()
        self._readers: dict[tuple[str, int], HeldReader] = {}
        self._shared: dict[str, HeldSharedReader] = {}
        self._open_for: tuple[object, object, Machine | None] = _NOTHING_OPEN
        self._in_order: Sequence[HeldReader] = ()  # the readers of `_open_for`
        self._momentary: list[tuple[Momentary, int]] = []  # open readers that may look between two requests, by CPU
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
            pause = min((pause for reader, _cpu in self._momentary if (pause := reader.pause) is not None),
                        default=None)
            try:
                return self._inbox.get(timeout=pause)
            except queue.Empty:
                try:
                    for reader, cpu in self._momentary:
                        if reader.pause is not None:
                            self._go_to(cpu, self._open_for[2])
                            reader.look()
                except Exception:  # noqa: BLE001 - the next reading tells of it, on the way of all failures
                    self._momentary = []
        return self._inbox.get()

    def _serve_ticks(self, work: ReadRequest) -> Answer:
        """Read at each tick by this thread's own clock, skipping ticks whose time has passed.

        Only the reading itself is done at the tick; if the readers allow it, everything else waits for the last tick,
        because all work of a thread takes several times as long after a rest.
        """
        answers: dict[int, Answer] = {}
        pending: dict[int, list[Taken]] = {}
        readers = self._deferrable(work)
        after = work.after
        for number, (tick, end) in enumerate(zip(work.ticks, (*work.ticks[1:], math.inf), strict=True)):
            if self._clock.wait(self._wake_up, tick + after):
                break
            if self._clock.now() >= end:
                continue
            if readers:
                pending[number] = taken = self._take(readers, work.machine)
                if not any(isinstance(reading[2], Exception) for reading in taken):
                    continue
                self._decode_ticks(pending, answers)
            else:
                answers[number] = self._serve(work)
            readers = self._deferrable(work)
        self._decode_ticks(pending, answers)
        return Answer(self, ticks=answers)

    def _deferrable(self, work: ReadRequest) -> Sequence[HeldReader]:
        """The readers, if a tick consists of readings that can all be decoded later; otherwise none."""
        if work.shared or not self._is_open_for(work):
            return ()
        deferrable = all(held.rotating is None or held.rotating.deferrable for held in self._in_order)
        return self._in_order if deferrable else ()

    def _held(self, work: ReadRequest) -> Sequence[HeldReader]:
        keys = ((task.source.id, task.cpu) for task in work.tasks)
        return [self._readers[key] for key in keys if key in self._readers]

    def _decode_ticks(self, pending: dict[int, list[Taken]], answers: dict[int, Answer]) -> None:
        """Decode the readings of several ticks, in order."""
        while pending:
            number = next(iter(pending))
            answers[number] = self._decode(pending.pop(number), more=bool(pending))

    def _close_all(self) -> None:
        self._momentary = []
        while self._readers:
            contained(self._readers.popitem()[1].reader.close)
        while self._shared:
            contained(self._shared.popitem()[1].reader.close)

    def _serve(self, work: ReadRequest) -> Answer:
        gone: set[int] = set()
        failures: dict[tuple[str, int], str] = {}
        began: set[tuple[str, int]] = set()
        if not work.wrap_check and not self._is_open_for(work):
            began = self._open(work, gone, failures) | self._open_shared(work, failures)
            # readers that did not open are tried again in every tick
            self._open_for = _NOTHING_OPEN if gone or failures else (work.tasks, work.shared, work.machine)
            self._in_order = self._held(work)
        held = self._held(work) if work.wrap_check else self._in_order
        for reader in held:
            if reader.lacking is not None:
                reader.retry(self._clock.now())
        taken = self._take(held, work.machine)
        shared = self._read_shared(work, failures)
        return self._decode(taken, gone, failures, began, shared, rotate=not work.wrap_check)

    def _take(self, readers: Sequence[HeldReader], machine: Machine) -> list[Taken]:
        """Take the result of each reader on its CPU, with the host's time around it."""
        now = machine.host.now_ns
        taken: list[Taken] = []
        self._slow_ns = now() + _AT_FIRST * _SLOW_NS
        for held in readers:
            try:
                self._go_to(held.task.cpu, machine)
                taken.append(held.taken(now))
            except Exception as error:  # noqa: BLE001 - raised again by `_decode`
                at = now()
                taken.append((held, at, error, at, False))
        return taken

    def _go_to(self, cpu: int, machine: Machine | None) -> None:
        """Bind this thread to a CPU, again whenever CPUs came or went: the cause may have moved the thread too.

        Raises:
            CpuGone: the CPU went offline or left the cpuset.
        """
        if not self._pins or machine is None or (self.cpu == cpu and self._pinned is machine.topology):
            return
        if self._semaphore is not None and machine.host.now_ns() > self._slow_ns:
            self._semaphore.slow(self)
        self._slow_ns += _SLOW_NS
        self.cpu, self._pinned = cpu, None
        try:
            machine.host.pin_this_thread((cpu,))
        except HostError as error:
            raise CpuGone(str(error)) from error
        self._pinned = machine.topology

    def _is_open_for(self, work: ReadRequest) -> bool:
        """Whether the open readers are those of exactly these tasks."""
        return all(now is other for now, other in zip((work.tasks, work.shared, work.machine), self._open_for,
                                                      strict=True))

    def _decode(self, taken: Sequence[Taken], gone: set[int] | None = None,
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
        interrupted = {(reading.source, SHARED): reading.ended_ns - reading.started_ns
                       for reading in shared if reading.lost}
        for held, started, answer, ended, lost in taken:
            cpu, source = held.task.cpu, held.task.source.id
            key = (source, cpu)
            if cpu in gone:
                continue
            raw: Sequence[Raw] | None = None
            try:
                if isinstance(answer, Exception):
                    raise answer  # noqa: TRY301 - the handlers are those of `decode`
                if self._readers.get(key) is not held:  # closed since, for the same reason
                    gone.add(cpu)
                    continue
                raw = held.decode(answer, started, ended)
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
            if (held := self._shared.get(source.id)) is None:
                continue
            rows: Sequence[Sequence[Raw]] | None = None
            lost = False
            try:
                started, rows, ended = undisturbed(held.reader.read, held.quickest, now)
            except Exception as error:  # noqa: BLE001 - as above
                failures[source.id, SHARED] = why_failed(error)
                started = ended = now()
            else:
                took = ended - started
                lost = held.quickest > 0 and is_interrupted(took, held.quickest)
                held.quickest = min(held.quickest or took, took)
            unsure = {} if held.summing is None else held.summing.unsure
            shared.append(SharedReading(source.id, held.reader.signals, started, ended, rows, lost=lost, unsure=unsure))
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
            if (held is not None and has_role(held.reader, Adjustable)
                    and cast("Adjustable", held.reader).choose(task.wanted)):
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
            self._readers[key] = hold(task, reader, self._clock.now())
            if task.source.counts_from_open:
                began.add(key)
        self._momentary = [(momentary, key[1]) for key, held in self._readers.items()
                           if (momentary := held.momentary) is not None]
        return began

    def _open_shared(self, work: ReadRequest, failures: dict[tuple[str, int], str]) -> set[tuple[str, int]]:
        began: set[tuple[str, int]] = set()
        wanted = {source.id: (source, names) for source, names in work.shared}
        for name in [name for name in self._shared if name not in wanted]:
            contained(self._shared.pop(name).reader.close)
        for name, (source, names) in wanted.items():
            held = self._shared.get(name)
            topology = work.machine.topology
            if held is not None and held.topology is not topology and isinstance(held.reader, TopologyFollower):
                held.reader.follow(topology.cpus)
                held.topology = topology
            if held is not None and held.topology is topology:
                if held.wanted == names:
                    continue
                if isinstance(held.reader, Adjustable) and held.reader.choose(names):
                    held.wanted = names
                    continue
            try:
                reader = source.open_shared(work.machine, names)
            except Exception as error:  # noqa: BLE001 - as above
                failures[name, SHARED] = why_failed(error)
                continue
            if held is not None:
                contained(held.reader.close)
            summing = reader if isinstance(reader, Summing) else None
            self._shared[name] = HeldSharedReader(names, topology, reader, summing)
            if source.counts_from_open:
                began.add((name, SHARED))
        return began


def why_failed(error: Exception) -> str:
    """Why a reader gives nothing; raises what is neither the machine's fault nor another package's."""
    return str(error) if isinstance(error, HostError) else failure_of(error)

