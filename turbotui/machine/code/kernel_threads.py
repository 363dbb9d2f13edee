"""Pinned threads that run a kernel at the same time, round by round, each timed by its own CPU time.

A thread's CPU time (CLOCK_THREAD_CPUTIME_ID, clock_gettime(2)) stands while other work has its CPU, so that a busy
machine does not make a core look slow. What several threads share can only be measured while all of them run: there a
round in which one of them was off its CPU is no measurement.
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

_CALIBRATION_NS: Final = 1_000_000
_CLOCK_NS: Final = 150_000  # of one look at the clock; the fastest look counts, since a disturbance only slows it
_CLOCK_LOOKS: Final = 3  # before a kernel, and as many after it
_LEAST_PASSES: Final = 4  # over a working set: what the caches still hold back or hold ready must not count for much
UNDISTURBED: Final = 0.97
"""Share of its time on the CPU from which on the length of a thread's round tells about the kernel."""
_LONG_SECONDS: Final = 0.1  # of walks over a working set: fewer than `_LEAST_PASSES` do then
_PIECE: Final = 1 << 20
_LARGE: Final = 64 << 20
"""Bytes from which on a working set is not walked whole in every round: a round goes on where the one before ended, and
is as short as wanted. What it meets has left the caches since, while the rest of the set was walked."""
AGREEING: Final = 0.03
"""Rounds whose rates differ by no more than this share are the same."""
_MOST_ITERATIONS: Final = 1 << 40
# A signal that comes just before a wait begins is only seen after it, so no wait is for ever. Longer than most rounds
# together, so that waking up does not take time from what is measured.
_PATIENCE: Final = 0.25


@dataclass(frozen=True, slots=True)
class Round:
    """One round of all threads.

    Attributes:
        rate: work per second of all threads. Each over its own CPU time where they share nothing; where they do, all
            work over the time from the first start to the last end, since a thread that runs on alone is faster than
            it was among the others, and the sum would be more than the shared part can do.
        hertz: mean clock of the CPUs around the kernel, by a chain of dependent additions.
        share: the smallest share of the round that a thread was on its CPU; below 1 the CPU worked for somebody else.
        together: whether the rate needs all threads at the same time.
    """

    rate: float
    hertz: float
    share: float
    together: bool = False

    @property
    def disturbed(self) -> bool:
        """Whether a thread was off its CPU in a round that needs all of them: the rate is too low then."""
        return self.together and self.share < UNDISTURBED


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
        """The fastest round, of those that nothing disturbed where there are any: what the machine can do."""
        return max(self.rounds, key=lambda one: (not one.disturbed, one.rate))

    @property
    def agreeing(self) -> int:
        """How many undisturbed rounds come within `AGREEING` of the best one, itself among them."""
        least = self.best.rate * (1.0 - AGREEING)
        return sum(one.rate >= least for one in self.rounds if not one.disturbed)

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
        """(highest - lowest) / highest."""
        rates = [one.rate for one in self.rounds]
        return (max(rates) - min(rates)) / max(rates)

    def with_more(self, other: Rounds) -> Rounds:
        """The rounds of this run and of another run of the same kernel, together."""
        return Rounds(self.kernel, self.rounds + other.rounds)


@dataclass(frozen=True, slots=True)
class _Task:
    """One task that every thread runs on its buffer."""

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
    """A thread's part of a round: by the wall clock when it started and how long it took, and its CPU time, in ns."""

    start: int
    ns: int
    cpu_ns: int
    work: int
    hertz: float

    @property
    def share(self) -> float:
        return min(1.0, self.cpu_ns / max(1, self.ns))


