"""Batteries from the kernel's power_supply class: their output, charge and wear.

Files: kernel Documentation/ABI/testing/sysfs-class-power. Firmware updates the numbers every few seconds to half a
    minute, so their age is shown.
"""

from __future__ import annotations

from typing import Final

from turbotui.machine.host import Host
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import line_of, names_in
from turbotui.quantities.meters import meter_signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.meter_devices import MeterDevice, MeterFile, magnitude, word
from turbotui.sources.meter_source import FoundDevices, MeterSource
from turbotui.sources.sysfs_files import Decode, number

CLASS: Final = "/sys/class/power_supply"
PERIPHERAL: Final = "peripheral"
_POWER: Final = "power_now"
_FILES: Final[tuple[tuple[str, str, Decode], ...]] = (
    ("status", "status", word),
    ("power", _POWER, magnitude),
    ("volts", "voltage_now", magnitude),
    ("amperes", "current_now", magnitude),
    ("stored", "energy_now", number),
    ("full", "energy_full", number),
    ("design", "energy_full_design", number),
    ("charge", "charge_now", number),
    ("charge_full", "charge_full", number),
    ("charge_design", "charge_full_design", number),
    ("capacity", "capacity", number),
    ("cycles", "cycle_count", number),
)
"""Quantity, file, and how the file is read."""


class Batteries(MeterSource):
    """The `Source` of batteries that feed the machine."""

    id = "power-supply"

    def find(self, machine: Machine) -> FoundDevices:
        host = machine.host
        names = names_in(host, CLASS)
        devices = tuple(_battery(host, name) for name in names if supply_kind(host, f"{CLASS}/{name}") == "battery")
        detail = f"{CLASS}: there is no battery that feeds this machine"
        return FoundDevices(devices, {meter_signal("battery", 0, "power"): Unavailable(
            Reason.VIRTUALISED if machine.model.hypervisor else Reason.NO_HARDWARE, detail)})


def supply_kind(host: Host, directory: str) -> str:
    """What a supply is: battery, UPS, or peripheral (of a mouse, a phone); "" without energy, and for an empty bay."""
    if line_of(host, f"{directory}/present") == "0":
        return ""
    if (kind := line_of(host, f"{directory}/type")) != "Battery":
        return kind if kind == "UPS" else ""
    return PERIPHERAL if line_of(host, f"{directory}/scope") == "Device" else "battery"


def _battery(host: Host, name: str) -> MeterDevice:
    directory = f"{CLASS}/{name}"
    files = frozenset(names_in(host, directory))
    left_out = {"voltage_now", "current_now"} if _POWER in files else set()
    if "energy_now" in files:
        left_out |= {"charge_now", "charge_full", "charge_full_design"}
    meter_files = tuple(MeterFile(quantity, f"{directory}/{file}", decode) for quantity, file, decode in _FILES
                        if file in files and file not in left_out)
    maker, model = (line_of(host, f"{directory}/{file}") for file in ("manufacturer", "model_name"))
    return MeterDevice("battery", " ".join(filter(None, (name, maker, model))), meter_files, slow=True, settles=True)
