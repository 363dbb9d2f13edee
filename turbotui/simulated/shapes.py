"""Shapes of simulated machines, as data. The machines are in `machines.toml`."""

from __future__ import annotations

from enum import Enum
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.simulated.workloads import WORKLOADS, Workload

CARD_SECONDS: Final = (25.0, 40.0)
"""Seconds for which a graphics card works, and the period; it sleeps for the rest of each period."""
SUPPLY_SHARE: Final = 0.94
"""The efficiency of power supplies."""
BATTERY_SHARE: Final = 0.97
"""The share of a battery's power that arrives at the platform."""
BATTERY_SECONDS: Final = 10.0
"""Seconds between the updates of a battery's firmware."""
BATTERY_WORN: Final = 0.91
"""The remaining share of a battery's original capacity."""
NPU_BUSY: Final = 0.35


@dataclass(frozen=True, slots=True)
class OtherDevices:
    """Devices beside the processors."""

    card_watts: float = 0.0  # of a graphics card while it works; 0: there is none
    npu: bool = False  # there is a neural processor, busy for `NPU_BUSY` of the time
    supplies: int = 0  # power supplies on PMBus, which share the load equally
    meter_ms: int = 0  # over which an ACPI meter of the whole machine averages; 0: there is none
    battery_joules: float = 0.0  # what the full battery holds; 0: there is none. It discharges.
    fans: int = 0  # how many
    # what RAPL's psys counts of the platform: less than 1 on a board that does not wire it to all
    psys_share: float = 1.0

    def card_works(self, now: float) -> bool:
        """Whether the graphics card is awake at a machine time in seconds."""
        return self.card_watts > 0 and now % CARD_SECONDS[1] < CARD_SECONDS[0]


_BARE = OtherDevices()


class Isa(Enum):
    """A machine's family of registers and events."""

    INTEL = "intel"
    AMD = "amd"
    ARM = "arm"


@dataclass(frozen=True, slots=True)
class IdleState:
    """One cpuidle state."""

    # name, description: as sysfs shows them
    name: str
    description: str
    # latency_us, residency_us: exit latency and target residency
    latency_us: int
    residency_us: int
    depth: int  # the hardware core state it asks for: 0 POLL, 1 C1, 3 C3, 6 C6, 7 C7
    mean_us: float  # the average stay, which makes the usage count out of the time
    # above, below: share of the entries that turned out too deep or too shallow
    above: float = 0.0
    below: float = 0.0


@dataclass(frozen=True, slots=True)
class CoreType:
    """A kind of core."""

    name: str  # "P", "E", "LP", or "" where there is one kind
    threads: int  # SMT siblings of one core
    # base_mhz, min_mhz, max_mhz: guaranteed, lowest and highest single-core frequency
    base_mhz: int
    min_mhz: int
    max_mhz: int
    bins: tuple[tuple[int, int], ...]  # (active cores in the package, highest MHz), ascending in cores
    capacitance: float  # dynamic watts per V^2*GHz running dense code
    # volts_min, volts_per_ghz: the voltage at min_mhz, and its slope
    volts_min: float
    volts_per_ghz: float
    leakage: float  # watts of a powered core that does nothing; a core in C6 keeps a twelfth
    ohms: float  # degrees of the core above the heat sink per watt
    ipc: float  # throughput relative to the reference core of `workloads`
    vector_bits: int  # width of `wide` floating-point instructions
    # l1d, l1i, l2: cache sizes in KiB
    l1d: int
    l1i: int
    l2: int
    events: str  # key of the core event table in `core_events.toml`
    pmu: str  # name of the core PMU
    counters: int  # general-purpose counters for each CPU
    idle: tuple[IdleState, ...]
    capacity: int = 1024  # scheduler capacity (cpu_capacity), 1024 for the fastest
    # what each kind of work does to counters. How time is booked, and the share of idle time booked as iowait, are
    # those of `WORKLOADS` whatever stands here.
    works: tuple[Workload, ...] = WORKLOADS


@dataclass(frozen=True, slots=True)
class Block:
    """A run of equal cores in every package."""

    cores: int  # how many in one package
    type: int  # index into `MachineShape.core_types`
    module: int  # cores that share an L2 (1: none do)
    l3: int  # cores that share an L3 slice, 0 for cores without one; equal to `cores` when the package has one L3
    # first_core_id, core_id_step: the core_id numbers sysfs gives
    first_core_id: int = 0
    core_id_step: int = 1


@dataclass(frozen=True, slots=True)
class Role:
    """The load of a CPU over time: runs at a level for a while, rests for a while, and again.

    Attributes:
        kind: index into the `works` of the core.
        level, rest_level: (lowest, highest) utilisation while on and while resting.
        on, rest: (shortest, longest) seconds.
        both: the SMT sibling does the same, else it idles along.
        share: of the cores, before rounding.
    """

    kind: int
    level: tuple[float, float]
    on: tuple[float, float]
    rest_level: tuple[float, float]
    rest: tuple[float, float]
    both: bool
    share: float


@dataclass(frozen=True, slots=True)
class LoadPhase:
    """A recurring phase in which all cores of a package work; packages follow each other `stagger` seconds apart.

    With `slow_only`, cores of the first type take no part.
    """

    kind: int
    level: float
    first: float
    every: float
    length: float
    stagger: float
    slow_only: bool = False


