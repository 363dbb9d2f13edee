"""Power and energy columns of RAPL domains, read through perf, MSRs or powercap."""

from __future__ import annotations

from functools import partial

from turbotui.quantities.catalog.formulas import hundredfold_of, increase_of, rate_of, share, value_of
from turbotui.quantities.columns import PERCENT, Category, CounterColumn, Inputs, Scale, Value
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId

_DOCUMENT = "Intel SDM vol. 3 section 16.10 (RAPL); AMD PPR, Core::X86::Msr::PKG_ENERGY_STAT"
_POWERCAP = "kernel Documentation/power/powercap/powercap.rst"

NO_LIMIT_WATTS = 4000.0
"""The greatest number that fits (4,095 W), which firmware writes if there is no limit."""
_LIMIT = Scale(high=("PL1", "TDP"), most=NO_LIMIT_WATTS)


_power = partial(CounterColumn, category=Category.POWER, groups=("power",), decimals=2, document=_DOCUMENT)


def _watts(title: str, scope: Scope, signal: SignalId, what: str, *, whole_only: bool = False) -> CounterColumn:
    is_package = title == "PkgWatt"
    return _power(id=title, scope=scope, unit="W", needs=(signal,), compute=rate_of(signal), width=7,
                  help=f"Power of {what}, mean over the interval.", priority=2 if is_package else 5,
                  whole_only=whole_only, scale=_LIMIT if is_package else None)


def _joules(title: str, scope: Scope, signal: SignalId, what: str, *, whole_only: bool = False) -> CounterColumn:
    return _power(id=title, scope=scope, unit="J", needs=(signal,), compute=increase_of(signal), width=8,
                  help=f"Energy of {what} in the interval.", priority=2 if title == "Pkg_J" else 5, default=False,
                  whole_only=whole_only)


def _throttled(title: str, signal: SignalId, what: str) -> CounterColumn:
    return _power(id=title, scope=Scope.PACKAGE, unit="%", needs=(signal,), compute=hundredfold_of(signal), width=6,
                  priority=6, help=f"Share of the interval that {what} was held back by its power limit; in the "
                  "summary the sum over packages.")


def _limit(title: str, signal: SignalId, formula: str, help_text: str, document: str = _POWERCAP) -> CounterColumn:
    return CounterColumn(id=title, category=Category.POWER, scope=Scope.PACKAGE, unit="W", decimals=0, needs=(signal,),
        compute=value_of(signal), formula=formula, help=help_text, document=document, width=5, priority=8,
        default=False, extra=True)


def _nanojoules(row: Inputs) -> Value:
    read = row.total if row.together("energy.pkg", "instructions") else row.total_rate
    energy, instructions = read("energy.pkg"), read("instructions")
    return None if energy is None or not instructions else energy / instructions * 1e9


_CORE = (Scope.CORE, "energy.core", "one core")
_DOMAINS: tuple[tuple[str, SignalId, str], ...] = (
    ("Pkg", "energy.pkg", "the whole package"),
    ("Cor", "energy.cores", "all cores of the package"),
    ("GFX", "energy.gpu", "the package's graphics"),
    ("RAM", "energy.ram", "the package's memory"),
)

CORE_COLUMNS = (_watts("CorWatt", *_CORE), _joules("Cor_J", *_CORE))

PACKAGE_COLUMNS = (
    *(_watts(f"{name}Watt", Scope.PACKAGE, signal, what) for name, signal, what in _DOMAINS),
    *(_joules(f"{name}_J", Scope.PACKAGE, signal, what) for name, signal, what in _DOMAINS),
    _throttled("PKG_%", "throttled.pkg", "the package"),
    _throttled("RAM_%", "throttled.ram", "the package's memory"),
    _limit("PL1", "limit.pkg.pl1", "powercap long_term power_limit_uw, hwmon amd_hsmp power1_cap, or MSR 0x610[14:0]",
           "Sustained power limit of the package.", f"{_POWERCAP}; Documentation/arch/x86/amd_hsmp.rst"),
    _limit("PL2", "limit.pkg.pl2", "powercap short_term power_limit_uw, or MSR 0x610[46:32]",
           "Short-term power limit of the package."),
    _limit("PL4", "limit.pkg.pl4", "powercap peak_power power_limit_uw, or MSR 0x601[12:0]",
           "Peak power limit of the package, which is never exceeded."),
    _limit("TDP", "limit.pkg.tdp", "powercap long_term max_power_uw, or MSR 0x614[14:0]",
           "Thermal design power of the package: what its base clock was specified with.",
           "Intel SDM vol. 4, MSR_PKG_POWER_INFO; kernel drivers/powercap/intel_rapl_common.c"),
    CounterColumn(
        id="nJ/ins", category=Category.POWER, scope=Scope.PACKAGE, unit="nJ", decimals=2,
        needs=("energy.pkg", "instructions"), compute=_nanojoules,
        help="Energy of the package for each instruction that its CPUs executed, idle power included.",
        document=f"{_DOCUMENT}; perf_event_open(2), PERF_COUNT_HW_INSTRUCTIONS", width=6, priority=8, default=False,
        extra=True,
    ),
    CounterColumn(
        id="PL1%", category=Category.POWER, scope=Scope.PACKAGE, unit="%", decimals=1,
        needs=("energy.pkg", "limit.pkg.pl1"),
        compute=lambda row: share(row.rate("energy.pkg"), row.value("limit.pkg.pl1")),
        help="How much of the sustained power limit is used; above 100 while turbo may use more.", document=_POWERCAP,
        width=5, priority=8, default=False, extra=True, scale=PERCENT,
    ),
)

SYSTEM_COLUMNS = (
    _watts("SysWatt", Scope.SYSTEM, "energy.psys", "the whole platform", whole_only=True),
    _joules("Sys_J", Scope.SYSTEM, "energy.psys", "the whole platform", whole_only=True),
)
