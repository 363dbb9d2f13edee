"""Workers: one plain thread pinned to each CPU, which opens, reads and closes that CPU's counters.

A worker is never waited for: a tick that it does not answer in time goes on without it, and it is not asked again
until it has answered. Its results are immutable.
"""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from turbotui.machine.host import HostError
from turbotui.machine.topology import Topology
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sampling.answers import SHARED, Answer, Readings, SharedReading, Work
from turbotui.sampling.turnstile import Turnstile
from turbotui.sources.source import Adjustable, CpuGone, Reader, SharedReader, Turning

_INTERRUPTED = 8  # times as long as the quickest read of the same counters: the thread lost its CPU in between
_INTERRUPTED_NS = 100_000  # and long enough to matter: 1e-4 of a second's interval


@dataclass(slots=True)
class _Held:
    """An open reader, what it was opened for, itself if it turns, ns of its quickest read so far or 0."""

    wanted: frozenset[SignalId]
    reader: Reader
    turning: Turning | None
    quickest: int = 0


_UNSETTLED = (None, None, None)


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
        self._settled: tuple[object, object, object] = _UNSETTLED
        self._bell = threading.Lock()  # held while nobody rings

    def ask(self, work: Work) -> None:
        """Hand over one request; the answer comes through `work.reply` on this worker's thread."""
        self.busy = True
        self._bell.acquire(blocking=False)
        if self._turnstile is None:
            self.take(work)
        else:
            self._turnstile.enter(self, work)

    def cut(self) -> None:
        """Answer with the beats read so far, and read no more of them. On the thread that asked."""
        with contextlib.suppress(RuntimeError):  # it rings already
            self._bell.release()

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
                answer = self._serve_beats(work) if work.beats else self._serve(work)
            except Exception as error:  # noqa: BLE001 - the sampler raises it: this thread has nobody to tell
                self.crash = error
                answer = Answer(self, crash=error)
            work.reply(answer)
            del answer, work  # a thousand workers that wait would keep a thousand old readings
            if self._turnstile is not None:
                self._turnstile.leave(self)
        self._close_all()

    def _serve_beats(self, work: Work) -> Answer:
        """Read at each beat, by this thread's own clock; a beat whose end has passed is left out."""
        found: dict[int, Answer] = {}
        ends = (*work.beats[1:], math.inf)
        for number, (beat, end) in enumerate(zip(work.beats, ends, strict=True)):
            left = beat - time.monotonic()
            if left > 0 and self._bell.acquire(timeout=left):
                break
            if time.monotonic() < end:
                found[number] = self._serve(work)
        return Answer(self, beats=found)

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
                self._settled = _UNSETTLED
                return Answer(self, gone=frozenset(self._pin_to))
            self._pinned = work.machine.topology
        gone: set[int] = set()
        failures: dict[tuple[str, int], str] = {}
        began: set[tuple[str, int]] = set()
        asked = work.tasks, work.shared, work.machine
        if not work.look and not all(one is other for one, other in zip(asked, self._settled, strict=True)):
            began = self._open(work, gone, failures) | self._open_shared(work, failures)
            # what did not open is tried again in every tick
            self._settled = _UNSETTLED if gone or failures else asked
        answer = self._read(work, gone, failures, began)
        for key in [key for key in self._readers if key[1] in gone]:
            # A CPU that comes back before anybody looks has lost its counters, and its pinned thread has been moved.
            self._readers.pop(key).reader.close()
            self._pinned, self._settled = None, _UNSETTLED
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
            if held.turning is not None and not work.look:
                try:
                    held.turning.turn()
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
            self._readers[key] = _Held(task.wanted, reader, reader if isinstance(reader, Turning) else None)
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
