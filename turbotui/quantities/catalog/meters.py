"""Columns of power meters outside the processor; every device has its own columns, with its number in the ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from turbotui.quantities.catalog.formulas import Formula, hundredfold_of, mega_of, rate_of, text_of, value_of
from turbotui.quantities.columns import PERCENT, Category, CounterColumn, Inputs, Thresholds, Value
from turbotui.quantities.meters import PREFIX, SUSPENDED, PowerMeter, WattPlace, meters_of
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable

_RAPL = frozenset({"PkgWatt", "CorWatt", "GFXWatt", "RAMWatt", "SysWatt"})
_DISCHARGING = "Discharging"
_CHARGING = "Charging"
_HOUR = 3600.0


def power_columns(columns: Iterable[CounterColumn]) -> tuple[CounterColumn, ...]:
    """Columns that show where a machine's power goes: RAPL's domains and meters."""
    return tuple(column for column in columns
                 if column.id in _RAPL or any(need.startswith(PREFIX) for need in column.needs))


def meter_columns(signals: Mapping[SignalId, Signal]) -> tuple[CounterColumn, ...]:
    """The columns of this machine's meters, kind by kind."""
    return tuple(column for meter in meters_of(signals) for column in _columns(meter))


def _columns(meter: PowerMeter) -> tuple[CounterColumn, ...]:
    if meter.kind.id == "battery":
        return _battery(meter)
    if meter.kind.id == "npu":
        return _npu(meter)
    if meter.kind.id == "fan":
        return (_column(meter, "RPM", "rpm", ("turns",), value_of(meter.signal("turns")), decimals=0, width=5,
                        words=f"Revolutions a minute of {meter.label}."),)
    has_watts = meter.kind.place is not WattPlace.NOTHING and meter.quantities & {"energy", "power"}
    return (_watts(meter),) if has_watts else ()


def _column(meter: PowerMeter, suffix: str, unit: str, needs: tuple[str, ...], compute: Formula, *,
            words: str, decimals: int = 1, width: int = 6, formula: str = "", thresholds: Thresholds | None = None,
            percent: bool = False, wants: tuple[str, ...] = ()) -> CounterColumn:
    state = ("state",) if "state" in meter.quantities else ()
    beside = tuple(meter.signal(word) for word in (*wants, *state) if word in meter.quantities)
    return CounterColumn(
        id=f"{meter.column}{suffix}", category=Category.THERMAL if unit == "rpm" else Category.POWER,
        scope=Scope.SYSTEM, unit=unit, decimals=decimals, needs=tuple(meter.signal(word) for word in needs),
        compute=compute, formula=formula, help=words, document=meter.kind.document, width=width, priority=8,
        default=False, extra=True, whole_only=True, thresholds=thresholds, scale=PERCENT if percent else None,
        wants=beside, refusal=_asleep(meter) if state else None,
    )


def _asleep(meter: PowerMeter) -> Callable[[Inputs], Unavailable | None]:
    """The reason why a sleeping device is not read."""
    state = meter.signal("state")

    def refusal(row: Inputs) -> Unavailable | None:
        word = row.text(state)
        return None if word not in SUSPENDED else Unavailable(
            Reason.ASLEEP, f"{meter.label} is {word} (power/runtime_status): reading it would wake it")

    return refusal


def _watts(meter: PowerMeter) -> CounterColumn:
    averaged = "" if meter.interval is None else f", averaged over {meter.interval:g} s"
    words = f"Power of {meter.kind.words} {meter.label}{averaged}. {meter.kind.note}"
    energy, power = meter.signal("energy"), meter.signal("power")
    if "energy" not in meter.quantities:
        return _column(meter, "Watt", "W", ("power",), value_of(power), words=words, decimals=2, width=7,
                       wants=("age",))
    if "power" not in meter.quantities:
        return _column(meter, "Watt", "W", ("energy",), rate_of(energy), words=words, decimals=2, width=7)

    def best(row: Inputs) -> Value:
        counted = row.rate(energy)
        return row.value(power) if counted is None else counted

    return _column(meter, "Watt", "W", ("power",), best, words=words, decimals=2, width=7, wants=("energy", "age"))


def _npu(meter: PowerMeter) -> tuple[CounterColumn, ...]:
    columns = []
    if "busy" in meter.quantities:
        columns.append(_column(meter, "%", "%", ("busy",), hundredfold_of(meter.signal("busy")), percent=True,
                               words=f"Share of the interval in which {meter.label} had work."))
    if "clock" in meter.quantities:
        columns.append(_column(meter, "MHz", "MHz", ("clock",), mega_of(meter.signal("clock")), decimals=0,
                               width=5, words=f"Clock of {meter.label}; 0 while it sleeps.",
                               formula="frequency at the end of the interval"))
    return tuple(columns)


