"""Pinned threads that run a kernel at the same time, in rounds, each timed by its own CPU time.

A thread's CPU time (CLOCK_THREAD_CPUTIME_ID, clock_gettime(2)) stops while other work has its CPU, so a busy machine
does not make a core look slow. Shared resources can only be measured while all threads run: a round in which a thread
was off its CPU does not count there.
"""

from __future__ import annotations

import queue
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Self

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.machine.code.mapping import Buffer, CodePage
from turbotui.machine.code.shapes import Kernel
from turbotui.machine.host import Host
from turbotui.threads import name_this_thread

_CALIBRATION_NS: Final = 1_000_000
_CLOCK_NS: Final = 150_000  # of one look at the clock; the fastest look counts, since a disturbance only slows it
_CLOCK_LOOKS: Final = 3  # number of those before a kernel, and as many after it
_LEAST_PASSES: Final = 4  # passes over a working set, so that what the caches still hold, or hold ready, counts little
UNDISTURBED: Final = 0.97
"""Share of its time on the CPU from which a thread's round says something about the kernel."""
_LONG_SECONDS: Final = 0.1  # seconds of passes over a working set; fewer than `_LEAST_PASSES` suffice then
_PIECE: Final = 1 << 20
_LARGE: Final = 64 << 20
"""Bytes from which a working set is not walked completely in every round: a round continues where the last one ended,
and is as short as wanted. The data that it meets has left the caches while the rest of the set was walked."""
AGREEING: Final = 0.03
"""Relative difference up to which the rates of two rounds count as equal."""
_MOST_ITERATIONS: Final = 1 << 40
# A signal that arrives just before a wait is seen only after it, so every wait ends. The time is longer than most
# rounds together, so that wake-ups do not disturb the measurement.
_PATIENCE: Final = 0.25


@dataclass(frozen=True, slots=True)
class Round:
    """One round of all threads."""

    # work per second of all threads. If they share nothing, each counts over its own CPU time. If they do, all work
    # counts over the time from the first start to the last end: a thread that continues alone is faster than among the
    # others, and the sum would exceed what the shared resource can do.
    rate: float
    hertz: float  # mean clock of the CPUs before and after the kernel, measured by a chain of dependent additions
    share: float  # the smallest share of the round that a thread was on its CPU; below 1 the CPU ran something else
    together: bool = False  # whether the rate needs all threads at the same time

    @property
    def disturbed(self) -> bool:
        """Whether a thread was off its CPU in a round that needs all of them, which makes the rate too low."""
        return self.together and self.share < UNDISTURBED


@dataclass(frozen=True, slots=True)
class Rounds:
    """Rounds of one kernel."""

    kernel: Kernel
    rounds: tuple[Round, ...]  # in the order in which they ran; never empty

    @property
    def best(self) -> Round:
        """The fastest round, undisturbed if there is one: what the machine can do."""
        return max(self.rounds, key=lambda measured: (not measured.disturbed, measured.rate))

    @property
    def agreeing(self) -> int:
        """How many undisturbed rounds are within `AGREEING` of the best one, including the best."""
        least = self.best.rate * (1.0 - AGREEING)
        return sum(measured.rate >= least for measured in self.rounds if not measured.disturbed)

    @property
    def median(self) -> float:
        """Median of the rates."""
        return statistics.median(measured.rate for measured in self.rounds)

    @property
    def hertz(self) -> float:
        """The highest clock seen; the chain that measures it can be slowed down but not sped up."""
        return max(measured.hertz for measured in self.rounds)

    @property
    def spread(self) -> float:
        """(highest - lowest) / highest."""
        rates = [measured.rate for measured in self.rounds]
        return (max(rates) - min(rates)) / max(rates)

    def with_more(self, other: Rounds) -> Rounds:
        """The rounds of this run and another run of the same kernel."""
        return Rounds(self.kernel, self.rounds + other.rounds)


@dataclass(frozen=True, slots=True)
class _Task:
    page: CodePage
    size: int
    step: int
    work: int
    seconds: float
    rounds: int
    data: bytes
    barrier: threading.Barrier


@dataclass(frozen=True, slots=True)
class _Timing:
    start: int
    ns: int
    cpu_ns: int
    work: int
    hertz: float

    @property
    def share(self) -> float:
        return min(1.0, self.cpu_ns / max(1, self.ns))


class _Job:
    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._done = threading.Event()
        self._outcome: object = None

    def run(self, failure: OSError | None) -> None:
        try:
            self._outcome = self._work() if failure is None else failure
        except Exception as error:  # noqa: BLE001 - raised again in the thread that asked
            self._outcome = error
        finally:
            self._done.set()

    def answer(self) -> object:
        while not self._done.wait(_PATIENCE):
            pass
        return self._outcome


