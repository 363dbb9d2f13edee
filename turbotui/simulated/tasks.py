"""Tasks of a simulated machine: a process for each kind of work, a thread on every CPU, and exact counts.

A CPU's integrals are kept by kind of work; a thread's counts are the parts of the CPU's counts that its kind causes.
So the threads of a CPU and its idle task, which has what no thread causes (polling and interrupts while idle) and the
rest of the time, add up to the CPU.
Threads swap CPUs as often as the model's CPUs count migrations, two threads of one kind at a time.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.machine.host import HostError, PerfAttr
from turbotui.machine.perf_records import GroupReading, Record, Sample, ThreadNamed
from turbotui.machine.tasks.draining import RingRecords
from turbotui.machine.tasks.sets import TaskSampling
from turbotui.machine.tasks.tracer import Closing
from turbotui.simulated.basis import CPU_BUSY, KINDS, Form
from turbotui.simulated.kernel_counts import SWITCHES
from turbotui.simulated.threads import Threads, of_kind, process_of
from turbotui.simulated.workloads import WORKLOADS

if TYPE_CHECKING:
    from turbotui.simulated.model import Model
    from turbotui.simulated.perf import PerfEvents

_NO_KIND: Final = -1  # of work: the idle task
_EVERY_NS: Final = 50_000_000  # of machine time between two samples of a thread
_PAUSE: Final = 0.2  # seconds between two polls; the model loses nothing in between
_RUN: Final[Form] = tuple((CPU_BUSY + kind, 1e9) for kind in range(KINDS))


@dataclass(slots=True)
class _Place:
    kind: int
    cpu: int
    forms: tuple[Form, ...]  # the forms of the counters, by the names of the set
    # base, before: their values when watching began, and at the last sample since then
    base: tuple[float, ...]
    before: tuple[int, ...]


class SimulatedTasks:
    """Samples of simulated threads, as `Mode.CPUS` gives them: counts of a CPU at the end of each time slice on it.

    A `SampleReader`. Between two polls every thread of a CPU has one time slice, one after the other.
    """

    def __init__(self, model: Model, events: PerfEvents, choice: TaskSampling, threads: Threads) -> None:
        self._model = model
        self._events = events
        self._places: list[_Place] = []
        self._idle: list[_Place] = []
        self._counted = 0.0  # seconds of counting before the last rest
        self._since: float | None = None  # when counting began again
        self._threads = threads
        self._news: list[Record] = []
        self._totals: dict[int, tuple[int, ...]] = {}
        self._last_ns = -_EVERY_NS
        self._stopped = False
        self._resting = False
        self._pending: list[RingRecords] = []
        self.choice = choice
        self.roots: Mapping[int, int] = {}
        self.followed: frozenset[int] = frozenset()
        self.damaged = self.merged = 0
        self.pause = _PAUSE

    def want_slices(self, wanted: bool) -> None:
        """Nothing is merged here."""

    def add_process(self, pid: int, *, on_exec: bool = False) -> int:
        """Add one of the processes. Raises MachineError if the model has no such process."""
        del on_exec
        kind = next((kind for kind in range(KINDS) if process_of(kind) == pid), None)
        if kind is None:
            known = ", ".join(f"{process_of(kind)} ({WORKLOADS[kind].name})" for kind in range(KINDS))
            raise MachineError(f"the simulated machine has no process {pid}; it has {known}")
        return self._add((kind,))

    def add_cpus(self, cgroup: str | None = None) -> None:
        """Add every process. Raises MachineError if there are no control groups on a simulated machine."""
        if cgroup is not None:
            raise MachineError("a simulated machine has no control groups")
        self._add(range(KINDS))
        with self._model.lock:
            now = self._model.now()
            for place in self._model.layout.places:
                forms = tuple(self._forms(place.cpu))
                base = tuple(self._model.cpu[place.cpu].value(form, now) for form in forms)
                self._idle.append(_Place(_NO_KIND, place.cpu, forms, base, (0,) * len(forms)))
            self._since = None if self._resting else now

    def find_threads(self, pids: Iterable[int]) -> frozenset[int]:  # noqa: ARG002 - the protocol's
        """Return nothing, because no threads come or go."""
        return frozenset()

    def take(self) -> Iterator[list[RingRecords]]:
        """Return a sample of every thread that ran since the last one; at most every 50 ms of machine time."""
        model = self._model
        with model.lock:
            now = model.now()
            now_ns = round(now * 1e9)
            fresh = not self._resting and now_ns - self._last_ns >= _EVERY_NS
            if self._stopped or not (fresh or self._pending):
                return
            batches = self._sample(now, now_ns) if fresh else []
        news, self._news = self._news, []
        pending, self._pending = self._pending, []
        yield [RingRecords(-1, tuple(news)), *pending, *batches]

    def rest(self) -> None:
        """Count nothing until `take_over`; before anything was added."""
        self._resting = True

    def take_over(self, before: SimulatedTasks) -> None:
        """Count from the instant at which another reader rests, which keeps its samples until then for `take`.

        The clock runs on while samples are computed.
        """
        with self._model.lock:
            now = self._model.now()
            before._rest(now)
            self._since = now
            for place in (*self._places, *self._idle):
                basis = self._model.cpu[place.cpu]
                counted = zip(place.forms, place.before, strict=True)
                place.base = tuple(basis.value(form, now) - done for form, done in counted)
            self._last_ns = round(now * 1e9)
        self._resting = False

    def _rest(self, now: float) -> None:
        self._pending += self._sample(now, round(now * 1e9))
        if self._since is not None:
            self._counted, self._since = self._counted + now - self._since, None
        self._resting = True

    def stop(self) -> None:
        """Do nothing, because the model counts by itself, and `take` makes the last samples."""

    def final_readings(self) -> list[Closing]:
        """Return the counts at the last samples, which are also the counters' last readings."""
        self._stopped = True
        return [Closing(-1, cpu, self._reading(values)) for cpu, values in self._totals.items()]

    def close(self) -> None:
        """Do nothing: simulated tasks open no descriptors."""
        self._places.clear()

    def _add(self, kinds: Iterable[int]) -> int:
        model = self._model
        with model.lock:
            now = model.now()
            of_all_kinds = {place.cpu: tuple(self._forms(place.cpu)) for place in model.layout.places}
            for kind in kinds:
                self._threads.follow(kind, now)
                of_this_kind = {forms: tuple(of_kind(form, kind) for form in forms)
                                for forms in set(of_all_kinds.values())}  # mostly one for all CPUs
                for place in model.layout.places:
                    forms = of_this_kind[of_all_kinds[place.cpu]]
                    base = tuple(model.cpu[place.cpu].value(form, now) for form in forms)
                    held = _Place(kind, place.cpu, forms, base, (0,) * len(forms))
                    self._places.append(held)
                    self._news.append(ThreadNamed(process_of(kind), self._tid(held), WORKLOADS[kind].name, 0))
        self.followed = frozenset(map(self._tid, self._places))
        return len(self._places)

    def _forms(self, cpu: int) -> Sequence[Form]:
        forms: list[Form] = []
        counters = iter(self.choice.on_cpu(cpu))
        for name in self.choice.names:
            if name == "switches":
                forms.append(SWITCHES)
            elif name == "run":
                forms.append(_RUN)
            else:
                forms.append(self._form(next(counters).attr, cpu))
        return forms

    def _form(self, attr: PerfAttr, cpu: int) -> Form:
        try:
            return self._events.form(attr, cpu)
        except HostError as error:
            if error.errno == errno.ENOENT:
                return ()  # a CPU of another core type, which lacks the event
            raise

    def _sample(self, now: float, now_ns: int) -> list[RingRecords]:
        slices: dict[int, list[tuple[_Place, tuple[int, ...]]]] = {}
        run = self.choice.names.index("run")
        for place in self._places:
            basis = self._model.cpu[place.cpu]
            if int(basis.value(place.forms[run], now) - place.base[run]) <= place.before[run]:
                continue  # true of most threads, because every kind of work has a thread on every CPU
            values = tuple(int(basis.value(form, now) - base) for form,
                           base in zip(place.forms, place.base, strict=True))
            more = tuple(new - old for new, old in zip(values, place.before, strict=True))
            place.before = values
            slices.setdefault(place.cpu, []).append((place, more))
        self._last_ns = now_ns
        for place in self._idle:
            samples = slices.setdefault(place.cpu, [])
            samples.append((place, self._rest_of_cpu(place, samples, now)))
        batches = [RingRecords(cpu, tuple(self._samples(cpu, samples, now_ns))) for cpu, samples in slices.items()]
        self._threads.move(now)
        return batches

    def _rest_of_cpu(self, place: _Place, slices: Sequence[tuple[_Place, tuple[int, ...]]],
                     now: float) -> tuple[int, ...]:
        """Counts of a CPU since the last sample that belong to none of its threads."""
        basis, run = self._model.cpu[place.cpu], self.choice.names.index("run")
        values = [int(basis.value(form, now) - base) for form, base in zip(place.forms, place.base, strict=True)]
        values[run] = self._counted_until(now)
        booked = self._totals.get(place.cpu, place.before)
        place.before = tuple(values)
        threads = zip(*(more for _, more in slices), strict=True) if slices else ((),) * len(values)
        return tuple(max(0, new - old - sum(more)) for new, old, more in zip(values, booked, threads, strict=True))

    def _counted_until(self, now: float) -> int:
        return round(1e9 * (self._counted + (0.0 if self._since is None else now - self._since)))

    @property
    def counted_ns(self) -> int:
        """For how long the CPUs have been counted."""
        with self._model.lock:
            return self._counted_until(self._model.now())

    def _tid(self, place: _Place) -> int:
        if place.kind == _NO_KIND:
            return 0
        return process_of(place.kind) + self._threads.owner(place.kind, place.cpu)

    def _samples(self, cpu: int, slices: Sequence[tuple[_Place, tuple[int, ...]]], now_ns: int) -> Iterator[Record]:
        """One sample at the end of each time slice, the last one now."""
        run = self.choice.names.index("run")
        left = sum(more[run] for _, more in slices)
        total = self._totals.get(cpu, (0,) * len(self.choice.names))
        for place, more in slices:
            total = tuple(old + new for old, new in zip(total, more, strict=True))
            left -= more[run]
            pid = 0 if place.kind == _NO_KIND else process_of(place.kind)
            yield Sample(0, pid, self._tid(place), now_ns - left, cpu, self._reading(total))
        self._totals[cpu] = total

    def _reading(self, values: tuple[int, ...]) -> GroupReading:
        run = values[self.choice.names.index("run")]
        return GroupReading(run, run, values)
