"""Causes of slowness that a simulated machine can have, alone or combined.

A machine with causes has no load of its own, which would be one more cause. A cause has the name of the diagnosis's
rule that has to find it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, fields, replace
from enum import Enum
from types import MappingProxyType
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.simulated.applications import APPLICATIONS
from turbotui.simulated.shapes import CoreType, IdleState, Isa, LoadPhase, LoadSchedule, MachineShape, Power, Role
from turbotui.simulated.strain import Strain
from turbotui.simulated.tables import within_memory
from turbotui.simulated.workloads import COMPUTE, INTEGER, LIGHT, MEMORY

_LONG: Final = 1e9  # seconds, longer than any session
_CALM: Final = Role(LIGHT, (0.08, 0.12), (0.5, 2.0), (0.06, 0.1), (0.5, 2.0), both=True, share=1.1)
_NOTHING: Final = Role(LIGHT, (0.004, 0.01), (0.5, 2.0), (0.002, 0.006), (0.5, 2.0), both=True, share=1.1)


class BusyCpus(Enum):
    """The CPUs that a cause keeps busy; the value is the description."""

    NONE = "none"
    ALL = "all CPUs are busy"
    SELDOM = "CPUs are idle most of the time"
    ONE = "one CPU is busy"
    PACKAGE = "one package is busy"
    SLOW = "the slow cores are busy"


@dataclass(frozen=True, slots=True)
class SimulatedCause:
    """A cause of slowness."""

    name: str  # the word after "+"
    summary: str  # one line for people
    busy: BusyCpus = BusyCpus.NONE  # which CPUs it keeps busy
    work: int | None = None  # the kind of work on these CPUs; None: any kind
    clock: bool = False  # whether the cause sets the cores' clock, which only one cause can
    change: Callable[[MachineShape], MachineShape] = lambda shape: shape  # further changes of the machine
    strain: Strain = field(default_factory=Strain)  # what tasks wait for
    where: Callable[[MachineShape], bool] = lambda _shape: True  # tells whether a machine can have the cause

    def at_odds(self, other: SimulatedCause) -> str:
        """Return why both causes cannot be combined; "" if they can."""
        if self.clock and other.clock:
            return "each decides on the clock"
        if self.work is not None and other.work is not None and self.work != other.work:
            return "each decides what the CPUs execute"
        kinds = {self.busy, other.busy} - {BusyCpus.NONE}
        if BusyCpus.SELDOM in kinds and BusyCpus.ALL not in kinds:
            return ""  # a cause with one busy CPU needs the others idle
        return " and ".join(kind.value for kind in BusyCpus if kind in kinds) if len(kinds) > 1 else ""


def _powered(change: Callable[[Power], Power]) -> Callable[[MachineShape], MachineShape]:
    return lambda shape: replace(shape, power=change(shape.power))


def _roomy(power: Power) -> Power:
    """Remove power limits, and keep the heat sink cold."""
    return replace(power, tdp=4 * power.tdp, pl2=4 * power.pl2, ohms=power.ohms / 6)


def _below_base(shape: MachineShape) -> MachineShape:
    """Hold all cores at 60 % of the slowest core type's base clock, without any file that says so."""
    return replace(shape, cap=0.6 * min(kind.base_mhz / kind.max_mhz for kind in shape.core_types))


def _wide(shape: MachineShape) -> MachineShape:
    """Hold cores 15 % below their all-core turbo clock, without any file or limit that says so."""
    reached = min(kind.bins[-1][1] / kind.max_mhz for kind in shape.core_types)
    return replace(shape, cap=0.85 * reached, power=_roomy(shape.power))


def _has_wide_vectors(shape: MachineShape) -> bool:
    """Tell whether cores have 512-bit vectors, and a register with the reasons of other limits."""
    return _says_limits(shape) and "avx512f" in shape.flags.split()


def _deepest(kind: CoreType) -> IdleState:
    return max(kind.idle, key=lambda state: state.latency_us)


def _sleeps_deeply(shape: MachineShape) -> bool:
    """Tell whether leaving the deepest idle state takes long."""
    return any(_deepest(kind).latency_us >= 100 for kind in shape.core_types)


def _wakeful(shape: MachineShape) -> MachineShape:
    """Let CPUs stay in their deepest idle state for at most twice the time that leaving it takes."""
    kinds = []
    for kind in shape.core_types:
        deepest = _deepest(kind)
        states = tuple(replace(state, mean_us=2.0 * state.latency_us) if state is deepest else state
                       for state in kind.idle)
        kinds.append(replace(kind, idle=states))
    return replace(shape, core_types=tuple(kinds))


