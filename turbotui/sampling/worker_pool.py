"""The pool of a machine's workers: asks them to read and waits for their answers until a deadline."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from turbotui.errors import InternalError
from turbotui.machine.machine import Machine
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.signals import Signal, SignalId
from turbotui.sampling.answers import SHARED, Answer, AnsweringWorker, ReadRequest, RowRequest
from turbotui.sampling.collector import CLOCK, Clock, Collector, WakeUp
from turbotui.sampling.plan import Plan, Task
from turbotui.sampling.row_workers import RowSource, RowWorker
from turbotui.sampling.semaphore import STUCK_SECONDS, WorkerSemaphore, together
from turbotui.sampling.workers import Worker


class LateAnswers:
    """The newest late answer of each worker, kept until the worker answers again.

    On a machine where every answer takes longer than a tick waits, late answers are all there are.
    """

    def __init__(self) -> None:
        self._answers: dict[AnsweringWorker, Answer] = {}
        self.outdated: set[AnsweringWorker] = set()

    def take(self, answer: Answer) -> None:
        """Keep an answer that came too late; runs on the worker's thread, and the worker is not asked meanwhile."""
        began = answer.began.union(*(tick.began for tick in answer.ticks.values()))
        if (before := self._answers.get(answer.worker)) is not None:
            began |= before.began
        kept = Answer(answer.worker) if answer.ticks else answer
        self._answers[answer.worker] = replace(kept, began=began, late=True)

    def forget_readings(self) -> None:
        """Drop the kept readings after a change of the plan or the CPUs, but keep which counters were opened."""
        for worker, answer in list(self._answers.items()):
            self._answers[worker] = Answer(worker, began=answer.began, late=True)

    def with_answers(self, answers: Sequence[Answer], *, ticks: bool) -> list[Answer]:
        """The answers that came in time, with unused late ones unless they belong to several `ticks`."""
        if not self._answers:
            return list(answers)
        with_late = []
        for worker in self.outdated & self._answers.keys():
            self._answers[worker] = Answer(worker, began=self._answers[worker].began, late=True)
            self.outdated.discard(worker)
        for answer in answers:
            missed = self._answers.pop(answer.worker, None)
            with_late.append(answer if missed is None else _began_too(answer, missed.began))
        for worker, answer in list(self._answers.items()):
            if not ticks and (answer.readings.cpus or answer.shared or answer.rows):
                with_late.append(self._answers.pop(worker))
        return with_late


def _began_too(answer: Answer, began: frozenset[tuple[str, int]]) -> Answer:
    """An answer whose differences must not span a counter that was opened in an unused late answer."""
    if not began:
        return answer
    if not answer.ticks:
        return replace(answer, began=answer.began | began)
    first = min(answer.ticks)
    return replace(answer, ticks={**answer.ticks, first: _began_too(answer.ticks[first], began)})


_CLOSE_SECONDS = 1.0  # seconds for the workers to close their files; one stuck in a read is left alone
_TOGETHER = 16  # workers that may read by their own clocks: more of them would wait for each other
_APART = 0.001  # seconds between their readings of one tick: simultaneous reads wait for the interpreter's lock
_REST = 2  # times the above before the shared files are read: the kernel counts runnable threads, these included
_APART_SHARE = 0.25  # share of the time between two ticks in which all have read


_BLOCK = 32  # CPUs that a moving worker has at least; waking it takes as long as reading one or two
_BLOCKS = 16  # moving workers at most


