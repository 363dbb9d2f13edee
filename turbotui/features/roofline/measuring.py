"""Measures the roofs of this machine with generated machine code."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError, StoppedError
from turbotui.features.roofline.disturbance import ENOUGH, Disturbance
from turbotui.features.roofline.roofs import Bandwidth, Origin, Peak, RoofEvidence, RoofSet, alike_levels
from turbotui.features.roofline.sweep import find_third_level
from turbotui.features.roofline.working_sets import WorkingSet, working_sets
from turbotui.machine.caches import read_caches
from turbotui.machine.code.isas import (
    MATRIX_SHAPES,
    KernelAssembler,
    assembler_of,
    operations,
    product_isas,
    runnable_isas,
)
from turbotui.machine.code.kernel_threads import KernelThreads, Rounds
from turbotui.machine.code.shapes import (
    Encoding,
    Kernel,
    LoopShape,
    Mix,
    Operation,
    VectorIsa,
    arithmetic_data,
    product_data,
    tile_data,
)
from turbotui.machine.host import HostKind
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import memory_of, text_of
from turbotui.quantities.precision import Precision
from turbotui.quantities.scope import Scope

ShowProgress = Callable[[int, int, str], None]
"""A function called with steps done, all steps, and a description of the next one."""

_CLOCK_UNROLL: Final = 64
_SHORT: Final = 0.003  # seconds of a repeated round, short enough that the scheduler seldom interrupts it
_LONGEST: Final = 32.0  # seconds for all roofs that are measured together, however many core types there are


@dataclass(frozen=True, slots=True)
class Effort:
    """The time and repetitions spent on one roof."""

    # trial_rounds, trial_seconds: of each loop shape
    trial_rounds: int
    trial_seconds: float
    # rounds, seconds: of the fastest shape
    rounds: int
    seconds: float
    retries: int  # more runs of the fastest shape while other work disturbs it
    # average seconds for each roof, within which a disturbed roof is repeated; once exceeded, `hurried` applies instead
    budget: float
    hurried: tuple[int, int]  # (trial rounds, rounds) while behind time


# The 72 roofs of the default on a machine with AVX-512 take less than 60 s if nothing else runs.
THOROUGH: Final = Effort(3, 0.008, 12, 0.015, 12, 0.55, (2, 7))
QUICK: Final = Effort(2, 0.008, 7, 0.010, 3, 0.5, (2, 7))


@dataclass(frozen=True, slots=True)
class _Arithmetic:
    isa: VectorIsa
    precision: Precision
    operation: Operation


@dataclass(frozen=True, slots=True)
class _Access:
    isa: VectorIsa
    working_set: WorkingSet
    mix: Mix


def threads_of(machine: Machine, word: str, chosen: frozenset[int] | None) -> tuple[int, ...]:
    """Return the CPUs of "one", "all" (one for each core, whose units siblings share), or of a set."""
    if chosen is not None:
        return tuple(sorted(chosen))
    firsts = tuple(instance.cpus[0] for instance in machine.topology.instances(Scope.CORE))
    return firsts[:1] if word == "one" else firsts


class Measuring:
    """The measurement of one choice of CPUs.

    Args:
        word: "one", "all" or the CPU set, for people.
        quick: whether to measure only the widest arithmetic and loads, in less time.
        check: called before each run of a kernel, while no thread runs one; an exception ends the measurement.

    Raises:
        MachineError: not this machine, or no kernels for its architecture.
    """

    def __init__(self, machine: Machine, word: str, cpus: Sequence[int], *, quick: bool = False,
                 check: Callable[[], None] = lambda: None) -> None:
        if machine.host.kind is not HostKind.REAL:
            raise MachineError(f"roofs of a {machine.host.kind.value} machine cannot be measured; use --theory")
        self._machine = machine
        self._word = word
        self._cpus = tuple(cpus)
        self._check = check
        self._effort = QUICK if quick else THOROUGH
        self._assembler: KernelAssembler = assembler_of(machine.model)
        if not (isas := runnable_isas(machine.model)):
            raise MachineError("the flags in /proc/cpuinfo name no floating-point instructions that kernels exist for")
        self._caches = read_caches(machine.host, self._cpus[0])
        running = frozenset(self._cpus)
        cores = {machine.topology.row(Scope.CORE, cpu) for cpu in self._cpus}
        self._shared = {f"L{cache.level}" for cache in self._caches if len(cache.cpus & running) > 1}
        self._shared |= {"DRAM"} if len(running) > 1 else set()
        self._siblings = len(cores) < len(running)
        self.stopped = False
        self._notes: list[str] = []
        self._why_not: tuple[str, ...] = ()
        self._widest = isas[-1]
        self._arithmetic = list(self._arithmetic_targets(isas[-1:] if quick else isas, quick=quick))
        self._mixes = (Mix.LOADS,) if quick else tuple(Mix)

    def _arithmetic_targets(self, isas: Sequence[VectorIsa], *, quick: bool) -> Iterator[_Arithmetic]:
        for isa in isas:
            for precision in (Precision.DOUBLE,) if quick else self._precisions(isa):
                for operation in operations(isa, self._machine.model.flags)[: 1 if quick else None]:
                    yield _Arithmetic(isa, precision, operation)

        if not quick:
            products, why_not = product_isas(self._machine.model)
            self._why_not = (why_not,) if why_not else ()
            yield from (_Arithmetic(isa, isa.format, Operation.FMA) for isa in products)

    def _precisions(self, isa: VectorIsa) -> tuple[Precision, ...]:
        half = isa.half is not None and isa.half <= self._machine.model.flags
        return (Precision.DOUBLE, Precision.SINGLE, *((Precision.HALF,) if half else ()))

    @property
    def steps(self) -> int:
        """The number of roofs to measure."""
        return len(self._arithmetic) + sum(len(self._mixes_of(working_set.level))
                                           for working_set in working_sets(self._caches, self._cpus, None))

    def _mixes_of(self, level: str) -> tuple[Mix, ...]:
        """Return the mixes of a level; streaming stores bypass caches, and so belong to memory only."""
        return tuple(mix for mix in self._mixes if mix is not Mix.STREAMING or level == "DRAM")

    def run(self, progress: ShowProgress, done: int = 0, total: int | None = None) -> RoofSet:
        """Measure everything, or what can be measured until `check` raises StoppedError: then `stopped` is true.

        Args:
            done: steps before this run.
            total: steps of all runs; None for this run's.

        Raises:
            MachineError: executable memory, memory or a CPU is refused.
            StoppedError: by `check`, before any roof was measured.
        """
        whole = self.steps if total is None else total
        budget = min(self._effort.budget, _LONGEST / max(1, whole))
        load = _load(self._machine)
        host = self._machine.host
        when = datetime.fromtimestamp(host.wall_ns() / 1e9, tz=UTC).isoformat(timespec="seconds")
        give_up = time.monotonic()
        peaks: list[Peak] = []
        bandwidths: list[Bandwidth] = []
        clock = self._assembler.write_clock(LoopShape(0, _CLOCK_UNROLL))
        with KernelThreads(host, self._cpus, clock) as threads:
            try:
                for target in self._arithmetic:
                    progress(done, whole, f"{target.isa.name} {target.operation.value} {target.precision.word}")
                    give_up += budget
                    peaks.append(self._peak(threads, target, give_up))
                    done += 1
                progress(done, whole, "sizes of the caches")
                for access in self._accesses(clock):
                    progress(done, whole, f"{access.working_set.level} {access.mix.word}")
                    give_up += budget
                    bandwidths.append(self._bandwidth(threads, access, give_up))
                    done += 1
            except StoppedError:
                if not peaks:
                    raise
                self.stopped = True
                self._notes.append(f"STOPPED: {len(peaks) + len(bandwidths)} of {self.steps} roofs were measured, and "
                                   "this set is not stored; a peak or a level that is missing here may be higher")
        roofs: list[Peak | Bandwidth] = [*peaks, *bandwidths]
        evidence = [roof.evidence for roof in roofs if roof.evidence is not None]
        return RoofSet(
            machine=machine_title(self._machine),
            origin=Origin.MEASURED,
            threads=self._word,
            cpus=self._cpus,
            hertz=statistics.median(kernel.hertz for kernel in evidence),
            peaks=tuple(peak for peak in peaks if peak.precision is not Precision.INT8),
            integer_peaks=tuple(peak for peak in peaks if peak.precision is Precision.INT8),
            bandwidths=tuple(bandwidths),
            notes=(*self._notes, *self._why_not, *alike_levels(bandwidths), *load, *_disturbances(evidence)),
            when=when,
        )

    def _accesses(self, clock: Kernel) -> list[_Access]:
        """Return the memory accesses to measure for each level, after finding the last cache's size."""
        available = available_memory(self._machine)
        loads = self._assembler.memory[Mix.LOADS][0]
        kernel = self._assembler.write_memory(self._widest, Precision.DOUBLE, Mix.LOADS, loads,
                                              self._machine.model.flags)
        with KernelThreads(self._machine.host, self._cpus[:1], clock) as threads:
            third = find_third_level(self._caches, self._rates(threads, kernel), available,
                                     virtual=bool(self._machine.model.hypervisor))
        sets = working_sets(third.caches, self._cpus, available, memory=third.memory)
        self._notes = [note for note in (third.note, *(working_set.note for working_set in sets)) if note]
        return [_Access(self._widest, working_set, mix) for working_set in sets
                for mix in self._mixes_of(working_set.level)]

    def _rates(self, threads: KernelThreads, kernel: Kernel) -> Callable[[int], float]:
        effort = self._effort

        def rate(size: int) -> float:
            self._check()
            return threads.measure(kernel, size, effort.trial_seconds, effort.trial_rounds).best.rate

        return rate

    def _peak(self, threads: KernelThreads, target: _Arithmetic, give_up: float) -> Peak:
        isa, precision, operation = target.isa, target.precision, target.operation
        flags = self._machine.model.flags
        kernels = [self._assembler.write_arithmetic(isa, precision, operation, shape, flags)
                   for shape in (MATRIX_SHAPES if isa.encoding is Encoding.TILES else self._assembler.arithmetic)]
        data = (tile_data(isa) if isa.encoding is Encoding.TILES else product_data(isa) if isa.products else
                arithmetic_data(operation, precision, isa.bytes(precision)))

        def measure(kernel: Kernel, seconds: float, count: int) -> Rounds:
            self._check()
            return threads.measure(kernel, 0, seconds, count, data, shared=self._siblings)

        beside = Disturbance(self._machine, self._cpus, "")
        rounds = self._fastest(measure, kernels, give_up)
        return Peak(isa.name, isa.bits or 8 * precision.value, precision, operation, rounds.best.rate,
                    _evidence(rounds, 0, beside.clauses(rounds)))

    def _bandwidth(self, threads: KernelThreads, access: _Access, give_up: float) -> Bandwidth:
        flags = self._machine.model.flags
        kernels = [self._assembler.write_memory(access.isa, Precision.DOUBLE, access.mix, shape, flags)
                   for shape in self._assembler.memory[access.mix]]
        size = access.working_set.bytes
        shared = access.working_set.level in self._shared

        def measure(kernel: Kernel, seconds: float, count: int) -> Rounds:
            self._check()
            return threads.measure(kernel, size, seconds, count, shared=shared)

        beside = Disturbance(self._machine, self._cpus, access.working_set.level)
        rounds = self._fastest(measure, kernels, give_up)
        return Bandwidth(access.working_set.level, access.mix, access.isa.name, rounds.best.rate,
                         _evidence(rounds, size // rounds.kernel.work * rounds.kernel.work, beside.clauses(rounds)))

    def _fastest(self, measure: Callable[[Kernel, float, int], Rounds], kernels: Sequence[Kernel],
                 give_up: float) -> Rounds:
        effort = self._effort
        late = time.monotonic() > give_up
        trial_rounds, rounds = effort.hurried if late else (effort.trial_rounds, effort.rounds)
        trials = [measure(kernel, effort.trial_seconds, trial_rounds) for kernel in kernels]
        best = max(trials, key=lambda rounds: (not rounds.best.disturbed, rounds.best.rate))
        best = best.with_more(measure(best.kernel, effort.seconds, rounds))
        for _ in range(effort.retries):
            if best.agreeing >= ENOUGH or time.monotonic() > give_up:
                break
            best = best.with_more(measure(best.kernel, _SHORT, effort.rounds))
        return best


def _disturbances(evidence: Sequence[RoofEvidence]) -> list[str]:
    count = sum(kernel.disturbed for kernel in evidence)
    if not count:
        return []
    why = "; ".join(dict.fromkeys(word for kernel in evidence for word in kernel.disturbances))
    return [(
        f"{count} of {len(evidence)} roofs, marked ?, are not to be relied on, and this set is not stored: {why}; "
        "measure again when the machine is idle"
    )]


def _evidence(rounds: Rounds, size: int, disturbances: tuple[str, ...]) -> RoofEvidence:
    return RoofEvidence(median=rounds.median, spread=rounds.spread, rounds=len(rounds.rounds), hertz=rounds.hertz,
                        shape=str(rounds.kernel.shape), share=rounds.best.share, bytes=size, disturbances=disturbances)


def machine_title(machine: Machine) -> str:
    """Return the machine's name, with the words for simulated and virtual machines."""
    words = [] if machine.host.kind is HostKind.REAL else [f"{machine.host.kind.value} {machine.host.name}"]
    if machine.model.hypervisor:
        words.append("virtual machine")
    return machine.model.title + (f" ({', '.join(words)})" if words else "")


def _load(machine: Machine) -> tuple[str, ...]:
    """Return a note on the load average of the last minute (/proc/loadavg, proc(5))."""
    words = text_of(machine.host, "/proc/loadavg").split()
    return tuple(f"load average before measuring: {word}" for word in words[:1])


def available_memory(machine: Machine) -> int | None:
    """Return MemAvailable of /proc/meminfo in bytes (kernel filesystems/proc.rst)."""
    kibibytes = memory_of(machine.host).get("MemAvailable")
    return None if kibibytes is None else kibibytes * 1024
