"""The constants of one machine that metric expressions ask for, each read when it is first asked for.

Their meaning: kernel tools/perf/util/tool_pmu.c, smt.c, cputopo.c; arch/x86/util/tsc.c; arch/powerpc/util/header.c.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Final

from turbotui.errors import UsageError
from turbotui.events.encoded import EncodedEvent
from turbotui.events.engines import Engine
from turbotui.events.event_tables.cpuid import cpuid_of, cpuids_of_cores, matches
from turbotui.events.event_tables.model import VendorMetric
from turbotui.events.kinds_of_core import is_kind
from turbotui.events.metrics.errors import MetricError
from turbotui.events.metrics.expansion import core_of
from turbotui.events.metrics.folding import MetricConstants
from turbotui.events.metrics.names import event_text, name_on
from turbotui.machine.calibration import tsc_hz
from turbotui.machine.machine import Machine
from turbotui.machine.memory import memory_tiers
from turbotui.machine.perf_errors import circumstances
from turbotui.machine.pmus import DEVICES, list_pmus
from turbotui.machine.small_files import cpus_in, line_of
from turbotui.machine.topology import Topology, read_topology
from turbotui.quantities.plain_numbers import integer_of_c, whole_number
from turbotui.quantities.scope import Scope
from turbotui.quantities.unavailable import Unavailable

_CPUS: Final = "/sys/devices/system/cpu"
_WATCHDOG: Final = "/proc/sys/kernel/nmi_watchdog"
_CHIPS: Final = "/sys/devices/hv_24x7/interface/"
_CLOCK: Final = re.compile(r" @ (\d+(?:\.\d+)?)GHz")
COUNTED_PARTS: Final = frozenset({"#num_packages", "#num_dies", "#num_cores", "#num_cpus", "#num_cpus_online"})
"""Literals that divide a sum over the whole machine: a metric with one of them has no value for a part of it."""


class MachineConstants:
    """Constants and literals of metrics on the watched machine.

    `whole` says that CPUs are counted, and not single tasks (perf stat -a).
    """

    def __init__(self, machine: Machine, engine: Engine, *, whole: bool = True) -> None:
        self._machine = machine
        self._engine = engine
        self._whole = whole
        self._known: dict[str, float] = {}
        self._encoded: dict[str, tuple[EncodedEvent, ...] | UsageError] = {}

    def literal(self, name: str) -> float:
        """Return the value of a literal, whose capitals do not matter."""
        key = name.lower()
        if key not in self._known:
            if (read := _LITERALS.get(key)) is None:
                raise MetricError(f"it asks for {name}, and that is nothing known")
            self._known[key] = read(self)
        return self._known[key]

    def has_event(self, event: str) -> bool:
        return not isinstance(self.encoded(event_text(event)), UsageError)

    def is_cpu(self, pattern: str) -> bool:
        return _is_cpu(pattern, cpuid_of(self._machine.host))

    def named(self, name: str) -> str:
        return name

    def of_kind(self, pmu: str) -> MetricConstants:
        return KindConstants(self, pmu) if pmu in self.kinds else self

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The PMUs of the machine's kinds of core; () where it has one kind."""
        kinds = tuple(name for name in self.pmus if self._machine.host.exists(f"{DEVICES}/{name}/cpus"))
        return kinds if len(kinds) > 1 else ()

    @cached_property
    def cpuids(self) -> Mapping[str, str]:
        """The identifier of the cores of each PMU, on machines with several core types."""
        return cpuids_of_cores(self._machine.host)

    def is_of_cores(self, event: str) -> bool:
        """Tell whether an event is counted by a core PMU of any core type."""
        events = self.encoded(event_text(event))
        return not isinstance(events, UsageError) and any(event.pmu in self.kinds for event in events)

    def encoded(self, event: str) -> tuple[EncodedEvent, ...] | UsageError:
        """Return the counters of an event, or the error that says why there are none."""
        if event not in self._encoded:
            try:
                self._encoded[event] = self._engine.encode(event)
            except UsageError as error:
                self._encoded[event] = error
        return self._encoded[event]

    def sources(self, event: str) -> int:
        """Return how many PMUs count an event: source_count() in perf's expressions."""
        events = self.encoded(event)
        return 1 if isinstance(events, UsageError) else len({event.pmu for event in events})

    def counters(self, event: str) -> int:
        """Return how many counters an event has on the whole machine: aggr_nr() in perf's expressions."""
        events = self.encoded(event)
        if isinstance(events, UsageError):
            return 1
        return sum(len(event.cpus) or int(self._online()) for event in events)

    @property
    def watchdog(self) -> bool:
        """Tell whether the NMI watchdog occupies one of each core's counters."""
        return line_of(self._machine.host, _WATCHDOG) == "1"

    @property
    def smt(self) -> bool:
        """Tell whether a core runs several threads at a time."""
        return self.literal("#smt_on") != 0.0

    def parameters(self, *, per_chip: bool) -> int:
        """Return how many values `?` in an event takes: the number of sockets, or of cores of a socket."""
        count = whole_number(line_of(self._machine.host, _CHIPS + ("sockets" if per_chip else "coresperchip")))
        return 1 if count is None else count

    @cached_property
    def pmus(self) -> tuple[str, ...]:
        """Names of the PMUs in sysfs."""
        return list_pmus(self._machine.host)

    def is_here(self, metric: VendorMetric) -> bool:
        """Tell whether a metric is for one of this machine's core types, and for a system that a PMU identifies."""
        core = core_of(metric)
        if is_kind(core) and core not in self.pmus:
            return False
        try:
            return not metric.compat or any(re.fullmatch(metric.compat, identifier) for identifier in self._identifiers)
        except re.error:
            return False

    @cached_property
    def _identifiers(self) -> tuple[str, ...]:
        texts = (line_of(self._machine.host, f"{DEVICES}/{name}/identifier") for name in self.pmus)
        return tuple(filter(None, texts))

    @cached_property
    def _all(self) -> Topology:
        """Return the topology of all online CPUs, whichever of them are watched."""
        return read_topology(self._machine.host, None, self._machine.model)

    def _instances(self, scope: Scope) -> float:
        return float(len(self._all.instances(scope)))

    def _online(self) -> float:
        return float(len(cpus_in(self._machine.host, f"{_CPUS}/online")) or len(self._all.cpus))

    def _cpus(self) -> float:
        return float(max(cpus_in(self._machine.host, f"{_CPUS}/present"), default=max(self._all.cpus)) + 1)

    def _smt_on(self) -> float:
        if (active := line_of(self._machine.host, f"{_CPUS}/smt/active")) in {"0", "1"}:
            return float(active)
        return float(any(len(core.cpus) > 1 for core in self._all.instances(Scope.CORE)))

    def _core_wide(self) -> float:
        """Tell whether all SMT threads of every counted core are counted."""
        if not self._whole or not self.smt:
            return float(self._whole)
        watched = self._machine.topology.places.keys()
        cores = (frozenset(core.cpus) for core in self._all.instances(Scope.CORE))
        return float(all(core <= watched or core.isdisjoint(watched) for core in cores))

    def _tsc(self) -> float:
        machine = self._machine
        if machine.model.vendor != "GenuineIntel":
            raise MetricError("it asks for #SYSTEM_TSC_FREQ, which only Intel's CPUs tell")
        clock = tsc_hz(machine, circumstances(machine))
        if not isinstance(clock, Unavailable):
            return clock.value
        if (named := _CLOCK.search(machine.model.name)) is None:
            raise MetricError(f"it asks for #SYSTEM_TSC_FREQ, and neither CPUID nor the CPU's name tells it "
                              f"({clock.sentence().rstrip('.')})")
        return float(named[1]) * 1e9

    def _slots(self) -> float:
        """Return the slots per cycle of an Arm processor's core PMU (caps/slots: PMMIR_EL1.SLOTS)."""
        slots = next((value for name in self.pmus if (value := self.slots_of(name))), 0.0)
        if not slots:
            raise MetricError("it asks for #slots, and no core PMU has caps/slots (Arm from v8.4 on, Linux 5.12)")
        return slots

    def slots_of(self, pmu: str) -> float:
        """Return the slots per cycle of one PMU; 0 if the PMU does not tell."""
        text = line_of(self._machine.host, f"{DEVICES}/{pmu}/caps/slots")
        try:
            return float(integer_of_c(text))
        except ValueError:
            return 0.0


