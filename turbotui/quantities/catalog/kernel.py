"""Columns of the kernel's accounting, which turbostat does not have: CPU time, switches, migrations, faults."""

from __future__ import annotations

from turbotui.quantities.catalog.formulas import Formula, percent, rate_of, total_of
from turbotui.quantities.columns import PERCENT, Category, CounterColumn, Inputs, Scale, Thresholds, Value
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId
from turbotui.quantities.traced import at_least

_DOCUMENT = "proc_stat(5)"
_WHOLE, _BOOKED = "stat.whole", "stat.booked"
_PERF_DOCUMENT = "perf_event_open(2), software events"

# user already contains guest time, and nice contains guest_nice (proc_stat(5)): do not add them again
_OPTIONAL = ("stat.irq", "stat.softirq", "stat.steal", "stat.guest", "stat.guest_nice", _BOOKED)
_NEEDS = ("stat.user", "stat.nice", "stat.system", "stat.idle", "stat.iowait", _WHOLE)


def _stat(*names: str) -> tuple[SignalId, ...]:
    return tuple(f"stat.{name}" for name in names)


def _share(*names: str, less: tuple[str, ...] = ()) -> Formula:
    parts, others = _stat(*names), _stat(*less)

    def compute(row: Inputs) -> Value:
        part, other = total_of(row, *parts), total_of(row, *others)
        if part is None:
            return None
        return percent(part if other is None else at_least(0.0, part - other), row.delta(_WHOLE))

    return compute


def _unbooked(row: Inputs) -> Value:
    whole, booked = row.delta(_WHOLE), row.delta(_BOOKED)
    return None if whole is None or booked is None else percent(at_least(0.0, whole - booked), whole)


def _time(title: str, compute: Formula, help_text: str, *, default: bool = True,
          priority: int = 6, needs: tuple[str, ...] = _NEEDS, thresholds: Thresholds | None = None,
          scale: Scale | None = None) -> CounterColumn:
    return CounterColumn(
        id=title, category=Category.KERNEL, scope=Scope.CPU, unit="%", decimals=1, needs=needs,
        wants=tuple(name for name in _OPTIONAL if name not in needs), compute=compute, help=help_text,
        document=_DOCUMENT, width=5, priority=priority, default=default, extra=True, scale_max=100.0,
        thresholds=thresholds, scale=scale,
    )


def _rate(title: str, signal: str, help_text: str, *, default: bool = True) -> CounterColumn:
    return CounterColumn(id=title, category=Category.KERNEL, scope=Scope.CPU, unit="/s", decimals=0, needs=(signal,),
        compute=rate_of(signal), help=help_text, document=_PERF_DOCUMENT, width=7, priority=6, default=default,
        extra=True)


COLUMNS = (
    _time("Load%", _share("user", "nice", "system", "irq", "softirq", "steal"),
          "Share of time not idle as the kernel accounts it, in steps of 10 ms. Works everywhere; Busy% is the "
          "hardware's own count.", priority=1, scale=PERCENT),
    _time("user%", _share("user", "nice", less=("guest", "guest_nice")),
          "Time in user programs, guests of virtual machines left out."),
    _time("sys%", _share("system"), "Time in the kernel, interrupts left out.", scale=PERCENT),
    _time("irq%", _share("irq", "softirq"),
          "Time in hard and soft interrupts.", needs=(*_NEEDS, "stat.irq", "stat.softirq"), scale=PERCENT),
    _time("hardirq%", _share("irq"),
          "Time in hard interrupts alone.", default=False, needs=(*_NEEDS, "stat.irq"),
          scale=PERCENT),
    _time("softirq%", _share("softirq"),
          "Time in soft interrupts alone: network, timers, block devices.", default=False,
          needs=(*_NEEDS, "stat.softirq"), scale=PERCENT),
    _time("iowait%", _share("iowait"),
          "Idle while a task of this CPU waited for a disk. A hint, not a measurement: the kernel says so itself.",
          scale=PERCENT),
    _time("steal%", _share("steal"),
          "Time that the hypervisor gave to others while this CPU wanted to run.", needs=(*_NEEDS, "stat.steal"),
          thresholds=Thresholds(5.0, 20.0), scale=PERCENT),
    _time("guest%", _share("guest", "guest_nice"),
          "Time running virtual machines' CPUs.", default=False, needs=(*_NEEDS, "stat.guest")),
    _time("unbooked%", _unbooked,
          "Time that the kernel counted in no state, beyond what its ticks of 10 ms explain: the hypervisor ran others "
          "and does not report steal time, the CPU runs without ticks (nohz_full), or the machine was suspended. No "
          "other share contains it.",
          default=False, needs=(*_NEEDS, _BOOKED), thresholds=Thresholds(20.0, 50.0), scale=PERCENT),
    _rate("CSW/s", "switches", "Context switches per second."),
    _rate("Migr/s", "migrations", "Tasks per second that moved to this CPU from another."),
    _rate("Fault/s", "faults", "Page faults per second.", default=False),
)
