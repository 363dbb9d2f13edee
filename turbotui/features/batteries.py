"""Batteries: of the machine, of supplies that bridge a power cut, and of peripherals such as a mouse.

Files: kernel Documentation/ABI/testing/sysfs-class-power; times left: Documentation/power/power_supply_class.rst. A
battery counts energy, or charge and voltage. Firmware updates its numbers now and then: `age` says how long ago.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import line_of, names_in
from turbotui.quantities.columns import PERCENT, Thresholds, Value
from turbotui.quantities.plain_numbers import integer_or_none
from turbotui.quantities.row_kinds import Form, Quantity, QuantityId, RowKind
from turbotui.quantities.signals import Behavior, Reduce
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sampling.row_tables import KindDefinition, KindRow, RowColumn
from turbotui.sampling.rows import Columns, Row, RowSlot
from turbotui.sources.batteries import CLASS, PERIPHERAL, supply_kind
from turbotui.sources.unreadable import names_of_class, proc_unreadable

_ABI: Final = "kernel Documentation/ABI/testing/sysfs-class-power"
_HOUR: Final = 3600
_MOST_SHARE: Final = 110  # %; drivers report a little more than full
_Number: TypeAlias = "float | Unavailable"

KIND: Final = RowKind("batteries", "batteries", most=256)


def _gauge(name: QuantityId, unit: Unit, files: str) -> Quantity:
    return Quantity(name, KIND.id, unit, Behavior.GAUGE, Reduce.NONE, f"{CLASS}/{{row}}: {files}", _ABI,
                    form=Form.TEXT if unit is Unit.TEXT else Form.DOUBLE)


QUANTITIES: Final = (
    _gauge("charge", Unit.RATIO, "energy_now / energy_full, or charge_now / charge_full, or capacity"),
    _gauge("power", Unit.WATT, "power_now, or voltage_now x current_now; status has the sign"),
    _gauge("left", Unit.SECOND, "energy and power, or charge and current_now, or time_to_empty_now, time_to_full_now"),
    _gauge("stored", Unit.JOULE, "energy_now"),
    _gauge("full", Unit.JOULE, "energy_full"),
    _gauge("design", Unit.JOULE, "energy_full_design"),
    _gauge("coulombs", Unit.COULOMB, "charge_now"),
    _gauge("health", Unit.RATIO, "energy_full / energy_full_design, or charge_full / charge_full_design"),
    _gauge("volts", Unit.VOLT, "voltage_now"),
    _gauge("cycles", Unit.COUNT, "cycle_count"),
    _gauge("age", Unit.SECOND, "the time since turbotui saw its numbers change"),
    _gauge("type", Unit.TEXT, "type, scope"),
    _gauge("status", Unit.TEXT, "status"),
    _gauge("level", Unit.TEXT, "capacity_level"),
    _gauge("device", Unit.TEXT, "manufacturer, model_name"),
)
_IDLE: Final[_Number] = Unavailable(Reason.NOT_SET, "the battery is neither charged nor discharged")
_UNCOUNTED: Final = Unavailable(Reason.NO_DRIVER, "the driver has no energy_now, charge_now or capacity")
_UNSIGNED: Final = Unavailable(Reason.NO_DRIVER, "the status does not say whether the battery gives power or takes it")


@dataclass(slots=True)
class _Battery:
    """A row, and what was last read of it."""

    slot: RowSlot
    numbers: Mapping[str, _Number]
    changed_ns: int


def _with(compute: Callable[..., float], *numbers: _Number) -> _Number:
    """A number of others; the reason of the first that is missing."""
    missing = next((number for number in numbers if isinstance(number, Unavailable)), None)
    if missing is not None:
        return missing
    try:
        return compute(*numbers)
    except ZeroDivisionError:
        return Unavailable(Reason.OUT_OF_RANGE, "the driver reports 0 for what this is divided by")


def _first(*numbers: _Number) -> _Number:
    """The first that is known; else the first reason, a file that cannot be read before one that is not there."""
    missing: list[Unavailable] = []
    for number in numbers:
        if not isinstance(number, Unavailable):
            return number
        missing.append(number)
    return next((why for why in missing if why.reason is not Reason.NO_DRIVER), missing[0])


def _share(part: float, whole: float) -> float:
    return part / whole


class BatteryReader:
    """Reads every battery at each tick; those of peripherals, which are asked by radio, at every fifth."""

    def __init__(self, machine: Machine) -> None:
        self._host = machine.host
        self._none = Unavailable(Reason.VIRTUALISED if machine.model.hypervisor else Reason.NO_HARDWARE,
                                 f"{CLASS} has no battery")
        self._rows: dict[str, _Battery] = {}
        self._had_any = False

    def read(self, into: Columns) -> Unavailable | None:
        """Put the batteries that are there."""
        if isinstance(names := names_of_class(self._host, CLASS), Unavailable):
            return names
        kinds = {name: kind for name in names if (kind := supply_kind(self._host, f"{CLASS}/{name}"))}
        for name in self._rows.keys() - kinds.keys():
            into.death(self._rows.pop(name).slot)
        for name, kind in kinds.items():
            battery = self._rows.get(name)
            if battery is None:
                if (slot := into.birth(Row(name, name=name))) is None:
                    continue
                battery = self._rows[name] = _Battery(slot, {}, 0)
            elif kind == PERIPHERAL and not into.due(battery.slot):
                continue
            into.put(battery.slot, "type", kind)
            self._read(f"{CLASS}/{name}", battery, into)
        self._had_any |= bool(self._rows)
        return None if self._had_any else self._none

    def close(self) -> None:
        """Nothing is open between two ticks."""

    def _read(self, directory: str, battery: _Battery, into: Columns) -> None:
        at_ns, host = self._host.now_ns(), self._host
        numbers = dict(self._numbers(directory, frozenset(names_in(host, directory))))
        texts = {file: line_of(host, f"{directory}/{file}") for file in _TEXTS}
        if numbers != battery.numbers:
            battery.numbers, battery.changed_ns = numbers, at_ns
        values = _computed(numbers, texts["status"])
        values["age"] = (at_ns - battery.changed_ns) * 1e-9
        for quantity, value in values.items():
            into.put(battery.slot, quantity, value)
        device = " ".join(filter(None, (texts["manufacturer"], texts["model_name"])))
        for quantity, text, file in (("status", texts["status"], "status"), ("device", device, "model_name"),
                                     ("level", texts["capacity_level"], "capacity_level")):
            into.put(battery.slot, quantity, text or Unavailable(Reason.NO_DRIVER, f"the driver has no {file}"))
        into.read_at((battery.slot,), at_ns)

    def _numbers(self, directory: str, files: frozenset[str]) -> Iterator[tuple[str, _Number]]:
        """The numbers of files, in units without a prefix."""
        for file, (times, divided) in _FILES.items():
            if file not in files:
                counted, _, rest = file.partition("_")
                other = _OTHER.get(counted, "")
                yield file, Unavailable(Reason.NO_DRIVER, f"the driver has no {file}" if f"{other}_{rest}" not in files
                                        else f"the driver counts {other} in place of {counted}")
                continue
            try:
                text = self._host.read_text(path := f"{directory}/{file}")
            except HostError as error:
                yield file, proc_unreadable(error, self._host)
                continue
            number = integer_or_none(text.strip())
            # which way a current is negative differs from driver to driver: the direction is that of the status
            number = abs(number) if number is not None and file in _SIGNED else number
            if number is None or number < 0 or (file == "capacity" and number > _MOST_SHARE):
                yield file, Unavailable(Reason.OUT_OF_RANGE, f"{path}: {text.strip()[:40]!r} cannot be")
            else:
                yield file, number * times / divided


_TEXTS: Final = ("status", "capacity_level", "manufacturer", "model_name")
_SIGNED: Final = frozenset({"power_now", "current_now"})
_FILES: Final = {
    **dict.fromkeys((f"{what}_{of}" for what in ("energy", "charge") for of in ("now", "full", "full_design")),
                    (_HOUR, 1e6)),
    **dict.fromkeys(("power_now", "voltage_now", "current_now"), (1, 1e6)),
    **dict.fromkeys(("cycle_count", "time_to_empty_now", "time_to_full_now"), (1, 1.0)),
    "capacity": (1, 100.0),
}
"""Files of numbers, with the factor and the divisor that make SI units of them."""
_OTHER: Final = {"energy": "charge", "charge": "energy"}


def _computed(numbers: Mapping[str, _Number], status: str) -> dict[QuantityId, _Number]:
    """The quantities of a battery."""
    flow = _first(numbers["power_now"], _with(lambda volts, amperes: volts * amperes, numbers["voltage_now"],
                                              numbers["current_now"]))
    sign = {"Discharging": 1.0, "Charging": -1.0, "Full": 0.0, "Not charging": 0.0}.get(status)
    counted = [_share_of(numbers, prefix) for prefix in ("energy", "charge")]
    charge, left = _first(*(now for now, _health in counted), numbers["capacity"]), _IDLE
    if status == "Discharging":
        left = _first(_with(_share, numbers["energy_now"], flow),
                      _with(_share, numbers["charge_now"], numbers["current_now"]), numbers["time_to_empty_now"])
    elif status == "Charging":
        left = _first(*(_with(lambda now, full, rate: max(0.0, full - now) / rate, numbers[f"{prefix}_now"],
                              numbers[f"{prefix}_full"], rate)
                        for prefix, rate in (("energy", flow), ("charge", numbers["current_now"]))),
                      numbers["time_to_full_now"])
    return {
        "charge": _UNCOUNTED if isinstance(charge, Unavailable) and charge.reason is Reason.NO_DRIVER else charge,
        "health": _first(*(health for _now, health in counted)),
        "power": _UNSIGNED if sign is None else _with(lambda watts: sign * watts, flow),
        "left": left,
        "stored": numbers["energy_now"],
        "full": numbers["energy_full"],
        "design": numbers["energy_full_design"],
        "coulombs": numbers["charge_now"],
        "volts": numbers["voltage_now"],
        "cycles": numbers["cycle_count"],
    }


def _share_of(numbers: Mapping[str, _Number], prefix: str) -> tuple[_Number, _Number]:
    """What a battery holds as a share of full, and full as a share of its design, both by energy or both by charge."""
    full = numbers[f"{prefix}_full"]
    return _with(_share, numbers[f"{prefix}_now"], full), _with(_share, full, numbers[f"{prefix}_full_design"])


class BatterySource:
    """The `RowSource` of batteries."""

    kind = KIND
    quantities = QUANTITIES

    def open(self, machine: Machine) -> BatteryReader:
        """Open nothing: batteries come and go."""
        return BatteryReader(machine)


def gathers(machine: Machine) -> None:
    """Read whatever a copy of the machine needs."""
    BatteryReader(machine).read(Columns(KIND, QUANTITIES))


def _value(name: QuantityId, factor: float = 1.0) -> Callable[[KindRow], Value]:
    return lambda row: None if (value := row.value(name)) is None else value * factor


def _column(name: str, unit: str, decimals: int, quantity: QuantityId, words: str, *, factor: float = 1.0,
            formula: str = "", width: int = 7, shown: bool = True, thresholds: Thresholds | None = None) -> RowColumn:
    text = decimals < 0
    return RowColumn(name, unit, decimals, (quantity,),
                     (lambda row: row.text(quantity)) if text else _value(quantity, factor), formula=formula,
                     help=words, document=_ABI, width=width, default=shown, thresholds=thresholds,
                     scale=PERCENT if unit == "%" else None)


COLUMNS: Final[tuple[RowColumn, ...]] = (
    RowColumn("Battery", "", -1, (), lambda row: row.row.name, width=16, identity=True, priority=0,
              help="name of the battery in the kernel's class power_supply"),
    RowColumn("Type", "", -1, ("type",), lambda row: row.text("type"), width=10, identity=True, priority=1,
              help="battery: it feeds the machine; peripheral: it feeds a mouse, a phone; UPS: it bridges a power cut"),
    _column("State", "", -1, "status", "Charging, Discharging, Full or Not charging", width=12),
    _column("Charge%", "%", 1, "charge", "charge, as a share of what the full battery holds today", factor=100.0,
            thresholds=Thresholds(20.0, 10.0, low=True)),
    _column("Watt", "W", 2, "power", "power that the battery gives; negative while it is charged"),
    _column("Left", "h", 2, "left", "hours until the battery is empty, or full while it is charged, at the power of "
            "now", factor=1 / _HOUR),
    _column("Energy", "Wh", 2, "stored", "energy in the battery", factor=1 / _HOUR),
    _column("Full", "Wh", 2, "full", "energy of the full battery today", factor=1 / _HOUR),
    _column("New", "Wh", 2, "design", "energy of the full battery when it was new", factor=1 / _HOUR, shown=False),
    _column("Charge", "Ah", 3, "coulombs", "charge in the battery, where the driver counts charge and not energy",
            factor=1 / _HOUR, shown=False),
    _column("Health%", "%", 1, "health", "what the full battery holds, as a share of what it held when new",
            factor=100.0, thresholds=Thresholds(80.0, 60.0, low=True)),
    _column("Volt", "V", 2, "volts", "voltage of the battery"),
    _column("Cycles", "", 0, "cycles", "whole cycles of discharging and charging"),
    _column("Age", "s", 0, "age", "how long ago turbotui saw the battery's numbers change", width=4),
    _column("Level", "", -1, "level", "charge in words, where the driver knows no number", width=8),
    _column("Device", "", -1, "device", "maker and model of the battery", width=24),
)

BATTERIES: Final = KindDefinition(BatterySource(), COLUMNS, sort="")
