"""Pinned threads that run a kernel at the same time, round by round, each timed by itself with the clock beside."""

from __future__ import annotations

import queue
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from turbotui.errors import MachineError
from turbotui.machine.code.mapping import Buffer, CodePage
from turbotui.machine.code.shapes import Kernel
from turbotui.machine.host import Host

_CALIBRATION_NS: Final = 1_000_000
_CLOCK_NS: Final = 150_000  # of one look at the clock; the fastest look counts, since a disturbance only slows it
_CLOCK_LOOKS: Final = 3  # before a kernel, and as many after it
_LEAST_PASSES: Final = 4  # over a working set: what the caches still hold back or hold ready must not count for much
_UNDISTURBED: Final = 0.97  # share of its time on the CPU from which on a round's length tells about the kernel
_LONG_SECONDS: Final = 0.1  # of walks over a working set: fewer than `_LEAST_PASSES` do then
_MOST_ITERATIONS: Final = 1 << 40
# A signal that comes just before a wait begins is only seen after it, so no wait is for ever. Longer than most rounds
# together, so that waking up does not take time from what is measured.
_PATIENCE: Final = 0.25


@dataclass(frozen=True, slots=True)
class Round:
    """One round of all threads.

    Attributes:
        rate: work per second of all threads. Each over its own time where they share nothing; where they do, all work
            over the time from the first start to the last end, since a thread that runs on alone is faster than it was
            among the others, and the sum would be more than the shared part can do.
        hertz: mean clock of the CPUs around the kernel, by a chain of dependent additions.
        share: the smallest share of its own time that a thread was on its CPU (CLOCK_THREAD_CPUTIME_ID); below 1 the
            CPU worked for somebody else. A hypervisor's theft is not seen by it.
    """

    rate: float
    hertz: float
    share: float


@dataclass(frozen=True, slots=True)
class Rounds:
    """Rounds of one kernel.

    Attributes:
        kernel: what ran.
        rounds: in the order they ran; never empty.
    """

    kernel: Kernel
    rounds: tuple[Round, ...]

    @property
    def best(self) -> Round:
        """The fastest round: what the machine can do when nothing else wants it."""
        return max(self.rounds, key=lambda one: one.rate)

    @property
    def median(self) -> float:
        """Median of the rates."""
        return statistics.median(one.rate for one in self.rounds)

    @property
    def hertz(self) -> float:
        """The highest clock seen; the chain that shows it can be disturbed, but not hurried."""
        return max(one.hertz for one in self.rounds)

    @property
    def spread(self) -> float:
        """(best - worst) / best."""
        best = self.best.rate
        return (best - min(one.rate for one in self.rounds)) / best

    def with_more(self, other: Rounds) -> Rounds:
        """The same kernel's rounds and those of another run."""
        return Rounds(self.kernel, self.rounds + other.rounds)


@dataclass(frozen=True, slots=True)
class _Task:
    """What every thread does with its buffer."""

    page: CodePage
    size: int
    work: int
    seconds: float
    rounds: int
    data: bytes
    barrier: threading.Barrier


@dataclass(frozen=True, slots=True)
class _Timing:
    start: int
    ns: int
    work: int
    hertz: float
    share: float