class _Job:
    """A job of a worker, with its result or exception."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._done = threading.Event()
        self._found: object = None

    def run(self, failure: OSError | None) -> None:
        """Run the task in the worker thread; does nothing where the worker could not be bound."""
        try:
            self._found = self._work() if failure is None else failure
        except Exception as error:  # noqa: BLE001 - raised again in the thread that asked
            self._found = error
        finally:
            self._done.set()

    def answer(self) -> object:
        """Wait for the job, and return its result or the exception that it raised."""
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
        """Give the thread its next task; None ends the thread."""
        self._jobs.put(job)


class KernelThreads:
    """One pinned thread for each CPU of a set, and a buffer each; a context manager.

    Whatever ends a call in the thread that made it, a signal's exception too, ends it when all threads are at rest.

    Args:
        host: the machine this runs on.
        cpus: one thread on each.
        clock: the kernel that measures the clock.
        node: whose memory the buffers are of; None: that of each thread's CPU.
    """

    def __init__(self, host: Host, cpus: Sequence[int], clock: Kernel, node: int | None = None) -> None:
        self.cpus = tuple(cpus)
        self._host = host
        self._clock = clock
        self._node = node
        self._clock_page = CodePage(clock.code)
        self._workers = [_Worker(host, cpu) for cpu in cpus]
        self._buffers: dict[int, Buffer] = {}
        self._places: dict[int, int] = {}  # where the next piece of a large working set begins
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
                    self._buffers[cpu] = Buffer(size, self._node)
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
            task = _Task(page, whole, kernel.work, work, seconds, rounds, data, threading.Barrier(len(self._workers)))

            def make(cpu: int) -> Callable[[], object]:
                return lambda: self._rounds(task, self._buffers[cpu], cpu)

            # Whoever leaves early breaks the barrier, so that nobody starts another round.
            found = self._all([make(worker.cpu) for worker in self._workers], task.barrier.abort)
        columns = [[timing for timing in one if isinstance(timing, _Timing)] for one in found if isinstance(one, list)]
        return Rounds(kernel, tuple(_combine(row, shared) for row in zip(*columns, strict=True)))

    def _all(self, tasks: Sequence[Callable[[], object]], hurry: Callable[[], None] = lambda: None) -> list[object]:
        """Results of all threads; an exception, as of Ctrl-C, leaves once they are done, after `hurry`."""
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

    def _rounds(self, task: _Task, buffer: Buffer, cpu: int) -> list[_Timing]:
        try:
            # Held for all rounds at once: a lock around each kernel would be part of its time.
            with task.page.held(), buffer.held(), self._clock_page.held():
                return self._held_rounds(task, buffer, cpu)
        except Exception:
            task.barrier.abort()  # or the others would wait for ever
            raise

    def _held_rounds(self, task: _Task, buffer: Buffer, cpu: int) -> list[_Timing]:
        buffer.write(task.data)
        walk = _Walk(task, buffer, self._places.get(cpu, 0))
        passes = _calibrate(walk, _LONG_SECONDS)
        # A set so large that one walk over it is long leaves its caches as it found them, round after round.
        least = min(_LEAST_PASSES, passes) if task.size and not walk.large else 1
        iterations = max(least, round(passes * task.seconds / _LONG_SECONDS))
        clock = _Walk(_Task(self._clock_page, 0, 1, self._clock.work, 0.0, 0, b"", task.barrier), buffer, 0)
        clock_iterations = _calibrate(clock, _CLOCK_NS / 1e9)
        timings = []
        for _ in range(task.rounds):
            task.barrier.wait()
            timings.append(self._round(walk, clock, iterations, clock_iterations))
            # All should end together, so the next round goes by how long this one was among the others.
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
    """Iterations of a kernel, over all of its working set or, where that is large, over the next part of it.

    Args:
        task: the kernel and the size of its set.
        buffer: holds the set.
        place: where the next part of a large set begins.

    Attributes:
        large: whether an iteration is a part of the set only.
        work: of one iteration.
        place: where the next part begins.
    """

    def __init__(self, task: _Task, buffer: Buffer, place: int) -> None:
        self.large = task.size > _LARGE
        self._page = task.page
        self._buffer = buffer
        self._part = max(1, _PIECE // task.step) * task.step if self.large else task.size
        self._end = task.size // self._part * self._part if self.large else task.size
        self.work = self._part if self.large else task.work
        # A kernel only stops at a whole number of its steps, and another one's parts may be of another size.
        self.place = place // self._part * self._part % self._end if self.large else 0

    def cpu_ns(self, iterations: int) -> int:
        """CPU time of so many iterations in ns, by the thread that runs them."""
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
    """How many iterations take `seconds`; runs a few, which also warms caches and clock."""
    iterations = 1
    while True:
        elapsed = walk.cpu_ns(iterations)
        if elapsed >= _CALIBRATION_NS or iterations >= _MOST_ITERATIONS:
            return max(1, round(iterations * seconds * 1e9 / max(1, elapsed)))
        iterations *= 4


def _combine(timings: Sequence[_Timing], shared: bool) -> Round:
    if shared:
        first, last = min(one.start for one in timings), max(one.start + one.ns for one in timings)
        rate = sum(one.work for one in timings) * 1e9 / (last - first)
    else:
        rate = sum(one.work * 1e9 / max(1, one.cpu_ns) for one in timings)
    return Round(
        rate=rate,
        hertz=statistics.fmean(one.hertz for one in timings),
        share=min(one.share for one in timings),
        together=shared,
    )
