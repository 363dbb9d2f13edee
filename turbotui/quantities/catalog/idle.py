"""Idle columns: C-states as counted by the hardware (achieved) and as requested by the kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

from turbotui.quantities.catalog.formulas import (
    Formula,
    comparable,
    count_of,
    hundredfold_of,
    percent,
    percent_of_time,
    reference_ticks,
    residency_of,
)
from turbotui.quantities.columns import Category, CounterColumn, Inputs, Value
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Signal, SignalId
from turbotui.quantities.traced import added, at_least, smaller

_HARDWARE = "Intel SDM vol. 4, core and package C-state residency counters"
_CPUIDLE = "kernel Documentation/admin-guide/pm/cpuidle.rst"
_PACKAGE_STATES = (2, 3, 6, 7, 8, 9, 10)


_STATES_BESIDE_C1 = ("mperf", "cstate.core.c6", "cstate.core.c3", "cstate.core.c7")


_SAME = 1e-9  # share of the ticks that is rounding and not a different number of CPUs


def _derived_c1(row: Inputs) -> Value:
    """The rest of the interval after C0 and the deeper states (docs/specs/turbostat.md 2.6), over the row's CPUs."""
    together = row.together("tsc", *_STATES_BESIDE_C1)  # one window for all CPUs, or one unit
    whole = _left(row, together=together)
    # deeper states belong to a core and C0 to a CPU: where cores have unequal numbers of measured CPUs, a mean over
    # cores and a mean over CPUs must not be subtracted
    parts = [part for cpu in row.each(Scope.CPU) if (part := _left(cpu, together=together)) is not None]
    if whole is None or not parts:
        return None
    left, ticks = whole
    mean = math.fsum(float(part) for part, _ticks in parts) / len(parts)
    if abs(mean - float(left)) <= _SAME * float(ticks):
        return percent(at_least(0.0, left), ticks)
    return percent(math.fsum(max(0.0, float(part)) for part, _ticks in parts),
                   math.fsum(float(own) for _part, own in parts))


def _left(row: Inputs, *, together: bool) -> tuple[float, float] | None:
    """The ticks in none of the other states, and all ticks."""
    read = row.delta if together else row.rate
    ticks = reference_ticks(row, read("tsc"))
    active, c6, *others = [read(state) for state in _STATES_BESIDE_C1]
    if ticks is None or active is None or c6 is None:
        return None
    left = ticks - active - c6
    for name, deeper in zip(_STATES_BESIDE_C1[2:], others, strict=True):  # not every model has these two
        if deeper is not None:
            left -= deeper
        elif row.offers(name):
            return None
    return left, ticks


_HWIDLE = ("idle", "hwidle")
_share = partial(CounterColumn, category=Category.IDLE, groups=_HWIDLE, unit="%", decimals=2, width=6)
_residency = partial(_share, wants=("tsc_tweak",), document=_HARDWARE, scale_max=100.0)


def _core(state: int, scope: Scope) -> CounterColumn:
    signal = f"cstate.core.c{state}"
    return _residency(id=f"CPU%c{state}", scope=scope, needs=(signal, "tsc"), compute=residency_of(signal), priority=4,
                      help=f"Share of the interval that the core spent in hardware state C{state}.")


def _package(state: int) -> CounterColumn:
    signal = f"cstate.pkg.c{state}"
    return _residency(id=f"Pkg%pc{state}" if state < 10 else "Pk%pc10", scope=Scope.PACKAGE, needs=(signal, "tsc"),
                      compute=residency_of(signal), priority=6,
                      help=f"Share of the interval that the whole package spent in state PC{state}.")


def _package_c0(title: str, signal: SignalId, compute: Formula, help_text: str) -> CounterColumn:
    return _share(id=title, scope=Scope.PACKAGE, needs=(signal, "tsc"), wants=("tsc_tweak",), compute=compute,
                  help=help_text, document="Intel SDM vol. 4, MSR 0x658 to 0x65B", priority=7)


def _total_c0(row: Inputs) -> Value:
    """C0 of all CPUs together, not limited to 110 %, because it grows with the number of cores."""
    active, clock = comparable(row, "c0.pkg.total", "tsc")
    ticks = reference_ticks(row, clock)
    return None if active is None or not ticks else 100.0 * active / ticks


def _slept(title: str, signal: SignalId, scope: Scope, *, groups: tuple[str, ...], help_text: str,
           document: str) -> CounterColumn:
    return _share(id=title, groups=groups, scope=scope, needs=(signal,), compute=percent_of_time(signal),
                  help=help_text, document=document, priority=7, scale_max=100.0)


_PMT = "kernel Documentation/ABI/testing/sysfs-class-intel_pmt; Intel PMT XML"
_LPIT = "kernel Documentation/firmware-guide/acpi/lpit.rst"

CORE_COLUMNS = (
    _slept("CPU%c1e", "pmt.module.c1e", Scope.CPU, groups=(),
           help_text="Share of the interval that the CPU's module spent in C1E, by the firmware's telemetry.",
           document=_PMT),
    _core(1, Scope.CPU),
    _residency(id="CPU%c1", scope=Scope.CPU, needs=("tsc", "mperf", "cstate.core.c6"), compute=_derived_c1, priority=4,
               wants=("tsc_tweak", "cstate.core.c3", "cstate.core.c7"),
               help="Share of the interval in C1, derived: the time in no other state. This CPU has no C1 counter."),
    _core(3, Scope.CORE),
    _core(6, Scope.CORE),
    _core(7, Scope.CORE),
    _residency(id="Mod%c6", scope=Scope.MODULE, needs=("cstate.module.c6", "tsc"), priority=7,
               compute=residency_of("cstate.module.c6"),
               help="Share of the interval that the whole module spent in state C6."),
)