class _Job:
    """What a worker is given, and what comes of it."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._done = threading.Event()
        self._found: object = None

    def run(self, failure: OSError | None) -> None:
        """In the worker; nothing is done where the worker could not be bound."""
        try:
            self._found = self._work() if failure is None else failure
        except Exception as error:  # noqa: BLE001 - raised again in the thread that asked
            self._found = error
        finally:
            self._done.set()

    def answer(self) -> object:
        """What it returned or raised, when it is done."""
        while not self._done.wait(_PATIENCE):
            pass
        return self._found


class _Worker(threading.Thread):
    """A thread bound to one CPU that runs the jobs it is given, in their order."""

    def __init__(self, host: Host, cpu: int) -> None:
        super().__init__(name=f"roof-{cpu}", daemon=True)
        self.cpu = cpu
        self._host = host
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()

    def run(self) -> None:
        failure: OSError | None = None
        try:
            self._host.pin_this_thread([self.cpu])
        except OSError as error:
            failure = error
        while (job := self._jobs.get()) is not None:
            job.run(failure)

    def give(self, job: _Job | None) -> None:
        """Let it do this next; None ends it."""
        self._jobs.put(job)


class Crew:
    """One pinned thread for each CPU of a set, and a buffer each; a context manager.

    Whatever ends a call in the thread that made it, a signal's exception too, ends it when all threads are at rest.

    Args:
        host: the machine this runs on.
        cpus: one thread on each.
        clock: the kernel that measures the clock.
    """

    def __init__(self, host: Host, cpus: Sequence[int], clock: Kernel) -> None:
        self.cpus = tuple(cpus)
        self._host = host
        self._clock = clock
        self._clock_page = CodePage(clock.code)
        self._workers = [_Worker(host, cpu) for cpu in cpus]
        self._buffers: dict[int, Buffer] = {}
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
        """Give every thread a buffer of its own, at least so large; a larger one stays.

        Raises:
            MachineError: no memory, or a CPU cannot be pinned to.
        """

        def make(cpu: int) -> Callable[[], object]:
            def task() -> object:
                before = self._buffers.get(cpu)
                if before is None or before.size < size:
                    if before is not None:
                        del self._buffers[cpu]  # where there is no memory for the larger one, there is none
                        before.close()
                    self._buffers[cpu] = Buffer(size)
                return None

            return task

        self._all([make(worker.cpu) for worker in self._workers])

    def measure(self, kernel: Kernel, size: int, seconds: float, rounds: int, data: bytes = b"", *,
                shared: bool = False) -> Rounds:
        """Run a kernel on all CPUs at once, several rounds.

        Args:
            kernel: what to run.
            size: bytes for each thread that a memory kernel walks; rounded down to its step.
            seconds: length of one round.
            rounds: how many; each starts when all threads are ready.
            data: put at the start of each buffer first.
            shared: whether the threads share what is measured; see `Round.rate`.

        Raises:
            MachineError: a thread failed, or memory ran out.
        """
        whole = max(size // kernel.work * kernel.work, kernel.work) if size else 0
        self.prepare(max(whole, len(data)))
        work = whole if size else kernel.work
        with CodePage(kernel.code) as page:
            task = _Task(page, whole, work, seconds, rounds, data, threading.Barrier(len(self._workers)))

            def make(cpu: int) -> Callable[[], object]:
                return lambda: self._rounds(task, self._buffers[cpu])

            # Whoever leaves early breaks the barrier, so that nobody starts another round.
            found = self._all([make(worker.cpu) for worker in self._workers], task.barrier.abort)
        columns = [[timing for timing in one if isinstance(timing, _Timing)] for one in found if isinstance(one, list)]
        return Rounds(kernel, tuple(_combine(row, shared) for row in zip(*columns, strict=True)))

    def _all(self, tasks: Sequence[Callable[[], object]], hurry: Callable[[], None] = lambda: None) -> list[object]:
        """What all threads found; an exception here, as of Ctrl-C, leaves when they are done, after `hurry`."""
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
                raise answer  # a broken barrier only tells that another thread failed
        return answers

    def _rest(self) -> None:
        """Wait until no thread has anything to do, whatever was given to which."""
        lasts = [_Job(lambda: None) for _ in self._workers]
        for worker, last in zip(self._workers, lasts, strict=True):
            worker.give(last)
        for last in lasts:
            last.answer()

    def _rounds(self, task: _Task, buffer: Buffer) -> list[_Timing]:
        try:
            # Held for all rounds at once: a lock around each kernel would be part of its time.
            with task.page.held(), buffer.held(), self._clock_page.held():
                return self._held_rounds(task, buffer)
        except Exception:
            task.barrier.abort()  # or the others would wait for ever
            raise

    def _held_rounds(self, task: _Task, buffer: Buffer) -> list[_Timing]:
        buffer.write(task.data)
        passes = self._calibrate(task.page, buffer, task.size, _LONG_SECONDS)
        # A set so large that one walk over it is long leaves its caches as it found them, round after round.
        least = min(_LEAST_PASSES, passes) if task.size else 1
        iterations = max(least, round(passes * task.seconds / _LONG_SECONDS))
        beats = self._calibrate(self._clock_page, buffer, 0, _CLOCK_NS / 1e9)
        timings = []
        for _ in range(task.rounds):
            task.barrier.wait()
            timings.append(self._round(task, buffer, iterations, beats))
            if timings[-1].share >= _UNDISTURBED:
                # All should end together, so the next round goes by how long this one was among the others.
                factor = min(2.0, max(0.5, task.seconds * 1e9 / timings[-1].ns))
                iterations = max(least, round(iterations * factor))
        return timings

    def _calibrate(self, page: CodePage, buffer: Buffer, size: int, seconds: float) -> int:
        """How many iterations last `seconds`; runs a few, which also warms caches and clock."""
        iterations = 1
        while True:
            elapsed = self._time(page, iterations, buffer, size)
            if elapsed >= _CALIBRATION_NS or iterations >= _MOST_ITERATIONS:
                return max(1, round(iterations * seconds * 1e9 / max(1, elapsed)))
            iterations *= 4

    def _time(self, page: CodePage, iterations: int, buffer: Buffer, size: int) -> int:
        start = self._host.now_ns()
        page.run(iterations, buffer.address, size)
        return self._host.now_ns() - start

    def _round(self, task: _Task, buffer: Buffer, iterations: int, beats: int) -> _Timing:
        looks = [self._time(self._clock_page, beats, buffer, 0) for _ in range(_CLOCK_LOOKS)]
        on_cpu = time.thread_time_ns()
        start = self._host.now_ns()
        elapsed = self._time(task.page, iterations, buffer, task.size)
        on_cpu = time.thread_time_ns() - on_cpu
        looks += [self._time(self._clock_page, beats, buffer, 0) for _ in range(_CLOCK_LOOKS)]
        hertz = self._clock.work * beats * 1e9 / max(1, min(looks))
        return _Timing(start, elapsed, task.work * iterations, hertz, min(1.0, on_cpu / elapsed))


def _combine(timings: Sequence[_Timing], shared: bool) -> Round:
    if shared:
        first, last = min(one.start for one in timings), max(one.start + one.ns for one in timings)
        rate = sum(one.work for one in timings) * 1e9 / (last - first)
    else:
        rate = sum(one.work * 1e9 / one.ns for one in timings)
    return Round(
        rate=rate,
        hertz=statistics.fmean(one.hertz for one in timings),
        share=min(one.share for one in timings),
    )