@dataclass(frozen=True, slots=True)
class LoadSchedule:
    """The load of a machine: roles dealt to cores, phases of whole packages, and one busy thread that wanders."""

    roles: tuple[Role, ...]
    phases: tuple[LoadPhase, ...]
    hot_kind: int
    hot_stay: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Power:
    """Power and heat of one package."""

    tdp: float  # watts; also the default long-term limit PL1
    pl2: float  # short-term limit in watts
    tau: float  # time constant of PL1 in seconds
    uncore: float  # watts of the rest of the package at rest
    uncore_per_gbs: float  # more watts for each GB/s of memory traffic
    ram: float  # watts of idle DRAM; `ram_per_gbs` more for traffic
    ram_per_gbs: float
    gpu: float  # watts of busy graphics, 0 without
    platform: float  # watts of the rest of the machine, for psys
    ambient: float  # °C of the air
    ohms: float  # degrees of the heat sink above the air per watt
    sink_tau: float  # seconds of the heat sink
    tj_max: int  # °C at which cores throttle


@dataclass(frozen=True, slots=True)
class MachineShape:
    """One machine, as data.

    Attributes:
        name: what --machine takes.
        summary: one line for people.
        isa: register and event family.
        vendor, family, model, stepping, model_name, microcode: as /proc/cpuinfo has them.
        packages: how many, with `blocks` of cores in each.
        nodes_per_package: NUMA nodes.
        siblings_last: Linux numbers all first threads before the second ones (servers), else siblings are adjacent.
        l3_kib: size of one L3 slice, 0 without.
        tsc_hz: rate of the TSC (Arm: of the generic timer).
        base_hz: rate of MPERF and of the residency counters where it is not the TSC's.
        crystal: CPUID leaf 15H (denominator, numerator, crystal Hz).
        package_states: (state number, share of the package's idle time) of package C-states.
        step: seconds between two decisions of the model.
        domains: RAPL domains: pkg cores gpu ram psys core.
        energy_unit: exponent of the RAPL energy unit, 2^-n J.
        cstate_core, cstate_package: residencies of the perf cstate_core and cstate_pkg PMUs.
        module_register: the module C6 residency register and the cstate_module PMU are there.
        fabric_clusters: uncore frequency domains in the newer uncoreNN layout; 0 for one folder for each package.
        ram_unit, psys_unit: joules of one count of those RAPL registers where not the common unit.
        steal: share of the busy time that a hypervisor takes.
        soft_storm: share of the busy time that goes to soft interrupts beside those of the work.
        timer_storm: local timer interrupts a second on every CPU beside those of the work.
        smi_storm: interrupts a second by the firmware, which stop every CPU.
        host_lowers: a period in seconds, how long of it the host leaves the whole clock, and the share that it leaves
            for the rest; 0: it never lowers it.
        cap: share of its highest clock that a core may run at; 1: all of it.
        cap_reason: what the processor names as the reason, "current" or "other"; "": nothing.
        cap_told: whether cpufreq's highest allowed clock reflects the cap.
        around: devices around the processors that report power.
        driver, governor, epp: cpufreq's.
        idle_driver, idle_governor: cpuidle's.
        hypervisor: it is a guest.
        nvidia: "t410", "grace" or "".
        mesh: "cmn-600" or "cmn-700" where the uncore is Arm's own, else "".
        flags: the flags (Features) line of /proc/cpuinfo.
        memory_gib: of all packages.
        memory_channels: of each package, as its SMBIOS names them; 0 where it has no SMBIOS.
        memory_mts: their speed in million transfers a second.
        tiers: "pmem": persistent memory beside DRAM; "2lm": behind DRAM, which is its cache; "hbm": HBM, DRAM's cache.
    """

    name: str
    summary: str
    isa: Isa
    vendor: str
    family: int
    model: int
    stepping: int
    model_name: str
    microcode: int
    packages: int
    nodes_per_package: int
    siblings_last: bool
    l3_kib: int
    tsc_hz: int
    crystal: tuple[int, int, int]
    core_types: tuple[CoreType, ...]
    blocks: tuple[Block, ...]
    schedule: LoadSchedule
    power: Power
    step: float
    package_states: tuple[tuple[int, float], ...] = ()
    domains: frozenset[str] = frozenset()
    energy_unit: int = 14
    cstate_core: tuple[int, ...] = ()
    cstate_package: tuple[int, ...] = ()
    module_register: bool = False
    fabric_clusters: int = 0
    driver: str = ""
    governor: str = ""
    governors: str = ""
    epp: str = ""
    idle_driver: str = ""
    idle_governor: str = "menu"
    hypervisor: bool = False
    nvidia: str = ""
    mesh: str = ""
    flags: str = ""
    memory_gib: int = 64
    memory_channels: int = 0
    memory_mts: int = 0
    tiers: str = ""
    kernel: str = "6.17.0-sim"
    base_hz: int = 0
    ram_unit: float = 0.0
    psys_unit: float = 0.0
    steal: float = 0.0
    soft_storm: float = 0.0
    timer_storm: float = 0.0
    smi_storm: float = 0.0
    host_lowers: tuple[float, float, float] = (0.0, 0.0, 1.0)
    cap: float = 1.0
    cap_reason: str = ""
    cap_told: bool = False
    around: OtherDevices = _BARE

    @property
    def cpus(self) -> int:
        """CPUs present."""
        return self.packages * sum(block.cores * self.core_types[block.type].threads for block in self.blocks)

    @property
    def cores_per_package(self) -> int:
        """Cores in one package."""
        return sum(block.cores for block in self.blocks)

    @property
    def reference_hz(self) -> int:
        """Rate of MPERF and of the residency counters: turbostat's TSC times tsc_tweak."""
        return self.base_hz or self.tsc_hz

    @property
    def hybrid(self) -> bool:
        """Whether there is more than one kind of core."""
        return len(self.core_types) > 1

    @property
    def client(self) -> bool:
        """An Intel part with graphics, and the registers such parts have."""
        return self.isa is Isa.INTEL and self.power.gpu > 0
