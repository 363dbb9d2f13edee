"""Frequency columns: the clock at which the cores ran, from APERF and MPERF, and the clock that the kernel requests."""

from __future__ import annotations

from functools import partial
from typing import Final

from turbotui.quantities.catalog.formulas import (
    Formula,
    comparable,
    mega,
    mega_of,
    mega_rate_of,
    percent,
    quotient,
    residency,
    residency_of,
    text_of,
    whole_of,
)
from turbotui.quantities.columns import PERCENT, Category, CounterColumn, Inputs, Scale, Value
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId

BUSY: Final = 0.5
"""Share of the interval in C0 from which a CPU counts as busy; the clock of a nearly idle CPU means nothing."""

_APERF_DOCUMENT = "Intel SDM vol. 3 section 16.2 (IA32_MPERF, IA32_APERF); AMD APM vol. 2 section 17.3"
_L2_DOCUMENT = "Intel perfmon event files, L2_RQSTS (raw event 0x24)"
_CPUFREQ_DOCUMENT = "kernel Documentation/admin-guide/pm/cpufreq.rst"
_TOP = ("TopMHz", "Turbo1")
_TURBO = Scale(high=_TOP, low=("BaseMHz", 0.0))
"""The scale from the base clock, which is guaranteed, to the highest turbo clock, which is not."""


def _busy_mhz(row: Inputs) -> Value:
    active, reference = comparable(row, "aperf", "mperf")
    if active is None or not reference:
        return None
    base = row.value("base_hz")
    if not base:  # in guests CPUID.16H may exist and be zero: the TSC rate then replaces the base clock
        if (ticks := row.rate("tsc")) is None:
            return None
        base = ticks * (row.value("tsc_tweak") or 1.0)
    return mega(base * active / reference)


def _performance_ratio(row: Inputs) -> float | None:
    return quotient(*comparable(row, "aperf", "mperf"))


def _busy_ratios(row: Inputs) -> list[tuple[float, int | None]]:
    """The ratio of every busy CPU in a row, with its number."""
    ratios = []
    for inputs in row.each(Scope.CPU):
        share, ratio = residency(inputs, "mperf"), _performance_ratio(inputs)
        if share is not None and share >= 100.0 * BUSY and ratio is not None:
            ratios.append((ratio, inputs.place(Scope.CPU)))
    return ratios


def _lowest_ratio(row: Inputs) -> Value:
    return min((ratio for ratio, _cpu in _busy_ratios(row)), default=None)


def _lowest_cpu(row: Inputs) -> Value:
    cpu = min(_busy_ratios(row), key=lambda pair: pair[0], default=(0.0, None))[1]
    return None if cpu is None else str(cpu)


def _nobody_busy(_row: Inputs) -> str:
    return f"no CPU here was busy for {100 * BUSY:.0f} % of the interval"


def _hits(references: SignalId, misses: SignalId) -> Formula:
    """Share of the references to a cache that hit."""

    def compute(row: Inputs) -> Value:
        all_of_them, missed = comparable(row, references, misses)
        return None if all_of_them is None or missed is None else percent(all_of_them - missed, all_of_them)

    return compute


_on_cpu = partial(CounterColumn, category=Category.FREQUENCY, scope=Scope.CPU)
_clock = partial(_on_cpu, groups=("frequency",), unit="MHz", decimals=0, document=_APERF_DOCUMENT, width=5)
_ratio = partial(_on_cpu, groups=("score",), unit="", document=_APERF_DOCUMENT, width=6, priority=7, default=False,
                 extra=True)
_lowest = partial(_ratio, needs=("aperf", "mperf", "tsc"), wants=("tsc_tweak",), doubt=_nobody_busy)
_asked = partial(_on_cpu, document=_CPUFREQ_DOCUMENT, priority=7, default=False, extra=True)