PACKAGE_COLUMNS = (
    _package_c0("Totl%C0", "c0.pkg.total", _total_c0,
                "Cores of the package in C0, added up: 100 for each core that never idled."),
    _package_c0("Any%C0", "c0.pkg.any", residency_of("c0.pkg.any"),
                "Share of the interval that at least one core of the package was in C0."),
    _package_c0("GFX%C0", "c0.pkg.gfx", residency_of("c0.pkg.gfx"),
                "Share of the interval that the package's graphics were in C0."),
    _package_c0("CPUGFX%", "c0.pkg.both", residency_of("c0.pkg.both"),
                "Share of the interval that a core and the graphics were in C0 together."),
    *(_package(state) for state in _PACKAGE_STATES),
    _slept("CPU%LPI", "lpi.cpu", Scope.PACKAGE, groups=_HWIDLE,
           help_text="Share of the interval that all CPUs were in low-power idle.", document=_LPIT),
    _slept("SYS%LPI", "lpi.system", Scope.PACKAGE, groups=_HWIDLE,
           help_text="Share of the interval that the whole system was in low-power idle (S0ix).", document=_LPIT),
)

DIE_COLUMNS = (
    _slept("Die%c6", "pmt.die.c6", Scope.PACKAGE, groups=_HWIDLE,
           help_text="Share of the interval that the die was in C6, by the firmware's telemetry.", document=_PMT),
)


def cpuidle_columns(signals: Mapping[SignalId, Signal]) -> tuple[CounterColumn, ...]:
    """Columns of the idle states of this machine's cpuidle driver, from shallow to deep.

    The names are turbostat's: `C6%` is the share of time for which C6 was requested, `C6` how often it was entered,
    `C6+` and `C6-` how often a deeper or a shallower state would have been right. The deepest state has no `+`, the
    shallowest no `-`.
    """
    names: dict[int, str] = {}
    for signal in signals.values():
        parts = signal.id.split(".")
        if len(parts) == 3 and parts[0] == "cpuidle" and parts[2] == "name" and isinstance(signal.constant, str):
            names[int(parts[1])] = signal.constant
    order = sorted(names)
    titles = {state: names[state] if list(names.values()).count(names[state]) == 1 else f"{names[state]}.{state}"
              for state in order}
    counts: list[CounterColumn] = []
    shares: list[CounterColumn] = []
    for state in order:
        title = titles[state]
        if state != order[0]:
            counts.append(_entries(f"{title}-", f"cpuidle.{state}.above",
                                   f"Times {title} was entered and proved too deep: a shallower state fitted."))
        counts.append(_entries(title, f"cpuidle.{state}.usage", f"Times the kernel asked for {title}."))
        if state != order[-1]:
            counts.append(_entries(f"{title}+", f"cpuidle.{state}.below",
                                   f"Times {title} was entered and proved too shallow: a deeper state fitted."))
        counts.append(_entries(f"{title}!", f"cpuidle.{state}.rejected",
                               f"Times the platform refused to enter {title}.", extra=True))
        shares.append(_requested(title, f"cpuidle.{state}.time"))
    return (*counts, *shares, _leaving(order))


def _leaving(states: Sequence[int]) -> CounterColumn:
    """The column of the time that CPUs spend leaving idle states."""
    signals = tuple(tuple(f"cpuidle.{state}.{fact}" for fact in ("usage", "latency", "time")) for state in states)

    def of_cpu(cpu: Inputs) -> float | None:
        values = []
        for usage, latency_of, time in signals:
            rate, latency, spent = cpu.rate(usage), cpu.value(latency_of), cpu.rate(time)
            if rate is None and cpu.offers(usage):
                return None  # a state that was not read may be the one that it left most often
            if rate is not None and latency is not None:
                # a latency is the longest that leaving takes: a CPU that is woken while it enters a state leaves it
                # sooner. The time in a state includes entering and leaving it, so no more than that went into leaving.
                values.append(rate * latency if spent is None else smaller(rate * latency, spent))
        return smaller(100.0, 100.0 * added(values)) if values else None

    def share(row: Inputs) -> Value:
        values = [part for cpu in row.each(Scope.CPU) if (part := of_cpu(cpu)) is not None]
        return added(values) / len(values) if values else None

    return CounterColumn(
        id="IdleExit%", category=Category.IDLE, scope=Scope.CPU, unit="%", decimals=2,
        needs=signals[0][:2] if signals else ("cpuidle.0.usage", "cpuidle.0.latency"),
        wants=tuple(name for names in signals for name in names if name not in signals[0][:2]), compute=share,
        help="Share of time that leaving idle states takes at most, by their drivers' latencies and by the "
        "time spent in them: work waits for it. Mean of the CPUs.", document=_CPUIDLE, width=9, priority=8,
        default=False, extra=True, scale_max=100.0,
    )


def _entries(title: str, signal: SignalId, help_text: str, *, extra: bool = False) -> CounterColumn:
    return CounterColumn(id=title, category=Category.IDLE, groups=() if extra else ("cpuidle", "swidle", "sysfs"),
        scope=Scope.CPU, unit="", decimals=0, needs=(signal,), compute=count_of(signal), help=help_text,
        document=_CPUIDLE, width=6, priority=8, default=False, extra=extra)


def _requested(title: str, signal: SignalId) -> CounterColumn:
    return CounterColumn(
        id=f"{title}%", category=Category.IDLE, groups=("pct_idle", "idle", "swidle", "sysfs"), scope=Scope.CPU,
        unit="%", decimals=2, needs=(signal,), compute=hundredfold_of(signal),
        help=f"Share of the interval in {title} as the kernel's idle governor requested it; the hardware may have "
        "chosen another state.", document=_CPUIDLE, width=6, priority=6, scale_max=100.0,
    )
