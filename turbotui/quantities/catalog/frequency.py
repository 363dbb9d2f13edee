"""Frequency columns: what the cores really ran at, from APERF and MPERF, and what the kernel asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from turbotui.quantities.catalog.formulas import comparable, mega, percent, residency
from turbotui.quantities.columns import PERCENT, Category, CounterColumn, Inputs, Scale, Value
from turbotui.quantities.scope import Scope

BUSY: Final = 0.5
"""Share of the interval in C0 from which a CPU counts as busy: the clock of one that hardly works says nothing."""

_APERF_DOCUMENT = "Intel SDM vol. 3 section 16.2 (IA32_MPERF, IA32_APERF); AMD APM vol. 2 section 17.3"
_L2_DOCUMENT = "Intel perfmon event files, L2_RQSTS (raw event 0x24)"
_CPUFREQ_DOCUMENT = "kernel Documentation/admin-guide/pm/cpufreq.rst"


def _busy_mhz(row: Inputs) -> Value:
    active, reference = comparable(row, "aperf", "mperf")
    if active is None or not reference:
        return None
    base = row.value("base_hz")
    if not base:  # CPUID.16H may exist and be zero in guests: the TSC rate then stands for the base clock
        ticks = row.rate("tsc")
        if ticks is None:
            return None
        base = ticks * (row.value("tsc_tweak") or 1.0)
    return mega(base * active / reference)


def _performance_ratio(row: Inputs) -> Value:
    active, reference = comparable(row, "aperf", "mperf")
    return None if active is None or not reference else active / reference


def _busy_ratios(row: Inputs) -> list[tuple[float, int | None]]:
    """The ratio of every busy CPU in a row, with its number."""
    found = []
    for one in row.each(Scope.CPU):
        share, ratio = residency(one, "mperf"), _performance_ratio(one)
        if share is not None and share >= 100.0 * BUSY and ratio is not None and not isinstance(ratio, str):
            found.append((ratio, one.place(Scope.CPU)))
    return found


def _lowest_ratio(row: Inputs) -> Value:
    return min((ratio for ratio, _cpu in _busy_ratios(row)), default=None)


def _lowest_cpu(row: Inputs) -> Value:
    cpu = min(_busy_ratios(row), key=lambda found: found[0], default=(0.0, None))[1]
    return None if cpu is None else str(cpu)


def _nobody_busy(_row: Inputs) -> str:
    return f"no CPU here was busy for {100 * BUSY:.0f} % of the interval"


def _lowest(title: str, compute: Callable[[Inputs], Value], decimals: int, formula: str,
            help_text: str) -> CounterColumn:
    return CounterColumn(
        id=title, category=Category.FREQUENCY, groups=("score",), scope=Scope.CPU, unit="", decimals=decimals,
        needs=("aperf", "mperf", "tsc"), wants=("tsc_tweak",), compute=compute, formula=formula, help=help_text,
        document=_APERF_DOCUMENT, width=6, priority=7, default=False, extra=True, doubt=_nobody_busy,
    )


def _gauge_mhz(signal: str) -> Callable[[Inputs], Value]:
    return lambda row: mega(row.value(signal))


def _whole(signal: str) -> Callable[[Inputs], Value]:
    def compute(row: Inputs) -> Value:
        value = row.value(signal)
        return None if value is None else round(value)

    return compute


def _text(signal: str) -> Callable[[Inputs], Value]:
    return lambda row: row.text(signal)


def _setting(title: str, signal: str, help_text: str, *, mhz: bool) -> CounterColumn:
    return CounterColumn(
        id=title,
        category=Category.FREQUENCY,
        scope=Scope.CPU,
        unit="MHz" if mhz else "",
        decimals=0 if mhz else -1,
        needs=(signal,),
        compute=_gauge_mhz(signal) if mhz else _text(signal),
        formula=f"cpufreq {signal.removeprefix('cpufreq.')}",
        help=help_text,
        document=_CPUFREQ_DOCUMENT,
        width=5 if mhz else 11,
        priority=7,
        default=False,
        extra=True,
    )


def _turbo(title: str, signal: str, help_text: str) -> CounterColumn:
    return CounterColumn(
        id=title, category=Category.FREQUENCY, scope=Scope.SYSTEM, unit="MHz", decimals=0, needs=(signal,),
        compute=_gauge_mhz(signal), formula="bus clock x ratio in MSR 0x1AD, by the core counts of MSR 0x1AE",
        help=help_text, document="Intel SDM vol. 4, MSR_TURBO_RATIO_LIMIT", width=5, priority=8, default=False,
        extra=True,
    )


_TOP = ("TopMHz", "Turbo1")
_TURBO = Scale(high=_TOP, low=("BaseMHz", 0.0))
"""From the base clock, which is promised, to the highest of turbo, which is not."""

COLUMNS = (
    CounterColumn(
        id="Avg_MHz",
        category=Category.FREQUENCY,
        groups=("frequency",),
        scope=Scope.CPU,
        unit="MHz",
        decimals=0,
        needs=("aperf",),
        compute=lambda row: mega(row.rate("aperf")),
        help="Cycles executed per second of wall time, idle time included: Busy% of Bzy_MHz.",
        document=_APERF_DOCUMENT,
        width=5,
        priority=5,
        scale=Scale(high=_TOP),
    ),
    CounterColumn(
        id="Busy%",
        category=Category.FREQUENCY,
        groups=("frequency", "idle", "hwidle", "swidle", "sysfs"),
        scope=Scope.CPU,
        unit="%",
        decimals=2,
        needs=("mperf", "tsc"),
        wants=("tsc_tweak",),
        compute=lambda row: residency(row, "mperf"),
        help="Share of the interval in C0, that is executing instructions, as the hardware counted it.",
        document=_APERF_DOCUMENT,
        width=6,
        priority=0,
        scale_max=100.0,
        scale=PERCENT,
    ),
    CounterColumn(
        id="Bzy_MHz",
        category=Category.FREQUENCY,
        groups=("frequency",),
        scope=Scope.CPU,
        unit="MHz",
        decimals=0,
        needs=("aperf", "mperf"),
        wants=("base_hz", "tsc", "tsc_tweak"),
        compute=_busy_mhz,
        help="Mean clock while not idle.",
        document=_APERF_DOCUMENT,
        width=5,
        priority=0,
        scale=_TURBO,
    ),
    CounterColumn(
        id="Ratio",
        category=Category.FREQUENCY,
        groups=("score",),
        scope=Scope.CPU,
        unit="",
        decimals=4,
        needs=("aperf", "mperf"),
        compute=_performance_ratio,
        help="Mean clock while not idle over the base clock: above 1 is turbo, below 1 is throttled, or a governor "
        "asked for less.",
        document=_APERF_DOCUMENT,
        width=6,
        priority=7,
        default=False,
        extra=True,
    ),
    _lowest("MinRatio", _lowest_ratio, 4, f"the least Δaperf / Δmperf of CPUs that are busy for {100 * BUSY:.0f} %",
            "Ratio of the slowest busy CPU in the row: what a program waits for whose CPUs wait for each other. "
            "turbotui score predicts a benchmark by it."),
    _lowest("MinCPU", _lowest_cpu, -1, "the CPU whose ratio MinRatio is", "The CPU that MinRatio is of."),
    CounterColumn(
        id="TSC_MHz",
        category=Category.FREQUENCY,
        groups=("frequency",),
        scope=Scope.CPU,
        unit="MHz",
        decimals=0,
        needs=("tsc",),
        compute=lambda row: mega(row.rate("tsc")),
        help="Rate of the time-stamp counter: constant, whatever the core's clock does.",
        document="Intel SDM vol. 3 section 19.17",
        width=5,
        priority=7,
    ),
    CounterColumn(
        id="CurMHz",
        category=Category.FREQUENCY,
        scope=Scope.CPU,
        unit="MHz",
        decimals=0,
        needs=("cpufreq.cur",),
        compute=_gauge_mhz("cpufreq.cur"),
        formula="cpufreq scaling_cur_freq at the end of the interval",
        help="Clock as cpufreq reports it at one instant, not a mean over the interval: stale on an idle CPU.",
        document=_CPUFREQ_DOCUMENT,
        width=5,
        priority=6,
        default=False,
        extra=True,
        scale=_TURBO,
    ),
    _setting("MinMHz", "cpufreq.min", "Lowest clock that the policy allows now.", mhz=True),
    _setting("MaxMHz", "cpufreq.max", "Highest clock that the policy allows now.", mhz=True),
    _setting("TopMHz", "cpufreq.hw_max", "Highest clock that cpufreq knows of this CPU, turbo included.", mhz=True),
    _setting("BaseMHz", "cpufreq.base", "Base clock of this CPU: what it was specified with, without turbo.", mhz=True),
    _turbo("Turbo1", "turbo.single", "Highest clock while one core of the package is active; of P cores on hybrids."),
    _turbo("TurboAll", "turbo.all", "Highest clock while all cores of the package are active; of P cores on hybrids."),
    _setting("Governor", "cpufreq.governor", "Governor that cpufreq chooses the clock of this CPU with.", mhz=False),
    _setting("EPP", "cpufreq.epp", "Energy performance preference handed to the hardware.", mhz=False),
    CounterColumn(
        id="EPP",
        category=Category.FREQUENCY,
        scope=Scope.CPU,
        unit="",
        decimals=0,
        needs=("hwp.epp",),
        compute=_whole("hwp.epp"),
        formula="MSR 0x774[31:24]",
        help="Energy performance preference handed to the hardware: 0 for performance to 255 for power saving.",
        document="Intel SDM vol. 3 section 16.4 (IA32_HWP_REQUEST)",
        width=11,
        priority=7,
        default=False,
        extra=True,
    ),
    CounterColumn(
        id="EPB",
        category=Category.FREQUENCY,
        scope=Scope.CPU,
        unit="",
        decimals=0,
        needs=("epb",),
        compute=_whole("epb"),
        formula="power/energy_perf_bias, or MSR 0x1B0[3:0]",
        help="Energy performance bias: 0 for performance, 6 balanced, 15 for power saving.",
        document="kernel Documentation/admin-guide/pm/intel_epb.rst",
        width=3,
        priority=8,
        default=False,
        extra=True,
    ),
    _setting("Driver", "cpufreq.driver", "Driver through which cpufreq sets the clock of this CPU.", mhz=False),
)

CACHE_COLUMNS = (
    CounterColumn(
        id="IPC",
        category=Category.CACHE,
        groups=("other",),
        scope=Scope.CPU,
        unit="",
        decimals=2,
        needs=("instructions", "aperf"),
        compute=lambda row: _quotient(*comparable(row, "instructions", "aperf")),
        help="Instructions per cycle while not idle.",
        document="perf_event_open(2), PERF_COUNT_HW_INSTRUCTIONS",
        width=4,
        priority=4,
    ),
    CounterColumn(
        id="IPC",
        category=Category.CACHE,
        groups=("other",),
        scope=Scope.CPU,
        unit="",
        decimals=2,
        needs=("instructions", "cycles"),
        compute=lambda row: _quotient(*comparable(row, "instructions", "cycles")),
        help="Instructions per core cycle while not idle, both from the core PMU.",
        document="perf_event_open(2), PERF_COUNT_HW_INSTRUCTIONS and PERF_COUNT_HW_CPU_CYCLES",
        width=4,
        priority=4,
    ),
    CounterColumn(
        id="LLCMRPS",
        category=Category.CACHE,
        groups=("cache", "llc"),
        scope=Scope.CPU,
        unit="M/s",
        decimals=0,
        needs=("cache.references",),
        compute=lambda row: mega(row.rate("cache.references")),
        help="Last-level cache references, millions a second; on Arm reads only. AMD's cores do not count them.",
        document="perf_event_open(2), PERF_COUNT_HW_CACHE_REFERENCES; on Arm PERF_COUNT_HW_CACHE_LL",
        width=5,
        priority=7,
    ),
    CounterColumn(
        id="LLC%hit",
        category=Category.CACHE,
        groups=("cache", "llc"),
        scope=Scope.CPU,
        unit="%",
        decimals=2,
        needs=("cache.references", "cache.misses"),
        compute=lambda row: _hit(*comparable(row, "cache.references", "cache.misses")),
        help="Share of last-level cache references that hit; on Arm of reads. AMD's cores do not count them.",
        document="perf_event_open(2), PERF_COUNT_HW_CACHE_MISSES; on Arm PERF_COUNT_HW_CACHE_LL",
        width=6,
        priority=7,
        scale_max=100.0,
    ),
    CounterColumn(
        id="L2MRPS",
        category=Category.CACHE,
        groups=("cache", "llc"),
        scope=Scope.CPU,
        unit="M/s",
        decimals=0,
        needs=("cache.l2.references",),
        compute=lambda row: mega(row.rate("cache.l2.references")),
        help="Second-level cache references, millions a second: on AMD, and Intel models whose event codes are known.",
        document=_L2_DOCUMENT,
        width=5,
        priority=7,
    ),
    CounterColumn(
        id="L2%hit",
        category=Category.CACHE,
        groups=("cache", "llc"),
        scope=Scope.CPU,
        unit="%",
        decimals=2,
        needs=("cache.l2.references", "cache.l2.hits"),
        compute=lambda row: percent(*comparable(row, "cache.l2.hits", "cache.l2.references")),
        help="Share of second-level cache references that hit.",
        document=_L2_DOCUMENT,
        width=6,
        priority=7,
        scale_max=100.0,
    ),
    CounterColumn(
        id="L2%hit",
        category=Category.CACHE,
        groups=("cache", "llc"),
        scope=Scope.CPU,
        unit="%",
        decimals=2,
        needs=("cache.l2.references", "cache.l2.misses"),
        compute=lambda row: _hit(*comparable(row, "cache.l2.references", "cache.l2.misses")),
        help="Share of second-level cache references that are no misses; misses of prefetches are not counted.",
        document="linux arch/x86/events/amd/core.c: the generic cache events of AMD, PMCx060 and PMCx064",
        width=6,
        priority=7,
        scale_max=100.0,
    ),
)


def _quotient(part: float | None, whole: float | None) -> Value:
    return None if part is None or not whole else part / whole


def _hit(references: float | None, misses: float | None) -> Value:
    return None if references is None or misses is None else percent(references - misses, references)