class KindConstants:
    """The constants of one kind of core, whose metrics are of its own events alone (perf: setup_metric_events)."""

    def __init__(self, machine: MachineConstants, pmu: str) -> None:
        self._machine = machine
        self._pmu = pmu

    def literal(self, name: str) -> float:
        """Return the value of a literal; slots of a cycle differ by the kind of core."""
        if name.lower() != "#slots":
            return self._machine.literal(name)
        if not (value := self._machine.slots_of(self._pmu)):
            raise MetricError(f"it asks for #slots, and {self._pmu} has no caps/slots (Arm from v8.4 on, Linux 5.12)")
        return value

    def has_event(self, event: str) -> bool:
        return self._machine.has_event(self.named(event))

    def is_cpu(self, pattern: str) -> bool:
        known = self._machine.cpuids.get(self._pmu)
        return self._machine.is_cpu(pattern) if known is None else _is_cpu(pattern, known)

    def named(self, name: str) -> str:
        """Return a name as it is counted: what cores count, on the cores of this kind."""
        return name_on(self._pmu, name) if "@" not in name and self._machine.is_of_cores(name) else name

    def of_kind(self, pmu: str) -> MetricConstants:
        return self._machine.of_kind(pmu)


def _is_cpu(pattern: str, cpuid: str) -> bool:
    if not cpuid:
        raise MetricError("it asks which CPU this is, and the CPU does not say")
    return matches(pattern, cpuid)


_LITERALS: Mapping[str, Callable[[MachineConstants], float]] = MappingProxyType({
    "#num_packages": lambda of: of._instances(Scope.PACKAGE),  # noqa: SLF001 - the table of this class
    "#num_dies": lambda of: of._instances(Scope.DIE),  # noqa: SLF001
    "#num_cores": lambda of: of._instances(Scope.CORE),  # noqa: SLF001
    "#num_cpus": MachineConstants._cpus,  # noqa: SLF001
    "#num_cpus_online": MachineConstants._online,  # noqa: SLF001
    "#smt_on": MachineConstants._smt_on,  # noqa: SLF001
    "#core_wide": MachineConstants._core_wide,  # noqa: SLF001
    "#target_cpu": lambda of: float(of._whole),  # noqa: SLF001
    "#system_tsc_freq": MachineConstants._tsc,  # noqa: SLF001
    "#slots": MachineConstants._slots,  # noqa: SLF001
    "#has_pmem": lambda of: float("pmem" in memory_tiers(of._machine.host)),  # noqa: SLF001
})
