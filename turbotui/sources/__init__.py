"""Counter sources. `SOURCES` lists them in order of preference: the first usable source of a signal is read.

perf comes before registers, and registers before files: one system call reads a whole group of perf counters at one
    instant, needs fewer privileges than the MSR driver, and knows units and widths.
"""

from __future__ import annotations

from turbotui.feature_list import installed_parts
from turbotui.sources.amd_energy import AmdEnergy
from turbotui.sources.apic import Apic
from turbotui.sources.batteries import Batteries
from turbotui.sources.clock import ClockEnd, ClockStart
from turbotui.sources.core_clock import CoreClock
from turbotui.sources.cpufreq import Cpufreq
from turbotui.sources.cpuidle import Cpuidle
from turbotui.sources.energy_bias import EnergyBias
from turbotui.sources.graphics import Graphics
from turbotui.sources.hsmp import Hsmp, HsmpMetrics
from turbotui.sources.hwmon import Hwmon
from turbotui.sources.low_power_idle import LowPowerIdle
from turbotui.sources.msr import Msr, MsrSettings
from turbotui.sources.npus import Npus
from turbotui.sources.nvidia import Nvidia
from turbotui.sources.own_cgroup import OwnCgroup
from turbotui.sources.perf_cstate import PerfCstate
from turbotui.sources.perf_generic import PerfHardware, PerfSoftware
from turbotui.sources.perf_msr import PerfMsr
from turbotui.sources.perf_power import PerfPower
from turbotui.sources.perf_raw import PerfL2, PerfLicence
from turbotui.sources.platform_constants import PlatformConstants
from turbotui.sources.pmt import Pmt
from turbotui.sources.power_meters import Fans, GraphicsPower, PowerMeters
from turbotui.sources.powercap import Powercap
from turbotui.sources.proc_interrupts import ProcInterrupts
from turbotui.sources.proc_pressure import ProcPressure
from turbotui.sources.proc_schedstat import ProcSchedstat
from turbotui.sources.proc_softirqs import ProcSoftirqs
from turbotui.sources.proc_stat import ProcStat
from turbotui.sources.proc_system import ProcLoadavg, ProcMeminfo, ProcVmstat
from turbotui.sources.roofline import PerfRoofline
from turbotui.sources.source import Source
from turbotui.sources.thermal_throttle import ThermalThrottle
from turbotui.sources.timestamp import Timestamp
from turbotui.sources.uncore_frequency import UncoreFrequency

SOURCES: tuple[Source, ...] = (
    ClockStart(),  # encloses the others, together with ClockEnd
    PerfMsr(),
    PerfCstate(),
    PerfPower(),
    PerfSoftware(),
    PerfHardware(),
    PerfL2(),
    PerfLicence(),
    PerfRoofline(),
    PlatformConstants(),
    Apic(),
    Msr(),
    Timestamp(),
    CoreClock(),
    Cpuidle(),
    Cpufreq(),
    EnergyBias(),
    UncoreFrequency(),
    Graphics(),
    LowPowerIdle(),
    Pmt(),
    ThermalThrottle(),
    Hwmon(),
    AmdEnergy(),
    Powercap(),
    Hsmp(),
    HsmpMetrics(),
    MsrSettings(),
    ProcStat(),
    ProcInterrupts(),
    ProcSoftirqs(),
    ProcSchedstat(),
    ProcPressure(),
    ProcLoadavg(),
    ProcVmstat(),
    ProcMeminfo(),
    OwnCgroup(),
    GraphicsPower(),
    Nvidia(),
    PowerMeters(),
    Batteries(),
    Npus(),
    Fans(),
    *installed_parts("sources", Source),  # type: ignore[type-abstract]  # whatever has its attributes
    ClockEnd(),
)

METER_SOURCES = frozenset({"hwmon-graphics", "nvml", "hwmon-power", "power-supply", "accel", "hwmon-fans"})
"""Ids of the sources of meters outside the processor; a caller that wants nothing else probes only these."""