# Batteries


def _battery(meter: PowerMeter) -> tuple[CounterColumn, ...]:
    has = meter.quantities
    columns = []
    power: tuple[str, ...] = ("power",) if "power" in has else ("volts", "amperes")
    if set(power) <= has and "status" in has:
        columns.append(_column(
            meter, "Watt", "W", ("status", *power), _discharge(meter), decimals=2, width=7, wants=("age",),
            formula="power_now, or voltage_now x current_now; negative while status is Charging",
            words=f"Power that {meter.label} gives; negative while it is charged. {meter.kind.note}"))
    charge = ("stored", "full") if {"stored", "full"} <= has else ("charge", "charge_full")
    worn = ("full", "design") if {"full", "design"} <= has else ("charge_full", "charge_design")
    if set(charge) <= has:
        columns.append(_column(meter, "%", "%", charge, _part(meter, *charge),
                               words=f"Charge of {meter.label}, of what it holds today when it is full.",
                               thresholds=Thresholds(20.0, 10.0, low=True)))
    elif "capacity" in has:
        signal = meter.signal("capacity")
        columns.append(_column(
            meter, "%", "%", ("capacity",), lambda row: None if (share := row.value(signal)) is None else share * 100.0,
            words=f"Charge of {meter.label}, as its firmware says.", thresholds=Thresholds(20.0, 10.0, low=True)))
    flow = power if "stored" in charge else ("amperes",)
    if "status" in has and {*charge, *flow} <= has:
        columns.append(_column(meter, "Left", "h", ("status", *charge, *flow), _left(meter, charge, flow), decimals=2,
                               width=5,
                               words="Hours until the battery is empty at this rate, or full while it is charged."))
    if set(worn) <= has:
        columns.append(_column(meter, "Health%", "%", worn, _part(meter, *worn), width=5,
                               words="What the battery holds when it is full, of what it held when it was new.",
                               thresholds=Thresholds(80.0, 60.0, low=True)))
    if "cycles" in has:
        columns.append(_column(meter, "Cycles", "", ("cycles",), value_of(meter.signal("cycles")), decimals=0, width=5,
                               words="Whole cycles of discharging and charging so far."))
    if "status" in has:
        status = meter.signal("status")
        columns.append(_column(meter, "State", "", ("status",), text_of(status), decimals=-1, width=12,
                               words="What the battery does: Charging, Discharging, Full or Not charging."))
    columns.append(_column(meter, "Age", "s", ("age",), value_of(meter.signal("age")), decimals=0, width=4,
                           words="How long ago turbotui saw the battery's numbers change; its firmware updates them "
                           "now and then only."))
    return tuple(columns)


def _flow(meter: PowerMeter, row: Inputs) -> float | None:
    """Watts regardless of their direction."""
    if "power" in meter.quantities:
        return row.value(meter.signal("power"))
    volts, amperes = row.value(meter.signal("volts")), row.value(meter.signal("amperes"))
    return None if volts is None or amperes is None else volts * amperes


def _discharge(meter: PowerMeter) -> Formula:
    status = meter.signal("status")

    def compute(row: Inputs) -> Value:
        watts, status_text = _flow(meter, row), row.text(status)
        if watts is None or status_text is None:
            return None
        return watts * -1.0 if status_text == _CHARGING else watts if status_text == _DISCHARGING else watts * 0.0

    return compute


def _part(meter: PowerMeter, part: str, whole: str) -> Formula:
    part_signal, all_of_it = meter.signal(part), meter.signal(whole)

    def compute(row: Inputs) -> Value:
        have, full = row.value(part_signal), row.value(all_of_it)
        return None if have is None or not full else 100.0 * have / full

    return compute


def _left(meter: PowerMeter, charge: tuple[str, ...], flow: tuple[str, ...]) -> Formula:
    status, have, full = meter.signal("status"), meter.signal(charge[0]), meter.signal(charge[1])

    def compute(row: Inputs) -> Value:
        stored, most, status_text = row.value(have), row.value(full), row.text(status)
        rate = row.value(meter.signal("amperes")) if flow == ("amperes",) else _flow(meter, row)
        if stored is None or most is None or not rate:
            return None
        return {_DISCHARGING: stored / rate / _HOUR, _CHARGING: (most - stored) / rate / _HOUR}.get(status_text or "")

    return compute
