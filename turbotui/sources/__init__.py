"""Counter sources. `SOURCES` is the one list, in order of preference: the first usable source of a signal is read.

perf comes before registers before files: one system call reads a whole group of counters at one instant, needs fewer
rights than the MSR driver, and knows units and widths by itself.
"""

from __future__ import annotations

from turbotui.sources.cpufreq import Cpufreq
from turbotui.sources.cpuidle import Cpuidle
from turbotui.sources.hwmon import Hwmon
from turbotui.sources.msr import Msr
from turbotui.sources.perf_cstate import PerfCstate
from turbotui.sources.perf_hardware import PerfHardware
from turbotui.sources.perf_msr import PerfMsr
from turbotui.sources.perf_power import PerfPower
from turbotui.sources.perf_software import PerfSoftware
from turbotui.sources.platform_constants import PlatformConstants
from turbotui.sources.powercap import Powercap
from turbotui.sources.proc_interrupts import ProcInterrupts
from turbotui.sources.proc_softirqs import ProcSoftirqs
from turbotui.sources.proc_stat import ProcStat
from turbotui.sources.source import Source
from turbotui.sources.thermal_throttle import ThermalThrottle

SOURCES: tuple[Source, ...] = (
    PerfMsr(),
    PerfCstate(),
    PerfPower(),
    PerfSoftware(),
    PerfHardware(),
    PlatformConstants(),
    Msr(),
    Cpuidle(),
    Cpufreq(),
    ThermalThrottle(),
    Hwmon(),
    Powercap(),
    ProcStat(),
    ProcInterrupts(),
    ProcSoftirqs(),
)
