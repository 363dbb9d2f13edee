"""Tables of the metrics: the signals of each, its levels, and its HELP text.

Names follow https://prometheus.io/docs/practices/naming/: the level, the quantity, the base unit, `_total`.
"""

from __future__ import annotations

from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.export.live.levels import CORE, CORE_TYPE, CPU, DIE, L3, MACHINE, PACKAGE, MetricLevel
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId

PREFIX: Final = "turbotui"
_EVERY: Final = (MACHINE, PACKAGE, CORE_TYPE, DIE, L3, CORE, CPU)
_TIMES: Final = (MACHINE, PACKAGE, CORE_TYPE, CORE, CPU)
_OF_CORES: Final = "Energy of the cores, part of the package's"
_SHARE: Final = "Busy share of the last interval over CPUs"
_CLOCK: Final = "Clock while not idle over CPUs that were busy for 1 % of the last interval"
_MOMENT: Final = "Clock of busy CPUs at a moment of the last interval, by timed chains of instructions"
_APERF: Final = ("tsc", "mperf", "aperf")


@dataclass(frozen=True, slots=True)
class CounterFamily:
    """A counter; of rows with one name, the first whose signals the machine has is used."""

    stem: str  # the name behind the level, without `_total`
    # the signals whose increases are added, as far as available; the first one is required
    signals: tuple[SignalId, ...]
    levels: tuple[MetricLevel, ...]  # the metric's levels
    text: str  # HELP; the document of the first signal follows
    factor: SignalId = ""  # a constant of the machine by which increases are multiplied; "" for none
    # signals by which users divide this one: an increase counts only if all existing ones are known, so that the
    # quotient of two totals covers the same CPUs and times
    together: tuple[SignalId, ...] = ()


@dataclass(frozen=True, slots=True)
class GaugeFamily:
    """A gauge or constant, on the level of its signal."""

    stem: str  # the name behind the level
    signal: SignalId  # the signal with the value
    level: MetricLevel  # the level of the signal
    text: str  # HELP; the signal's document follows


@dataclass(frozen=True, slots=True)
class SpreadFamily:
    """The minimum, 95th percentile and maximum of a column over the CPUs or cores of an instance.

    Rows of one name are alternatives, as those of counters.
    """

    stem: str  # the name behind the level
    column: str  # id in the catalog; "" for the busy share by /proc/stat
    scope: Scope  # the rows over which the values are taken
    factor: float  # from the column's unit to the base unit
    levels: tuple[MetricLevel, ...]  # the metric's levels
    text: str  # HELP
    # whether only CPUs that were busy for 1 % of the interval count, because an idle CPU's clock means nothing
    busy: bool = False


COUNTERS: Final = (
    CounterFamily("tsc_cycles", ("tsc",), _EVERY, "TSC cycles, at the rate that MPERF counts at", "tsc_tweak", _APERF),
    CounterFamily("mperf_cycles", ("mperf",), _EVERY, "Cycles at the base clock while not idle", "", _APERF),
    CounterFamily("aperf_cycles", ("aperf",), _EVERY, "Cycles at the real clock while not idle", "", _APERF),
    CounterFamily("instructions", ("instructions",), _EVERY, "Instructions retired"),
    CounterFamily("core_cycles", ("cycles",), _TIMES, "Core cycles while not idle"),
    CounterFamily("busy_seconds", ("stat.user", "stat.nice", "stat.system", "stat.irq", "stat.softirq"), _TIMES,
                  "CPU time in which something ran"),
    CounterFamily("steal_seconds", ("stat.steal",), (MACHINE, CORE, CPU), "CPU time that a hypervisor took"),
    CounterFamily("iowait_seconds", ("stat.iowait",), (MACHINE, CORE, CPU), "Idle time while storage was waited for"),
    CounterFamily("interrupts", ("irq.total",), (MACHINE, PACKAGE, CORE, CPU), "Interrupts"),
    CounterFamily("context_switches", ("stat.ctxt",), (MACHINE,), "Context switches"),
    CounterFamily("run_delay_seconds", ("sched.delay",), (MACHINE, CPU), "Time that tasks waited for a CPU"),
    CounterFamily("system_management_interrupts", ("smi",), (MACHINE, CPU), "System management interrupts"),
    CounterFamily("cpu_pressure_seconds", ("psi.cpu.some",), (MACHINE,), "Time in which some task waited for a CPU"),
    CounterFamily("memory_pressure_seconds", ("psi.memory.some",), (MACHINE,),
                  "Time in which some task waited for memory"),
    CounterFamily("io_pressure_seconds", ("psi.io.some",), (MACHINE,), "Time in which some task waited for storage"),
    CounterFamily("energy_joules", ("energy.pkg",), (PACKAGE,), "Energy of the package"),
    CounterFamily("package_energy_joules", ("energy.pkg",), (MACHINE,), "Energy of all packages"),
    CounterFamily("dram_energy_joules", ("energy.ram",), (MACHINE, PACKAGE), "Energy of memory"),
    CounterFamily("cores_energy_joules", ("energy.cores",), (MACHINE, PACKAGE), _OF_CORES),
    CounterFamily("cores_energy_joules", ("energy.core",), (MACHINE, PACKAGE), _OF_CORES),
    CounterFamily("energy_joules", ("energy.core",), (CORE,), "Energy of the core, part of the package's"),
    CounterFamily("graphics_energy_joules", ("energy.gpu",), (PACKAGE,), "Energy of graphics, part of the package's"),
    CounterFamily("platform_energy_joules", ("energy.psys",), (MACHINE,), "Energy of the whole platform"),
    CounterFamily("heat_throttled_seconds", ("throttle.pkg.time",), (MACHINE, PACKAGE),
                  "Time that packages were throttled for heat"),
    CounterFamily("heat_throttles", ("throttle.pkg.count",), (MACHINE, PACKAGE),
                  "Times that packages were throttled for heat"),
    CounterFamily("power_throttled_seconds", ("throttled.pkg",), (MACHINE, PACKAGE),
                  "Time that packages were held back by their power limit"),
    CounterFamily("dram_throttled_seconds", ("throttled.ram",), (PACKAGE,),
                  "Time that memory was held back by its power limit"),
    CounterFamily("cores_heat_throttled_seconds", ("throttle.core.time",), (MACHINE, PACKAGE),
                  "Time that cores were throttled for heat, added over cores"),
    CounterFamily("heat_throttled_seconds", ("throttle.core.time",), (CORE,),
                  "Time that the core was throttled for heat"),
    CounterFamily("c6_cycles", ("cstate.core.c6",), (MACHINE, CORE), "TSC cycles of cores in C6, added over cores"),
    CounterFamily("c2_cycles", ("cstate.pkg.c2",), (PACKAGE,), "TSC cycles of the package in C2"),
    CounterFamily("c6_cycles", ("cstate.pkg.c6",), (PACKAGE,), "TSC cycles of the package in C6"),
)