def _says_limits(shape: MachineShape) -> bool:
    """Tell whether the processor counts or names what limits it."""
    return shape.isa is Isa.INTEL and not shape.hypervisor


def _names_limits(shape: MachineShape) -> bool:
    """Whether its processor has a bit for each limit of the cores."""
    return shape.client and not shape.hypervisor


def _limited(reason: str) -> Callable[[MachineShape], MachineShape]:
    return lambda shape: replace(shape, cap=0.7, cap_reason=reason)


def _fills_memory(shape: MachineShape) -> bool:
    """Tell whether all cores together can stream more than the memory's bandwidth."""
    return bool(shape.memory_channels) and shape.cpus >= 16 * shape.packages * shape.memory_channels


CAUSES: Final[Mapping[str, SimulatedCause]] = MappingProxyType({
    cause.name: cause for cause in (
        SimulatedCause("overload", "three tasks for each CPU", BusyCpus.ALL, strain=Strain(waiting=2.0)),
        SimulatedCause("quota", "a control group's CPU quota is used up in 60 % of its periods",
                       strain=Strain(quota=2.0, throttled=0.6)),
        SimulatedCause("memory", "tasks wait for memory 40 % of the time",
                       strain=Strain(memory_some=0.4, memory_full=0.2, available=0.02, direct_reclaims=900.0,
                                     major_faults=300.0)),
        SimulatedCause("swapping", "5,000 pages a second are read back from swap space",
                       strain=Strain(swapped_in=5000.0, swapped_out=4000.0, major_faults=5000.0, swap_free=0.1,
                                     available=0.04)),
        SimulatedCause("storage", "tasks wait for storage 60 % of the time",
                       strain=Strain(io_some=0.6, io_full=0.3, blocked=9)),
        # slower cores do not fill it
        SimulatedCause("bandwidth", "streaming code on all CPUs moves as much as memory can", BusyCpus.ALL, work=MEMORY,
                       clock=True, where=_fills_memory, change=within_memory),
        SimulatedCause("steal", "a hypervisor takes 30 % of the time that CPUs want",
                       change=lambda shape: replace(shape, steal=0.3)),
        SimulatedCause("host-clock", "the host lowers the clock by 15 %, for 20 of 24 seconds", BusyCpus.ALL,
                       clock=True, change=lambda shape: replace(shape, host_lowers=(24.0, 4.0, 0.85)),
                       where=lambda shape: shape.hypervisor),
        SimulatedCause("interrupts", "40,000 timer interrupts a second on every CPU",
                       change=lambda shape: replace(shape, timer_storm=40_000.0)),
        SimulatedCause("softirqs", "half of the busy time goes to soft interrupts, and CPUs are 20 % busy",
                       change=lambda shape: replace(shape, soft_storm=0.5)),
        SimulatedCause("one-cpu", "one CPU is saturated, the others do little", BusyCpus.ONE),
        SimulatedCause("one-group", "one package is saturated, the others do little", BusyCpus.PACKAGE,
                       where=lambda shape: shape.packages > 1),
        SimulatedCause("slow-cores", "efficiency cores work while performance cores do little", BusyCpus.SLOW,
                       where=lambda shape: shape.hybrid),
        SimulatedCause("idle-exits", "CPUs wake from their deepest idle state all the time", BusyCpus.SELDOM,
                       change=_wakeful, where=_sleeps_deeply),
        SimulatedCause("power-limit", "dense code on all CPUs and 70 % of the power", BusyCpus.ALL, work=COMPUTE,
                       clock=True, where=_says_limits,
                       change=_powered(lambda power: replace(power, tdp=0.7 * power.tdp, pl2=0.7 * power.pl2))),
        SimulatedCause("heat", "dense code on all CPUs and a heat sink full of dust", BusyCpus.ALL, work=COMPUTE,
                       clock=True, change=_powered(lambda power: replace(power, tdp=4 * power.tdp, pl2=4 * power.pl2,
                                                             ohms=1.6 * power.ohms, sink_tau=1.0)), where=_says_limits),
        SimulatedCause("current-limit", "all CPUs busy at 70 % of their clock, for want of current", BusyCpus.ALL,
                       clock=True, change=_limited("current"), where=_names_limits),
        SimulatedCause("firmware-limit", "all CPUs busy at 70 % of their clock by a limit without a name", BusyCpus.ALL,
                       clock=True, change=_limited("other"), where=_names_limits),
        SimulatedCause("governor", "all CPUs busy at the highest clock that cpufreq allows, 60 % of what there is",
                       BusyCpus.ALL, clock=True, change=lambda shape: replace(shape, cap=0.6, cap_told=True),
                       where=lambda shape: bool(shape.driver)),
        SimulatedCause("vectors", "dense AVX-512 code on all CPUs, for which turbo is 15 % lower", BusyCpus.ALL,
                       work=COMPUTE, clock=True, change=_wide, where=_has_wide_vectors),
        SimulatedCause("below-base", "all CPUs busy far below the base clock, and nothing says why", BusyCpus.ALL,
                       clock=True, change=_below_base,
                       where=lambda shape: bool(shape.driver) and shape.epp != "balance_power"),
        SimulatedCause("smi", "firmware interrupts every CPU 600 times a second",
                       change=lambda shape: replace(shape, smi_storm=600.0), where=_says_limits),
    )
})
"""Causes by name, which is also the name of the rule that finds the cause."""

