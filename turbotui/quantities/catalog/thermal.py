"""Temperature and throttling columns."""

from __future__ import annotations

from functools import partial

from turbotui.quantities.catalog.formulas import count_of, hundredfold_of, whole_of
from turbotui.quantities.columns import Category, CounterColumn, Scale, Thresholds
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId

_DOCUMENT = "Intel SDM vol. 4, IA32_THERM_STATUS (0x19C), IA32_PACKAGE_THERM_STATUS (0x1B1); kernel hwmon drivers"
_HEAT = Scale(high=("TjMax", 100.0), low=(30.0,))
"""The scale from a cool machine to the temperature at which the processor slows down, or 100 °C if that is unknown."""
_THROTTLE = "kernel Documentation/ABI/testing/sysfs-devices-system-cpu, thermal_throttle"


def _temperature(title: str, scope: Scope, signal: SignalId, help_text: str, *, groups: tuple[str, ...] = (),
                 extra: bool = False) -> CounterColumn:
    return CounterColumn(
        id=title, category=Category.THERMAL, groups=groups, scope=scope, unit="°C", decimals=0, needs=(signal,),
        wants=("tj_max",), compute=whole_of(signal), formula="tj_max - digital readout, or the sensor's own value",
        help=help_text, document=_DOCUMENT, width=4, priority=3, thresholds=Thresholds(85.0, 95.0), extra=extra,
        scale=_HEAT, scale_max=110.0,
    )


_throttles = partial(CounterColumn, category=Category.THERMAL, unit="", decimals=0, document=_THROTTLE, width=5,
                     thresholds=Thresholds(1.0, 100.0))
_throttled = partial(CounterColumn, category=Category.THERMAL, unit="%", decimals=1, document=_THROTTLE, width=5,
                     priority=8, default=False, extra=True)

CORE_COLUMNS = (
    _temperature("CoreTmp", Scope.CORE, "temp.core", "Core temperature; the summary is the hottest core.",
                 groups=("power", "other")),
    _temperature("CCDTmp", Scope.L3, "temp.ccd", "Temperature of the core die (AMD Tccd).", extra=True),
    _throttles(
        id="CoreThr", scope=Scope.CORE, needs=("throttle.core.count",), compute=count_of("throttle.core.count"),
        help="Times the core was throttled for heat in the interval; the summary is the sum (turbostat: the maximum).",
        priority=7,
    ),
    _throttled(
        id="CoreThr%", scope=Scope.CORE, needs=("throttle.core.time",), compute=hundredfold_of("throttle.core.time"),
        help="Share of the interval that the core was throttled for heat; above the core, the sum over cores.",
    ),
)

PACKAGE_COLUMNS = (
    _temperature("PkgTmp", Scope.PACKAGE, "temp.pkg", "Package temperature; the summary is the hottest package.",
                 groups=("power",)),
    _throttles(
        id="PkgThr", scope=Scope.PACKAGE, needs=("throttle.pkg.count",), compute=count_of("throttle.pkg.count"),
        help="Times the package was throttled for heat in the interval.", priority=8, default=False, extra=True,
    ),
    _throttled(
        id="PkgThr%", scope=Scope.PACKAGE, needs=("throttle.pkg.time",), compute=hundredfold_of("throttle.pkg.time"),
        help="Share of the interval that the package was throttled for heat; in the summary the sum over packages.",
    ),
    CounterColumn(
        id="TjMax", category=Category.THERMAL, scope=Scope.SYSTEM, unit="°C", decimals=0, needs=("tj_max",),
        compute=whole_of("tj_max"), formula="MSR 0x1A2[23:16], or --TCC",
        help="Temperature at which the processor slows itself down; its sensors count down from it.",
        document="Intel SDM vol. 4, MSR_TEMPERATURE_TARGET", width=4, priority=8, default=False, extra=True,
    ),
)