def _policy_clock(title: str, signal: SignalId, help_text: str) -> CounterColumn:
    return _asked(id=title, unit="MHz", decimals=0, needs=(signal,), compute=mega_of(signal), width=5, help=help_text,
                  formula=f"cpufreq {signal.removeprefix('cpufreq.')}")


def _policy_word(title: str, signal: SignalId, help_text: str) -> CounterColumn:
    return _asked(id=title, unit="", decimals=-1, needs=(signal,), compute=text_of(signal), width=11, help=help_text,
                  formula=f"cpufreq {signal.removeprefix('cpufreq.')}")


def _turbo(title: str, signal: SignalId, help_text: str) -> CounterColumn:
    return CounterColumn(
        id=title, category=Category.FREQUENCY, scope=Scope.SYSTEM, unit="MHz", decimals=0, needs=(signal,),
        compute=mega_of(signal), formula="bus clock x ratio in MSR 0x1AD, by the core counts of MSR 0x1AE",
        help=help_text, document="Intel SDM vol. 4, MSR_TURBO_RATIO_LIMIT", width=5, priority=8, default=False,
        extra=True,
    )


COLUMNS = (
    _clock(id="Avg_MHz", needs=("aperf",), compute=mega_rate_of("aperf"), scale=Scale(high=_TOP),
           help="Cycles executed per second of wall time, idle time included: Busy% of Bzy_MHz."),
    _on_cpu(id="Busy%", groups=("frequency", "idle", "hwidle", "swidle", "sysfs"), unit="%", decimals=2,
            needs=("mperf", "tsc"), wants=("tsc_tweak",), compute=residency_of("mperf"),
            help="Share of the interval in C0, that is executing instructions, as the hardware counted it.",
            document=_APERF_DOCUMENT, width=6, priority=0, scale_max=100.0, scale=PERCENT),
    _clock(id="Bzy_MHz", needs=("aperf", "mperf"), wants=("base_hz", "tsc", "tsc_tweak"), compute=_busy_mhz,
           help="Mean clock while not idle.", priority=0, scale=_TURBO),
    _ratio(id="Ratio", decimals=4, needs=("aperf", "mperf"), compute=_performance_ratio,
           help="Mean clock while not idle over the base clock: above 1 is turbo, below 1 is throttled, or a governor "
           "asked for less."),
    _lowest(id="MinRatio", decimals=4, compute=_lowest_ratio,
            formula=f"the least Δaperf / Δmperf of CPUs that are busy for {100 * BUSY:.0f} %",
            help="Ratio of the slowest busy CPU in the row: what a program waits for whose CPUs wait for each other. "
            "turbotui score predicts a benchmark by it."),
    _lowest(id="MinCPU", decimals=-1, compute=_lowest_cpu, formula="the CPU whose ratio MinRatio is",
            help="The CPU that MinRatio is of."),
    _clock(id="TSC_MHz", needs=("tsc",), compute=mega_rate_of("tsc"), document="Intel SDM vol. 3 section 19.17",
           help="Rate of the time-stamp counter: constant, whatever the core's clock does.", priority=7),
    _asked(id="CurMHz", unit="MHz", decimals=0, needs=("cpufreq.cur",), compute=mega_of("cpufreq.cur"),
           formula="cpufreq scaling_cur_freq at the end of the interval",
           help="Clock as cpufreq reports it at one instant, not a mean over the interval: stale on an idle CPU.",
           width=5, priority=6, scale=_TURBO),
    _policy_clock("MinMHz", "cpufreq.min", "Lowest clock that the policy allows now."),
    _policy_clock("MaxMHz", "cpufreq.max", "Highest clock that the policy allows now."),
    _policy_clock("TopMHz", "cpufreq.hw_max", "Highest clock that cpufreq knows of this CPU, turbo included."),
    _policy_clock("BaseMHz", "cpufreq.base", "Base clock of this CPU: what it was specified with, without turbo."),
    _turbo("Turbo1", "turbo.single", "Highest clock while one core of the package is active; of P cores on hybrids."),
    _turbo("TurboAll", "turbo.all", "Highest clock while all cores of the package are active; of P cores on hybrids."),
    _policy_word("Governor", "cpufreq.governor", "Governor that cpufreq chooses the clock of this CPU with."),
    _policy_word("EPP", "cpufreq.epp", "Energy performance preference handed to the hardware."),
    _asked(id="EPP", unit="", decimals=0, needs=("hwp.epp",), compute=whole_of("hwp.epp"), formula="MSR 0x774[31:24]",
           help="Energy performance preference handed to the hardware: 0 for performance to 255 for power saving.",
           document="Intel SDM vol. 3 section 16.4 (IA32_HWP_REQUEST)", width=11),
    _asked(id="EPB", unit="", decimals=0, needs=("epb",), compute=whole_of("epb"),
           formula="power/energy_perf_bias, or MSR 0x1B0[3:0]",
           help="Energy performance bias: 0 for performance, 6 balanced, 15 for power saving.",
           document="kernel Documentation/admin-guide/pm/intel_epb.rst", width=3, priority=8),
    _policy_word("Driver", "cpufreq.driver", "Driver through which cpufreq sets the clock of this CPU."),
)