class _Worker(threading.Thread):
    def __init__(self, host: Host, cpu: int) -> None:
        super().__init__(name=f"roof-{cpu}", daemon=True)
        self.cpu = cpu
        self._host = host
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()

    def run(self) -> None:
        name_this_thread()
        failure: OSError | None = None
        try:
            self._host.pin_this_thread([self.cpu])
        except OSError as error:
            failure = error
        while (job := self._jobs.get()) is not None:
            job.run(failure)

    def give(self, job: _Job | None) -> None:
        self._jobs.put(job)


class KernelThreads:
    """One pinned thread, with a buffer, for each CPU of a set; a context manager.

    Whatever ends a call in the calling thread, including a signal's exception, takes effect when all threads are idle.

    Args:
        host: the machine this runs on.
        clock: the kernel that measures the clock.
        node: the node of the buffers' memory; None for that of each thread's CPU.
    """

    def __init__(self, host: Host, cpus: Sequence[int], clock: Kernel, node: int | None = None) -> None:
        self._host = host
        self._clock = clock
        self._node = node
        self._clock_page = CodePage(clock.code)
        self._workers = [_Worker(host, cpu) for cpu in cpus]
        self._buffers: dict[int, Buffer] = {}
        self._places: dict[int, int] = {}  # start of the next piece of a large working set
        for worker in self._workers:
            worker.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        for worker in self._workers:
            worker.give(None)
        try:
            for worker in self._workers:
                worker.join()
        finally:
            for buffer in list(self._buffers.values()):
                buffer.close()
            self._clock_page.close()

    def prepare(self, size: int) -> None:
        """Give every thread a buffer of at least this size; a larger one is kept.

        Raises:
            MachineError: there is no memory, or a CPU cannot be pinned to.
        """

        def make(cpu: int) -> Callable[[], object]:
            def task() -> object:
                if (before := self._buffers.get(cpu)) is None or before.size < size:
                    if before is not None:
                        del self._buffers[cpu]  # without memory for the larger buffer there is none at all
                        before.close()
                    self._buffers[cpu] = Buffer(size, self._node)
                return None

            return task

        self._all([make(worker.cpu) for worker in self._workers])

    def measure(self, kernel: Kernel, size: int, seconds: float, rounds: int, data: bytes = b"", *,
                shared: bool = False) -> Rounds:
        """Run a kernel on all CPUs at once, in several rounds.

        Args:
            size: bytes for each thread that a memory kernel walks; rounded down to its step.
            seconds: length of one round.
            rounds: number of rounds; each starts when all threads are ready.
            data: put at the start of each buffer before.
            shared: whether the threads share what is measured.

        Raises:
            MachineError: a thread failed, or memory ran out.
        """
        whole = max(size // kernel.work * kernel.work, kernel.work) if size else 0
        self.prepare(max(whole, len(data)))
        work = whole if size else kernel.work
        with CodePage(kernel.code) as page:
            task = _Task(page, whole, kernel.work, work, seconds, rounds, data, threading.Barrier(len(self._workers)))

            def make(cpu: int) -> Callable[[], object]:
                return lambda: self._rounds(task, self._buffers[cpu], cpu)

            # leaving early breaks the barrier, so that nobody starts another round
            answers = self._all([make(worker.cpu) for worker in self._workers], task.barrier.abort)
        columns = [[timing for timing in answer if isinstance(timing, _Timing)]
                   for answer in answers if isinstance(answer, list)]
        return Rounds(kernel, tuple(_combine(row, shared) for row in zip(*columns, strict=True)))

    def _all(self, tasks: Sequence[Callable[[], object]], hurry: Callable[[], None] = lambda: None) -> list[object]:
        """Return the results of all threads; an exception such as Ctrl+C is raised once all are done, after `hurry`."""
        jobs = [_Job(task) for task in tasks]
        try:
            for worker, job in zip(self._workers, jobs, strict=True):
                worker.give(job)
            answers = [job.answer() for job in jobs]
        except BaseException:
            hurry()
            self._rest()
            raise
        for answer in answers:
            if isinstance(answer, OSError | MachineError):
                raise MachineError(f"a roof cannot be measured: {answer}") from answer
            if isinstance(answer, Exception) and not isinstance(answer, threading.BrokenBarrierError):
                raise answer  # a broken barrier only means that another thread failed
        return answers

    def _rest(self) -> None:
        lasts = [_Job(lambda: None) for _ in self._workers]
        for worker, last in zip(self._workers, lasts, strict=True):
            worker.give(last)
        for last in lasts:
            last.answer()

    def _rounds(self, task: _Task, buffer: Buffer, cpu: int) -> list[_Timing]:
        try:
            # held for all rounds at once: a lock around each kernel would count as its time
            with task.page.held(), buffer.held(), self._clock_page.held():
                return self._held_rounds(task, buffer, cpu)
        except Exception:
            task.barrier.abort()  # otherwise the others would wait for ever
            raise

    def _held_rounds(self, task: _Task, buffer: Buffer, cpu: int) -> list[_Timing]:
        buffer.write(task.data)
        walk = _Walk(task, buffer, self._places.get(cpu, 0))
        passes = _calibrate(walk, _LONG_SECONDS)
        # a set so large that one walk takes long leaves the caches as it found them, round after round
        least = min(_LEAST_PASSES, passes) if task.size and not walk.large else 1
        iterations = max(least, round(passes * task.seconds / _LONG_SECONDS))
        clock = _Walk(_Task(self._clock_page, 0, 1, self._clock.work, 0.0, 0, b"", task.barrier), buffer, 0)
        clock_iterations = _calibrate(clock, _CLOCK_NS / 1e9)
        timings = []
        for _ in range(task.rounds):
            task.barrier.wait()
            timings.append(self._round(walk, clock, iterations, clock_iterations))
            # all threads should end together, so this round's length among the others sets the next one's work
            factor = min(2.0, max(0.5, task.seconds * 1e9 / max(1, timings[-1].cpu_ns)))
            iterations = max(least, round(iterations * factor))
        self._places[cpu] = walk.place
        return timings

    def _round(self, walk: _Walk, clock: _Walk, iterations: int, clock_iterations: int) -> _Timing:
        looks = [clock.cpu_ns(clock_iterations) for _ in range(_CLOCK_LOOKS)]
        start = self._host.now_ns()
        on_cpu = walk.cpu_ns(iterations)
        elapsed = self._host.now_ns() - start
        looks += [clock.cpu_ns(clock_iterations) for _ in range(_CLOCK_LOOKS)]
        hertz = clock.work * clock_iterations * 1e9 / max(1, min(looks))
        return _Timing(start, elapsed, on_cpu, walk.work * iterations, hertz)


class _Walk:
    """Iterations of a kernel over its whole working set or, if that is large, over its next part.

    Attributes:
        large: whether an iteration covers only a part of the set.
        work: work of one iteration.
    """

    def __init__(self, task: _Task, buffer: Buffer, place: int) -> None:
        self.large = task.size > _LARGE
        self._page = task.page
        self._buffer = buffer
        self._part = max(1, _PIECE // task.step) * task.step if self.large else task.size
        self._end = task.size // self._part * self._part if self.large else task.size
        self.work = self._part if self.large else task.work
        # a kernel stops only at a whole number of its steps, and another kernel's parts may have another size
        self.place = place // self._part * self._part % self._end if self.large else 0

    def cpu_ns(self, iterations: int) -> int:
        """CPU time in ns of a number of iterations, for the thread that runs them."""
        start = time.thread_time_ns()
        if not self.large:
            self._page.run(iterations, self._buffer.address, self._part)
            return time.thread_time_ns() - start
        left = iterations * self._part
        while left:
            length = min(left, self._end - self.place)
            self._page.run(1, self._buffer.address + self.place, length)
            self.place = (self.place + length) % self._end
            left -= length
        return time.thread_time_ns() - start


def _calibrate(walk: _Walk, seconds: float) -> int:
    """The number of iterations that take `seconds`; runs a few, which also warms caches and clock."""
    iterations = 1
    while True:
        if (elapsed := walk.cpu_ns(iterations)) >= _CALIBRATION_NS or iterations >= _MOST_ITERATIONS:
            return max(1, round(iterations * seconds * 1e9 / max(1, elapsed)))
        iterations *= 4


def _combine(timings: Sequence[_Timing], shared: bool) -> Round:
    if shared:
        first, last = min(timing.start for timing in timings), max(timing.start + timing.ns for timing in timings)
        rate = sum(timing.work for timing in timings) * 1e9 / (last - first)
    else:
        rate = sum(timing.work * 1e9 / max(1, timing.cpu_ns) for timing in timings)
    return Round(rate=rate, hertz=statistics.fmean(timing.hertz for timing in timings),
                 share=min(timing.share for timing in timings), together=shared)
