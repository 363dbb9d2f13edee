"""Cooling: the kernel's thermal zones, and the devices by which it cools them: fans, and processors that it slows down.

Files: kernel Documentation/ABI/testing/sysfs-class-thermal; trips and states: Documentation/driver-api/thermal/
sysfs-api.rst.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import line_of, names_in
from turbotui.quantities.columns import PERCENT, Thresholds, Value
from turbotui.quantities.plain_numbers import integer_or_none, whole_number
from turbotui.quantities.row_kinds import Form, Quantity, QuantityId, RowKind
from turbotui.quantities.signals import Behavior, Reduce
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sampling.row_tables import KindDefinition, KindRow, RowColumn
from turbotui.sampling.rows import Columns, Row, RowSlot
from turbotui.sources.unreadable import names_of_class, proc_unreadable

CLASS: Final = "/sys/class/thermal"
_ABI: Final = "kernel Documentation/ABI/testing/sysfs-class-thermal"
_ZONE: Final = "thermal_zone"
_DEVICE: Final = "cooling_device"
_NO_TRIP: Final = -40_000  # m°C; what is not above this is a trip that is off (0 K, or THERMAL_TEMP_INVALID)
_MOST: Final = 1_000_000  # m°C, and states of a device
_UNUSED: Final = -1
"""State of intel_powerclamp while it injects no idle time (Documentation/admin-guide/thermal/intel_powerclamp.rst)."""
_Number: TypeAlias = "float | Unavailable"

KIND: Final = RowKind("cooling", "thermal zones and cooling devices", most=1024)


def _gauge(name: QuantityId, unit: Unit, files: str) -> Quantity:
    return Quantity(name, KIND.id, unit, Behavior.GAUGE, Reduce.NONE, f"{CLASS}/{{row}}: {files}", _ABI,
                    form=Form.TEXT if unit is Unit.TEXT else Form.DOUBLE)


QUANTITIES: Final = (
    _gauge("type", Unit.TEXT, "type"),
    _gauge("temperature", Unit.CELSIUS, "temp"),
    _gauge("passive", Unit.CELSIUS, "the lowest trip_point_*_temp whose trip_point_*_type is passive"),
    _gauge("critical", Unit.CELSIUS, "the lowest trip_point_*_temp whose trip_point_*_type is critical"),
    _gauge("policy", Unit.TEXT, "policy"),
    _gauge("state", Unit.COUNT, "cur_state"),
    _gauge("most", Unit.COUNT, "max_state"),
)
_OF_ZONES: Final = Unavailable(Reason.NO_HARDWARE, "thermal zones have it, cooling devices do not")
_OF_DEVICES: Final = Unavailable(Reason.NO_HARDWARE, "cooling devices have it, thermal zones do not")


class CoolingReader:
    """Reads temperatures and states at every tick; types, trips and policies, which people set, at every fifth."""

    def __init__(self, machine: Machine) -> None:
        self._host = machine.host
        self._none = Unavailable(Reason.VIRTUALISED if machine.model.hypervisor else Reason.NO_HARDWARE,
                                 f"{CLASS} has neither a thermal zone nor a cooling device")
        self._rows: dict[str, RowSlot] = {}
        self._had_any = False

    def read(self, into: Columns) -> Unavailable | None:
        """Put the zones and devices that are there."""
        if isinstance(names := names_of_class(self._host, CLASS), Unavailable):
            return names
        numbered = {name: (word, number) for name in names for word in (_ZONE, _DEVICE)
                    if name.startswith(word) and (number := whole_number(name.removeprefix(word))) is not None}
        for name in self._rows.keys() - numbered.keys():
            into.death(self._rows.pop(name))
        for name in sorted(numbered, key=lambda name: (numbered[name][0] != _ZONE, numbered[name][1])):
            slot = self._rows.get(name)
            if slot is None:
                if (slot := into.birth(Row(name, name=name))) is None:
                    continue
                self._rows[name] = slot
            if into.due(slot):  # another driver's zone or device may have the number of one that went
                into.put(slot, "type", self._text(name, "type"))
            values = self._zone(name, slot, into) if numbered[name][0] == _ZONE else self._device(name)
            for quantity, value in values.items():
                into.put(slot, quantity, value)
            into.read_at((slot,), self._host.now_ns())
        self._had_any |= bool(self._rows)
        return None if self._had_any else self._none

    def close(self) -> None:
        """Nothing is open between two ticks."""

    def _zone(self, name: str, slot: RowSlot, into: Columns) -> dict[QuantityId, str | _Number]:
        values: dict[QuantityId, str | _Number] = {"temperature": self._degrees(f"{name}/temp"), "state": _OF_DEVICES,
                                                   "most": _OF_DEVICES}
        if into.due(slot):
            trips = self._trips(name)
            values |= {kind: trips.get(kind, Unavailable(Reason.NOT_SET, f"the zone has no {kind} trip"))
                       for kind in ("passive", "critical")}
            values["policy"] = self._text(name, "policy")
        return values

    def _device(self, name: str) -> dict[QuantityId, str | _Number]:
        state = self._number(f"{name}/cur_state", least=_UNUSED)
        if state == _UNUSED:
            state = 0.0
        most = self._number(f"{name}/max_state")
        if not isinstance(state, Unavailable) and not isinstance(most, Unavailable) and state > most:
            state = Unavailable(Reason.OUT_OF_RANGE,
                                f"{CLASS}/{name}/cur_state: {state:.0f} is above max_state, {most:.0f}")
        return {"state": state, "most": most,
                **dict.fromkeys(("temperature", "passive", "critical", "policy"), _OF_ZONES)}

    def _trips(self, name: str) -> dict[str, _Number]:
        """The lowest temperature of each kind of trip; why it is not known where one of them cannot be read."""
        lowest: dict[str, _Number] = {}
        for file in names_in(self._host, f"{CLASS}/{name}"):
            if file.startswith("trip_point_") and file.endswith("_type"):
                kind = self._text(name, file)
                if isinstance(kind, Unavailable):  # it may be a trip of either kind
                    return {"passive": kind, "critical": kind}
                degrees = self._degrees(f"{name}/{file.removesuffix('type')}temp")
                known = lowest.get(kind, degrees)
                if isinstance(degrees, Unavailable) or isinstance(known, Unavailable):
                    lowest[kind] = known if isinstance(known, Unavailable) else degrees
                elif degrees * 1000 > _NO_TRIP:
                    lowest[kind] = min(degrees, known)
        return lowest

    def _text(self, name: str, file: str) -> str | Unavailable:
        return line_of(self._host, f"{CLASS}/{name}/{file}") or Unavailable(
            Reason.NO_DRIVER, f"{CLASS}/{name}/{file} says nothing")

    def _degrees(self, file: str) -> _Number:
        number = self._number(file, least=-300_000)
        return number if isinstance(number, Unavailable) else number / 1000

    def _number(self, file: str, least: int = 0) -> _Number:
        try:
            text = self._host.read_text(path := f"{CLASS}/{file}")
        except HostError as error:
            return proc_unreadable(error, self._host)
        number = integer_or_none(text.strip())
        if number is None or not least <= number <= _MOST:
            return Unavailable(Reason.OUT_OF_RANGE, f"{path}: {text.strip()[:40]!r} cannot be")
        return float(number)


class CoolingSource:
    """The `RowSource` of zones and devices."""

    kind = KIND
    quantities = QUANTITIES

    def open(self, machine: Machine) -> CoolingReader:
        """Open nothing: zones and devices come and go with drivers."""
        return CoolingReader(machine)


def gathers(machine: Machine) -> None:
    """Read whatever a copy of the machine needs."""
    CoolingReader(machine).read(Columns(KIND, QUANTITIES))


def _cooled(row: KindRow) -> Value:
    state, most = row.value("state"), row.value("most")
    return None if state is None or not most else 100 * state / most


def _one_state(_row: KindRow) -> str:
    return "the device has one state, 0: it cannot cool"


def _room(row: KindRow) -> Value:
    passive, now = row.value("passive"), row.value("temperature")
    return None if passive is None or now is None else passive - now


def _column(name: str, unit: str, decimals: int, needs: tuple[QuantityId, ...], words: str, *,
            compute: Callable[[KindRow], Value] | None = None, width: int = 8, shown: bool = True,
            thresholds: Thresholds | None = None, doubt: Callable[[KindRow], str] | None = None) -> RowColumn:
    plain: Callable[[KindRow], Value] = (lambda row: row.text(needs[0])) if decimals < 0 else (
        lambda row: row.value(needs[0]))
    return RowColumn(name, unit, decimals, needs, compute or plain, help=words, document=_ABI, width=width,
                     default=shown, thresholds=thresholds, scale=PERCENT if unit == "%" else None, doubt=doubt)


COLUMNS: Final[tuple[RowColumn, ...]] = (
    RowColumn("Name", "", -1, (), lambda row: row.row.name, width=18, identity=True, priority=0,
              help="a thermal zone, whose temperature the kernel keeps, or a device by which it does"),
    RowColumn("Type", "", -1, ("type",), lambda row: row.text("type"), width=18, identity=True, priority=1,
              help="what the zone measures (x86_pkg_temp: the package, acpitz: the firmware's), or what the device "
              "does: Processor and intel_powerclamp slow CPUs down, Fan turns faster"),
    _column("Temp", "°C", 1, ("temperature",), "the zone's temperature"),
    _column("Room", "°C", 1, ("passive", "temperature"), "degrees left until the kernel slows devices down for the "
            "zone: its lowest passive trip, less its temperature", compute=_room,
            thresholds=Thresholds(5.0, 0.0, low=True)),
    _column("Passive", "°C", 1, ("passive",), "the temperature from which the kernel slows devices down", shown=False),
    _column("Critical", "°C", 1, ("critical",), "the temperature at which the kernel switches the machine off"),
    _column("Cooling%", "%", 1, ("state", "most"), "how much the device cools: 0 not at all, and 100 as much as it "
            "can, which slows a processor down the most", compute=_cooled, doubt=_one_state),
    _column("State", "", 0, ("state",), "the device's cooling state; 0 for none"),
    _column("States", "", 0, ("most",), "the device's strongest cooling state"),
    _column("Policy", "", -1, ("policy",), "the governor that chooses the states of the zone's devices", width=14,
            shown=False),
)

COOLING: Final = KindDefinition(CoolingSource(), COLUMNS, sort="")