class WorkerPool:
    """One worker for each CPU and one for the shared files, each started at its first reading.

    Where workers move, one reads a block of CPUs, block after block, and if there is one block, the shared files as
    well: to wake a worker and hand it the interpreter's lock takes more than to read a CPU. Blocks whose CPUs are busy,
    so that each is waited for, are read four at a time. A CPU on which a worker is stuck gets a worker of its own. A
    simulated machine has no CPUs to pin threads to: one worker reads them all.

    Args:
        cut: whether pending ticks are to end now.
        grace: seconds that pending answers still have; infinite as long as nobody is in a hurry.
        clock: the time that workers go by.

    Attributes:
        wake_up: requested when all have answered, and when `cut` or `grace` may have changed.
        by_cpu: the workers by CPU, with SHARED for one of the shared files; those of blocks have numbers below it.
    """

    def __init__(self, cut: Callable[[], bool], grace: Callable[[], float], clock: Clock = CLOCK) -> None:
        self.wake_up = WakeUp(clock)
        self.by_cpu: dict[int, Worker] = {}
        self._moving = False
        self._stuck: dict[Worker, int] = {}  # workers of blocks that did not answer in time, with the CPU they are on
        self._alone: set[int] = set()  # CPUs with a worker of their own, although others move
        self._by_kind: dict[KindId, RowWorker] = {}
        self._cut = cut
        self._grace = grace
        self._clock = clock
        self._semaphore = WorkerSemaphore(clock=clock)
        self._holding: set[int] = set()
        self._late_answers = LateAnswers()
        self._in_vain: set[Worker] = set()

    def follow(self, machine: Machine, plan: Plan, signals: Mapping[SignalId, Signal]) -> None:
        """Use this plan from the next request on; workers of CPUs that are gone end."""
        self._machine = machine
        self._plan = plan
        self._late_answers.forget_readings()
        self._signals = signals
        self._divide()
        if machine.host.pins:
            for number in self.by_cpu.keys() - {SHARED, *self._tasks}:
                self.by_cpu.pop(number).end()
                self._holding.discard(number)

    def move(self) -> None:
        """Let workers move from CPU to CPU; call before the first request."""
        self._moving = True
        self._divide()

    def _divide(self) -> None:
        """Divide the tasks among the workers of CPUs and blocks."""
        tasks, pins = self._plan.tasks, self._machine.host.pins
        self._shared_by = SHARED
        if not pins:
            self._tasks: Mapping[int, tuple[Task, ...]] = {0: tuple(itertools.chain.from_iterable(tasks.values()))}
        elif self._moving:
            # by numbers, not by places, so that CPUs that come and go change no other block
            size = max(_BLOCK, 1 << (max(tasks, default=0) // _BLOCKS).bit_length())
            blocks: dict[int, list[Task]] = {}
            for cpu, items in tasks.items():
                blocks.setdefault(cpu if cpu in self._alone else SHARED - 1 - cpu // size, []).extend(items)
            self._tasks = {number: tuple(items) for number, items in blocks.items()}
            first, *others = [number for number, items in blocks.items() if items and number < SHARED] or [SHARED]
            self._shared_by = SHARED if others else first
        else:
            self._tasks = tasks
        self._semaphore.together = together(len(tasks) if pins and not self._moving else 0)

    def follow_rows(self, sources: Mapping[KindId, RowSource]) -> None:
        """Read the rows of exactly these kinds from the next request on."""
        for kind, worker in list(self._by_kind.items()):
            if kind not in sources or not worker.follow(sources[kind]):
                self._by_kind.pop(kind).end()
        for kind in sources.keys() - self._by_kind.keys():
            self._by_kind[kind] = worker = RowWorker(sources[kind], self._clock)
            worker.start()

    @property
    def keeps_time(self) -> bool:
        """Whether workers can read several ticks by their own clocks."""
        return (self._machine.host.pins and not self._moving and not self._by_kind
                and len(self._plan.tasks) + bool(self._plan.shared) <= _TOGETHER)

    async def ask(self, now: Callable[[], float], seconds: float, *, wrap_check: bool = False,
                  ticks: tuple[float, ...] = (), waits: bool = False,
                  rows: RowRequest | None = None) -> tuple[list[Answer], frozenset[int]]:
        """Ask every free worker and wait for the answers.

        Args:
            wrap_check: read only counters that wrap.
            ticks: times at which to read; empty: once, immediately.
            waits: whether to ask a worker that is still reading when it is free, unless it was waited for in vain
                before.
            rows: the tick for which rows are read; None to read none.

        Returns:
            The answers, and the CPUs whose workers did not answer in time (SHARED for the shared files).

        Raises:
            InternalError: a source broke its contract.
        """
        collector = Collector(self.wake_up, None if wrap_check else self._late_answers.take)
        asked: dict[Worker, tuple[int, ReadRequest]] = {}
        late: set[int] = set()
        reading: list[tuple[int, Worker, ReadRequest]] = []
        for cpu, worker, work in (self._wrap_checks(collector.receive) if wrap_check
                                  else self._requests(collector.receive, ticks)):
            if not worker.busy:
                asked[worker] = (cpu, work)
                self._ask(collector, cpu, worker, work)
            elif waits and worker not in self._in_vain:
                reading.append((cpu, worker, work))
            else:
                late |= work.cpus or {cpu}
        if rows is not None:
            self._ask_for_rows(collector, rows)
        self._semaphore.admit()  # not earlier: the first would compete for the interpreter's lock
        until, whole = now() + seconds, bool(ticks)
        while not (collector.complete() and not reading) and now() < until:
            for cpu, worker, work in [asked for asked in reading if not asked[1].busy]:
                reading.remove((cpu, worker, work))
                asked[worker] = (cpu, work)
                self._ask(collector, cpu, worker, work)
                self._semaphore.admit()
            if whole and self._cut():
                whole = False
                for worker in asked:
                    worker.cut()
            until = min(until, now() + self._grace())
            if not await self.wake_up.sleep_until(until if ticks else min(until, now() + STUCK_SECONDS)):
                self._semaphore.admit()
        answers = collector.close()
        self._raise_crashes()
        answered = {answer.worker for answer in answers}
        missed = [*reading, *((cpu, worker, work) for worker, (cpu, work) in asked.items() if worker not in answered)]
        late.update(*(work.cpus or {cpu} for cpu, _worker, work in missed))
        if waits:
            self._in_vain = {worker for worker in self._in_vain if worker.busy}.union(asked[1] for asked in missed)
        if not wrap_check:
            self._separate()
        return answers if wrap_check else self._late_answers.with_answers(answers, ticks=bool(ticks)), frozenset(late)

    def _separate(self) -> None:
        """Leave a worker that is late twice on the same CPU to that CPU, so that the others of its block are read."""
        stuck = self._stuck
        self._stuck = {worker: worker.cpu for number, worker in self.by_cpu.items() if number < SHARED and worker.busy}
        for number, worker in list(self.by_cpu.items()):
            if (cpu := self._stuck.get(worker, SHARED)) > SHARED and stuck.get(worker) == cpu:
                self.by_cpu[cpu] = self.by_cpu.pop(number)
                self._alone.add(cpu)
                self._late_answers.outdated.add(worker)
                self._divide()

    def _ask(self, collector: Collector, cpu: int, worker: Worker, work: ReadRequest) -> None:
        collector.expect(worker)
        # workers with their own clocks get their requests at once; a slow shared file delays no CPU
        at_once = bool(work.ticks) or (cpu == SHARED and self._semaphore.together > 1)
        worker.ask(work, None if at_once else self._semaphore)
        if work.tasks:
            self._holding.add(cpu)
        else:
            self._holding.discard(cpu)

    def _ask_for_rows(self, collector: Collector, rows: RowRequest) -> None:
        """Ask the readers of rows after those of the CPUs, whose counters they would delay."""
        for worker in self._by_kind.values():
            if not worker.busy:
                collector.expect(worker)
                worker.ask(ReadRequest((), (), self._machine, collector.receive, rows=rows),
                           None if self._semaphore.together > 1 else self._semaphore)

    def end(self) -> None:
        """End all workers: have each close its files, and wait for those that can be waited for."""
        for worker in self._workers:
            worker.end()
        until = time.monotonic() + _CLOSE_SECONDS
        for worker in self._workers:
            if not worker.busy:
                worker.join(max(0.0, until - time.monotonic()))

    @property
    def _workers(self) -> Sequence[Worker]:
        return [*self.by_cpu.values(), *self._by_kind.values()]

    def _raise_crashes(self) -> None:
        for worker in self._workers:
            if worker.crash is not None:
                raise InternalError(
                    f"reading on {worker.name} failed unexpectedly: {type(worker.crash).__name__}: {worker.crash}"
                ) from worker.crash

    def _requests(self, reply: Callable[[Answer], None],
                  ticks: tuple[float, ...] = ()) -> Sequence[tuple[int, Worker, ReadRequest]]:
        machine = self._machine
        requests: list[tuple[int, Worker, ReadRequest]] = []
        for number, tasks in self._tasks.items():
            if tasks or number in self._holding:  # a worker without tasks is asked once more, to close its files
                shared = self._plan.shared if number == self._shared_by else ()
                requests.append((number, self._worker(number), ReadRequest(tasks, shared, machine, reply, ticks=ticks)))
        if (self._plan.shared and self._shared_by == SHARED) or SHARED in self.by_cpu:
            shared = self._plan.shared if self._shared_by == SHARED else ()
            work = ReadRequest((), shared, machine, reply, ticks=ticks)
            requests.append((SHARED, self._worker(SHARED), work))
        if not ticks or not requests:  # a worker that counts nothing any more need not be asked
            return requests
        places = len(requests) + _REST
        apart = min(_APART, _APART_SHARE * (ticks[1] - ticks[0]) / places) if len(ticks) > 1 else _APART
        return [(cpu, worker, replace(work, after=apart * (number + (_REST if cpu == SHARED else 0))))
                for number, (cpu, worker, work) in enumerate(requests)]

    def _wrap_checks(self, reply: Callable[[Answer], None]) -> Sequence[tuple[int, Worker, ReadRequest]]:
        """Requests to read only open counters that wrap."""
        checks: list[tuple[int, Worker, ReadRequest]] = []
        for cpu, worker, work in self._requests(reply):
            tasks = tuple(task for task in work.tasks if any(self._signals[name].wrap_seconds for name in task.wanted))
            if tasks:
                checks.append((cpu, worker, replace(work, tasks=tasks, shared=(), wrap_check=True)))
        return checks

    def _worker(self, number: int) -> Worker:
        worker = self.by_cpu.get(number)
        if worker is None:
            name = f"cpu{number}" if number > SHARED else "shared"
            if number < SHARED:
                name = f"cpus {self._tasks[number][0].cpu}-{self._tasks[number][-1].cpu}"
            worker = self.by_cpu[number] = Worker(name, pins=self._machine.host.pins and number != SHARED,
                                                  clock=self._clock)
            worker.start()
        return worker


NO_HURRY = math.inf
"""The grace of answers while nobody is in a hurry."""
