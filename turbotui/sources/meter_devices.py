"""Devices that report power: their files, the signals made from them, and hwmon's chips."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host
from turbotui.machine.small_files import names_in, text_of
from turbotui.quantities.meters import KINDS, SUSPENDED, meter_signal
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.units import Unit
from turbotui.sources.sysfs_files import Decode, read_line, signed_number, text

HWMON: Final = "/sys/class/hwmon"
AGE: Final = "age"
STATE: Final = "state"
_LABEL, _INTERVAL = "label", "interval"
_SLOT: Final = r"(?m)^PCI_SLOT_NAME=(\S+)$"


@dataclass(frozen=True, slots=True)
class _Quantity:
    """The content of a meter's file: its unit, its behaviour, and the step of its number."""

    unit: Unit
    behavior: Behavior
    scale: float = 1.0


_MICRO: Final = 1e-6
_HOUR: Final = 3600.0
_QUANTITIES: Final = {
    "energy": _Quantity(Unit.JOULE, Behavior.COUNTER, _MICRO),
    "power": _Quantity(Unit.WATT, Behavior.GAUGE, _MICRO),
    "volts": _Quantity(Unit.VOLT, Behavior.GAUGE, _MICRO),
    "amperes": _Quantity(Unit.AMPERE, Behavior.GAUGE, _MICRO),
    "stored": _Quantity(Unit.JOULE, Behavior.GAUGE, _MICRO * _HOUR),
    "full": _Quantity(Unit.JOULE, Behavior.GAUGE, _MICRO * _HOUR),
    "design": _Quantity(Unit.JOULE, Behavior.GAUGE, _MICRO * _HOUR),
    "charge": _Quantity(Unit.COULOMB, Behavior.GAUGE, _MICRO * _HOUR),
    "charge_full": _Quantity(Unit.COULOMB, Behavior.GAUGE, _MICRO * _HOUR),
    "charge_design": _Quantity(Unit.COULOMB, Behavior.GAUGE, _MICRO * _HOUR),
    "capacity": _Quantity(Unit.RATIO, Behavior.GAUGE, 1e-2),
    "cycles": _Quantity(Unit.COUNT, Behavior.GAUGE),
    "status": _Quantity(Unit.TEXT, Behavior.GAUGE),
    "busy": _Quantity(Unit.SECOND, Behavior.COUNTER, _MICRO),
    "clock": _Quantity(Unit.HERTZ, Behavior.GAUGE, 1e6),
    "turns": _Quantity(Unit.COUNT, Behavior.GAUGE),  # a minute, as hwmon reports them
    STATE: _Quantity(Unit.TEXT, Behavior.GAUGE),
    AGE: _Quantity(Unit.SECOND, Behavior.GAUGE, 1e-3),
    _INTERVAL: _Quantity(Unit.SECOND, Behavior.CONSTANT, 1e-3),
    _LABEL: _Quantity(Unit.TEXT, Behavior.CONSTANT),
}
"""By the last word of a signal. hwmon and power_supply count in millionths (sysfs-interface.rst, sysfs-class-power)."""
COUNTERS: Final = frozenset(word for word, what in _QUANTITIES.items() if what.behavior is Behavior.COUNTER)
"""Quantities of which only the increase matters; an old reading would look like no increase."""


@dataclass(frozen=True, slots=True)
class MeterFile:
    """One file of a device, and its quantity."""

    quantity: str
    path: str
    decode: Decode = signed_number


@dataclass(frozen=True, slots=True)
class MeterDevice:
    """A device that reports power."""

    kind: str  # word of `quantities.meters.KINDS`
    label: str  # its name, made visible
    files: tuple[MeterFile, ...]
    status: str = ""  # power/runtime_status of a device that a reading would wake; "" if a reading wakes nothing
    # whether it may be behind a slow bus; it is then read on a thread of its own, and the reading's age is shown
    slow: bool = False
    # whether it updates its numbers only now and then; its age is then the time since they changed
    settles: bool = False
    interval_ms: int | None = None  # averaging time; None if it does not average or does not say

    def signals(self, position: int) -> dict[SignalId, Signal]:
        """Signals of the device, given its index among devices of its kind."""
        document = KINDS[self.kind].document
        origins = {file.quantity: file.path for file in self.files}
        if self.status:
            origins[STATE] = self.status
        if self.slow:
            origins[AGE] = f"clock of turbotui, {self.label}"
        constants: dict[str, Raw] = {_LABEL: self.label}
        if self.interval_ms is not None:
            constants[_INTERVAL] = self.interval_ms
        signals: dict[SignalId, Signal] = {}
        for word in (*origins, *constants):
            what, name = _QUANTITIES[word], meter_signal(self.kind, position, word)
            signals[name] = Signal(name, Scope.SYSTEM, what.unit, what.behavior,
                Reduce.SUM if what.unit in {Unit.JOULE, Unit.WATT} else Reduce.MEAN,
                origin=origins.get(word, self.label), document=document, scale=what.scale, constant=constants.get(word))
        return signals


@dataclass(frozen=True, slots=True)
class HwmonChip:
    """A directory of hwmon."""

    name: str  # its driver's name for it
    directory: str  # with its attributes: below hwmonN, or hwmonN/device where old drivers put them
    files: frozenset[str]  # the names in there
    slot: str  # the PCI address of its device; "" for none
    status: str  # power/runtime_status of its device, if that can suspend; otherwise ""

    def path(self, file: str) -> str:
        """The path of one of its files."""
        return f"{self.directory}/{file}"


def hwmon_chips(host: Host) -> tuple[HwmonChip, ...]:
    """All chips, in the order of their numbers; sensors are not read."""
    chips = []
    for entry in sorted(names_in(host, HWMON), key=lambda name: (len(name), name)):
        base = f"{HWMON}/{entry}"
        here, device = frozenset(names_in(host, base)), frozenset(names_in(host, f"{base}/device"))
        name = read_line(host, f"{base}/name") or read_line(host, f"{base}/device/name")
        if name is None:
            continue
        slot = re.search(_SLOT, text_of(host, f"{base}/device/uevent")) if "uevent" in device else None
        # Attributes stand where `name` does, but for drivers of before Linux 3.13 and the ACPI power meter.
        with_device = not any(re.match(r"(?:power|energy|fan|temp|in|curr)\d", file) for file in here)
        chips.append(HwmonChip(
            name, f"{base}/device" if with_device else base, device if with_device else here,
            slot[1] if slot else "", _status(host, f"{base}/device") if slot else ""))
    return tuple(chips)


def is_suspended(host: Host, status: str) -> bool:
    """Whether the device behind a power/runtime_status is asleep, so that a reading would wake it."""
    return bool(status) and (read_line(host, status) or "") in SUSPENDED


def runtime_status(host: Host, device: str) -> str:
    """The path of a device's power/runtime_status; "" if it cannot suspend (runtime_pm.rst: "unsupported")."""
    return _status(host, device)


def word(data: bytes) -> str | None:
    """A word of a status file."""
    return text(data)


def magnitude(data: bytes) -> int | None:
    """A number without its sign, because drivers disagree about a battery's current; `status` gives the direction."""
    value = signed_number(data)
    return None if value is None else abs(value)


def ordered(chips: Sequence[HwmonChip]) -> list[HwmonChip]:
    """Chips by the addresses of their devices, which are stable, unlike the numbers of hwmon directories."""
    return sorted(chips, key=lambda chip: (not chip.slot, chip.slot))


def _status(host: Host, device: str) -> str:
    path = f"{device}/power/runtime_status"
    return path if read_line(host, path) not in {None, "unsupported"} else ""