CALM: Final[Mapping[str, Role]] = MappingProxyType({"idle": _NOTHING, "calm": _CALM})
"""Light loads without any cause of slowness, by the word after "+": a hundredth of the time, and a tenth."""


def with_causes(shape: MachineShape, names: Sequence[str]) -> tuple[MachineShape, Strain]:
    """Return a machine that has these causes and little other load.

    Raises:
        UsageError: there is no such cause, this machine cannot have it, or two are at odds.
    """
    if len(names) == 1 and names[0] in CALM:
        return _named(replace(shape, schedule=_schedule(BusyCpus.NONE, LIGHT, CALM[names[0]])), names), Strain()
    causes = [_cause(shape, name) for name in names]
    for at, simulated_cause in enumerate(causes):
        for other in causes[at + 1:]:
            if why := simulated_cause.at_odds(other):
                raise UsageError(f"{simulated_cause.name} and {other.name} cannot both be made: {why}")
    busy = next((cause.busy for cause in causes if cause.busy not in (BusyCpus.NONE, BusyCpus.SELDOM)), BusyCpus.NONE)
    work = next((cause.work for cause in causes if cause.work is not None), INTEGER)
    shape = replace(shape, power=shape.power if work == COMPUTE else _roomy(shape.power),
                    schedule=_schedule(busy, work, _role(causes)))
    strain = Strain()
    for simulated_cause in causes:
        shape, strain = simulated_cause.change(shape), _joined(strain, simulated_cause.strain)
    return _named(shape, names), strain


def _cause(shape: MachineShape, name: str) -> SimulatedCause:
    cause = CAUSES.get(name)
    if cause is None:
        alike = difflib.get_close_matches(name, (*APPLICATIONS, *CAUSES, *CALM), n=1)
        guess = f" (did you mean {alike[0]}?)" if alike else ""
        raise UsageError(f"simulated machines cannot run {name!r}{guess}; there are {', '.join(APPLICATIONS)}, and as "
                         f"causes of slowness, joined by +: {', '.join((*CAUSES, *CALM))}")
    if not cause.where(shape):
        raise UsageError(f"{shape.name} cannot be made to have {name}: {cause.summary}")
    return cause


def _role(causes: Sequence[SimulatedCause]) -> Role:
    if any(cause.name == "softirqs" for cause in causes):
        return replace(_CALM, level=(0.18, 0.22), rest_level=(0.18, 0.2))
    return _CALM


def _schedule(busy: BusyCpus, kind: int, role: Role) -> LoadSchedule:
    phases: tuple[LoadPhase, ...] = ()
    if busy in (BusyCpus.ALL, BusyCpus.PACKAGE, BusyCpus.SLOW):
        # longer than any session, so the other packages' phase never comes
        stagger = _LONG if busy is BusyCpus.PACKAGE else 0.0
        phases = (LoadPhase(kind, 1.0, 0.0, 9 * _LONG, 8 * _LONG, stagger, slow_only=busy is BusyCpus.SLOW),)
    stay = (_LONG, _LONG) if busy is BusyCpus.ONE else (0.0, 0.0)
    return LoadSchedule(roles=(role,), phases=phases, hot_kind=INTEGER, hot_stay=stay)


def _joined(strain: Strain, other: Strain) -> Strain:
    """Join two strains: of each number, the one that differs from a machine without strain."""
    bare = Strain()
    return replace(strain, **{part.name: getattr(other, part.name) for part in fields(Strain)
                              if getattr(other, part.name) != getattr(bare, part.name)})


def _named(shape: MachineShape, names: Sequence[str]) -> MachineShape:
    return replace(shape, name="+".join((shape.name, *names)), summary=f"{shape.summary}, with {', '.join(names)}")
