"""Power and energy columns: RAPL domains, whichever of perf, MSR and powercap gives them."""

from __future__ import annotations

from collections.abc import Callable

from turbotui.quantities.catalog.formulas import percent
from turbotui.quantities.columns import Category, Cell, Column, Inputs
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId

_DOCUMENT = "Intel SDM vol. 3 section 16.10 (RAPL); AMD PPR, Core::X86::Msr::PKG_ENERGY_STAT"
_POWERCAP = "kernel Documentation/power/powercap/powercap.rst"


def _watts(title: str, scope: Scope, signal: SignalId, what: str, *, whole_only: bool = False) -> Column:
    return Column(
        id=title, category=Category.POWER, groups=("power",), scope=scope, unit="W", decimals=2, needs=(signal,),
        compute=_rate(signal), formula="Δenergy / interval", help=f"Power of {what}, mean over the interval.",
        document=_DOCUMENT, width=7, priority=2 if title == "PkgWatt" else 5, whole_only=whole_only,
    )


def _joules(title: str, scope: Scope, signal: SignalId, what: str, *, whole_only: bool = False) -> Column:
    return Column(
        id=title, category=Category.POWER, groups=("power",), scope=scope, unit="J", decimals=2, needs=(signal,),
        compute=_delta(signal), formula="Δenergy", help=f"Energy of {what} in the interval.", document=_DOCUMENT,
        width=8, priority=8, default=False, whole_only=whole_only,
    )


def _rate(signal: SignalId) -> Callable[[Inputs], Cell]:
    return lambda row: row.rate(signal)


def _delta(signal: SignalId) -> Callable[[Inputs], Cell]:
    return lambda row: row.delta(signal)


_CORE = (Scope.CORE, "energy.core", "one core")
_DOMAINS: tuple[tuple[str, Scope, SignalId, str, bool], ...] = (
    ("Pkg", Scope.PACKAGE, "energy.pkg", "the whole package", False),
    ("Cor", Scope.PACKAGE, "energy.cores", "all cores of the package", False),
    ("GFX", Scope.PACKAGE, "energy.gpu", "the package's graphics", False),
    ("RAM", Scope.PACKAGE, "energy.ram", "the package's memory", False),
)

CORE_COLUMNS = (_watts("CorWatt", *_CORE), _joules("Cor_J", *_CORE))

PACKAGE_COLUMNS = (
    *(_watts(f"{name}Watt", scope, signal, what, whole_only=whole) for name, scope, signal, what, whole in _DOMAINS),
    *(_joules(f"{name}_J", scope, signal, what, whole_only=whole) for name, scope, signal, what, whole in _DOMAINS),
    Column(
        id="PL1", category=Category.POWER, scope=Scope.PACKAGE, unit="W", decimals=0, needs=("limit.pkg.pl1",),
        compute=lambda row: row.value("limit.pkg.pl1"), formula="powercap long_term power_limit_uw",
        help="Sustained power limit of the package.", document=_POWERCAP, width=5, priority=8, default=False,
        extra=True,
    ),
    Column(
        id="PL2", category=Category.POWER, scope=Scope.PACKAGE, unit="W", decimals=0, needs=("limit.pkg.pl2",),
        compute=lambda row: row.value("limit.pkg.pl2"), formula="powercap short_term power_limit_uw",
        help="Short-term power limit of the package.", document=_POWERCAP, width=5, priority=8, default=False,
        extra=True,
    ),
    Column(
        id="PL1%", category=Category.POWER, scope=Scope.PACKAGE, unit="%", decimals=1,
        needs=("energy.pkg", "limit.pkg.pl1"),
        compute=lambda row: percent(row.rate("energy.pkg"), row.value("limit.pkg.pl1")),
        formula="100 x PkgWatt / PL1", help="How much of the sustained power limit is used.", document=_POWERCAP,
        width=5, priority=8, default=False, extra=True,
    ),
)

SYSTEM_COLUMNS = (
    _watts("SysWatt", Scope.SYSTEM, "energy.psys", "the whole platform", whole_only=True),
    _joules("Sys_J", Scope.SYSTEM, "energy.psys", "the whole platform", whole_only=True),
)