_per_cycle = partial(CounterColumn, category=Category.CACHE, groups=("other",), scope=Scope.CPU, unit="", decimals=2,
                     width=4, priority=4)
_cache = partial(CounterColumn, category=Category.CACHE, groups=("cache", "llc"), scope=Scope.CPU, priority=7)
_references = partial(_cache, unit="M/s", decimals=0, width=5)
_hit = partial(_cache, unit="%", decimals=2, width=6, scale_max=100.0)

CACHE_COLUMNS = (
    _per_cycle(id="IPC", needs=("instructions", "aperf"), help="Instructions per cycle while not idle.",
               compute=lambda row: quotient(*comparable(row, "instructions", "aperf")),
               document="perf_event_open(2), PERF_COUNT_HW_INSTRUCTIONS"),
    _per_cycle(id="IPC", needs=("instructions", "cycles"),
               compute=lambda row: quotient(*comparable(row, "instructions", "cycles")),
               help="Instructions per core cycle while not idle, both from the core PMU.",
               document="perf_event_open(2), PERF_COUNT_HW_INSTRUCTIONS and PERF_COUNT_HW_CPU_CYCLES"),
    _references(id="LLCMRPS", needs=("cache.references",), compute=mega_rate_of("cache.references"),
                help="Last-level cache references, millions a second; on Arm reads only. AMD's cores do not count "
                "them.", document="perf_event_open(2), PERF_COUNT_HW_CACHE_REFERENCES; on Arm PERF_COUNT_HW_CACHE_LL"),
    _hit(id="LLC%hit", needs=("cache.references", "cache.misses"), compute=_hits("cache.references", "cache.misses"),
         help="Share of last-level cache references that hit; on Arm of reads. AMD's cores do not count them.",
         document="perf_event_open(2), PERF_COUNT_HW_CACHE_MISSES; on Arm PERF_COUNT_HW_CACHE_LL"),
    _references(id="L2MRPS", needs=("cache.l2.references",), compute=mega_rate_of("cache.l2.references"),
                help="Second-level cache references, millions a second: on AMD, and Intel models whose event codes "
                "are known.", document=_L2_DOCUMENT),
    _hit(id="L2%hit", needs=("cache.l2.references", "cache.l2.hits"),
         compute=lambda row: percent(*comparable(row, "cache.l2.hits", "cache.l2.references")),
         help="Share of second-level cache references that hit.", document=_L2_DOCUMENT),
    _hit(id="L2%hit", needs=("cache.l2.references", "cache.l2.misses"),
         compute=_hits("cache.l2.references", "cache.l2.misses"),
         help="Share of second-level cache references that are no misses; misses of prefetches are not counted.",
         document="linux arch/x86/events/amd/core.c: the generic cache events of AMD, PMCx060 and PMCx064"),
)
