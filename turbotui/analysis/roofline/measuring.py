"""Measures the roofs of the machine this runs on, with machine code of its own."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from turbotui.analysis.roofline.roofs import UNDISTURBED, Bandwidth, Evidence, Origin, Peak, RoofSet
from turbotui.analysis.roofline.working_sets import WorkingSet, working_sets
from turbotui.errors import MachineError
from turbotui.machine.caches import read_caches
from turbotui.machine.code.constants import arithmetic_data
from turbotui.machine.code.crew import Crew, Rounds
from turbotui.machine.code.isas import Assembler, assembler_of, operations, runnable_isas
from turbotui.machine.code.shapes import Kernel, Mix, Operation, Precision, Shape, VectorIsa
from turbotui.machine.host import HostError, HostKind
from turbotui.machine.machine import Machine
from turbotui.quantities.scope import Scope

Progress = Callable[[int, int, str], None]
"""Called with steps done, steps in all, and what comes next."""

_CLOCK_UNROLL: Final = 64


@dataclass(frozen=True, slots=True)
class Effort:
    """How long a roof is looked for.

    Attributes:
        trial_rounds, trial_seconds: of each loop shape.
        rounds, seconds: of the fastest shape.
        retries: more runs of the fastest shape while other work disturbs it.
        budget: seconds for each roof and choice of CPUs on average, within which a disturbed roof is tried again.
    """

    trial_rounds: int
    trial_seconds: float
    rounds: int
    seconds: float
    retries: int
    budget: float


# 72 roofs, the default on a machine with AVX-512, must end within 60 s even where every one is disturbed.
THOROUGH: Final = Effort(2, 0.008, 9, 0.015, 12, 0.6)
QUICK: Final = Effort(2, 0.008, 7, 0.010, 3, 0.5)


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
    """The CPUs of "one", "all" (one for each core, since siblings share its units), or of a set."""
    if chosen is not None:
        return tuple(sorted(chosen))
    firsts = tuple(instance.cpus[0] for instance in machine.topology.instances(Scope.CORE))
    return firsts[:1] if word == "one" else firsts


class Measuring:
    """The measurement of one choice of CPUs: what is measured, and the run.

    Args:
        machine: the real one that this runs on.
        word: "one", "all" or the CPU set, for people.
        cpus: one thread on each.
        quick: only the widest arithmetic and loads, shorter.

    Raises:
        MachineError: not this machine, or no kernels for its architecture.
    """

    def __init__(self, machine: Machine, word: str, cpus: Sequence[int], *, quick: bool = False) -> None:
        if machine.host.kind is not HostKind.REAL:
            raise MachineError(f"roofs of a {machine.host.kind.value} machine cannot be measured; use --theory")
        self._machine = machine
        self._word = word
        self._cpus = tuple(cpus)
        self._effort = QUICK if quick else THOROUGH
        self._assembler: Assembler = assembler_of(machine.model)
        isas = runnable_isas(machine.model)
        if not isas:
            raise MachineError("the flags in /proc/cpuinfo name no floating-point instructions that kernels exist for")
        sets = working_sets(read_caches(machine.host, self._cpus[0]), self._cpus, _available(machine))
        self._notes = [one.note for one in sets if one.note]
        self._arithmetic = list(self._arithmetic_targets(isas[-1:] if quick else isas, quick=quick))
        mixes = (Mix.LOADS,) if quick else tuple(Mix)
        self._accesses = [_Access(isas[-1], one, mix) for one in sets for mix in mixes]

    def _arithmetic_targets(self, isas: Sequence[VectorIsa], *, quick: bool) -> Iterator[_Arithmetic]:
        for isa in isas:
            for precision in (Precision.DOUBLE,) if quick else (Precision.DOUBLE, Precision.SINGLE):
                for operation in operations(isa, self._machine.model.flags)[: 1 if quick else None]:
                    yield _Arithmetic(isa, precision, operation)

    @property
    def steps(self) -> int:
        """How many roofs are measured."""
        return len(self._arithmetic) + len(self._accesses)

    def run(self, progress: Progress, done: int = 0, total: int | None = None) -> RoofSet:
        """Measure everything.

        Args:
            progress: told before each step.
            done: steps before this run.
            total: steps of all runs; None: of this one.

        Raises:
            MachineError: executable memory, memory or a CPU is refused.
        """
        whole = self.steps if total is None else total
        load = _load(self._machine)
        host = self._machine.host
        when = datetime.fromtimestamp(host.wall_ns() / 1e9, tz=UTC).isoformat(timespec="seconds")
        give_up = time.monotonic()
        peaks, bandwidths = [], []
        clock = self._assembler.write_clock(Shape(0, _CLOCK_UNROLL))
        with Crew(host, self._cpus, clock) as crew:
            for target in self._arithmetic:
                progress(done, whole, f"{target.isa.name} {target.operation.value} {target.precision.word}")
                give_up += self._effort.budget
                peaks.append(self._peak(crew, target, give_up))
                done += 1
            for access in self._accesses:
                progress(done, whole, f"{access.working_set.level} {access.mix.word}")
                give_up += self._effort.budget
                bandwidths.append(self._bandwidth(crew, access, give_up))
                done += 1
        roofs: list[Peak | Bandwidth] = [*peaks, *bandwidths]
        evidence = [one.evidence for one in roofs if one.evidence is not None]
        return RoofSet(
            machine=machine_title(self._machine),
            origin=Origin.MEASURED,
            threads=self._word,
            cpus=self._cpus,
            hertz=statistics.median(one.hertz for one in evidence),
            peaks=tuple(peaks),
            bandwidths=tuple(bandwidths),
            notes=(*self._notes, *load, *self._disturbances(evidence)),
            when=when,
        )

    def _disturbances(self, evidence: Sequence[Evidence]) -> list[str]:
        count = sum(one.disturbed for one in evidence)
        if not count:
            return []
        return [(
            f"other work shared the CPUs during {count} of {len(evidence)} roofs, marked ~: they are too low; measure "
            "again with --fresh when the machine is idle"
        )]

    def _peak(self, crew: Crew, target: _Arithmetic, give_up: float) -> Peak:
        isa, precision, operation = target.isa, target.precision, target.operation
        flags = self._machine.model.flags
        kernels = [
            self._assembler.write_arithmetic(isa, precision, operation, shape, flags)
            for shape in self._assembler.arithmetic
        ]
        rounds = self._fastest(crew, kernels, 0, arithmetic_data(operation, precision, isa.bytes(precision)), give_up)
        bits = isa.bits or 8 * precision.value
        return Peak(isa.name, bits, precision, operation, rounds.best.rate, _evidence(rounds, 0))

    def _bandwidth(self, crew: Crew, access: _Access, give_up: float) -> Bandwidth:
        flags = self._machine.model.flags
        kernels = [
            self._assembler.write_memory(access.isa, Precision.DOUBLE, access.mix, shape, flags)
            for shape in self._assembler.memory[access.mix]
        ]
        size = access.working_set.bytes
        rounds = self._fastest(crew, kernels, size, b"", give_up)
        return Bandwidth(access.working_set.level, access.mix, access.isa.name, rounds.best.rate,
                         _evidence(rounds, size // rounds.kernel.work * rounds.kernel.work))

    def _fastest(self, crew: Crew, kernels: Sequence[Kernel], size: int, data: bytes, give_up: float) -> Rounds:
        effort = self._effort
        trials = [crew.measure(kernel, size, effort.trial_seconds, effort.trial_rounds, data) for kernel in kernels]
        best = max(trials, key=lambda one: one.best.rate)
        best = best.with_more(crew.measure(best.kernel, size, effort.seconds, effort.rounds, data))
        for _ in range(effort.retries):
            if best.best.share >= UNDISTURBED or time.monotonic() > give_up:
                break
            best = best.with_more(crew.measure(best.kernel, size, effort.trial_seconds, effort.rounds, data))
        return best


def _evidence(rounds: Rounds, size: int) -> Evidence:
    best = rounds.best
    return Evidence(rounds.median, rounds.spread, len(rounds.rounds), best.hertz, str(rounds.kernel.shape), best.share,
                    size)


def machine_title(machine: Machine) -> str:
    """The machine's name, with the words that its numbers must carry: what is simulated, and what is virtual."""
    words = [] if machine.host.kind is HostKind.REAL else [f"{machine.host.kind.value} {machine.host.name}"]
    if machine.model.hypervisor:
        words.append("virtual machine")
    return machine.model.title + (f" ({', '.join(words)})" if words else "")


def _load(machine: Machine) -> tuple[str, ...]:
    """The load average of the last minute, as a note (/proc/loadavg, proc(5))."""
    try:
        return (f"load average before measuring: {machine.host.read_text('/proc/loadavg').split()[0]}",)
    except (HostError, IndexError):
        return ()


def _available(machine: Machine) -> int | None:
    """MemAvailable of /proc/meminfo in bytes (kernel filesystems/proc.rst)."""
    try:
        text = machine.host.read_text("/proc/meminfo")
    except HostError:
        return None
    for line in text.splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None