GAUGES: Final = (
    GaugeFamily("base_hertz", "base_hz", MACHINE, "Base clock"),
    GaugeFamily("temperature_limit_celsius", "tj_max", MACHINE, "Where the processor slows itself down"),
    GaugeFamily("temperature_celsius", "temp.pkg", PACKAGE, "The package's own sensor"),
    GaugeFamily("temperature_celsius", "temp.ccd", L3, "Sensor of the core die"),
    GaugeFamily("temperature_celsius", "temp.core", CORE, "The core's sensor"),
    GaugeFamily("pl1_watts", "limit.pkg.pl1", PACKAGE, "Long-term power limit"),
    GaugeFamily("pl2_watts", "limit.pkg.pl2", PACKAGE, "Short-term power limit"),
    GaugeFamily("tdp_watts", "limit.pkg.tdp", PACKAGE, "Thermal design power"),
    GaugeFamily("uncore_hertz", "uncore.cur", PACKAGE, "Clock of the uncore"),
)

SPREADS: Final = (
    SpreadFamily("busy_ratio", "Busy%", Scope.CPU, 0.01, (MACHINE, PACKAGE), _SHARE),
    SpreadFamily("busy_ratio", "", Scope.CPU, 1.0, (MACHINE, PACKAGE), _SHARE),
    SpreadFamily("busy_hertz", "Bzy_MHz", Scope.CPU, 1e6, (MACHINE, PACKAGE), _CLOCK, busy=True),
    SpreadFamily("moment_hertz", "NowMHz", Scope.CPU, 1e6, (MACHINE, PACKAGE), _MOMENT),
    SpreadFamily("moment_hertz_error_ratio", "NowErr%", Scope.CPU, 0.01, (MACHINE, PACKAGE),
                 "Expected relative error (rms) of the clock at a moment as the interval's mean"),
    SpreadFamily("temperature_celsius", "CoreTmp", Scope.CORE, 1.0, (MACHINE,), "Temperature over cores"),
    SpreadFamily("temperature_celsius", "CCDTmp", Scope.L3, 1.0, (MACHINE,), "Temperature over core dies"),
    SpreadFamily("temperature_celsius", "PkgTmp", Scope.PACKAGE, 1.0, (MACHINE,), "Temperature over packages"),
    SpreadFamily("core_temperature_celsius", "CoreTmp", Scope.CORE, 1.0, (PACKAGE,), "Temperature over cores"),
)

LOWEST_RATIO: Final = "MinRatio"
"""The column that baselines are compared with: APERF/MPERF of the slowest busy CPU."""


def metric_name(level: MetricLevel, stem: str) -> str:
    """Return the name of a metric, without the `_total` of counters."""
    return f"{PREFIX}_{level.word}_{stem}"
