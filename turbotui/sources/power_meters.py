"""Power from hwmon: graphics cards, power supplies, ACPI's meters and service processors; also fans.

A chip's kind follows from its name and, for ACPI's meters, from the firmware's name for them: `_GRAPHICS`, `_SUPPLIES`,
`_METERS`, `_SERVICE`. A chip with watts that is in none of these tables measures a rail of some board (INA2xx,
regulators on PMBus), which lies inside something that is counted, and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host
from turbotui.machine.machine import Machine
from turbotui.quantities.meters import KINDS, meter_signal
from turbotui.quantities.plain_numbers import integer
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.meter_devices import HWMON, HwmonChip, MeterDevice, MeterFile, hwmon_chips, ordered
from turbotui.sources.meter_source import FoundDevices, MeterSource
from turbotui.sources.sysfs_files import read_line, read_number

_MOST_FANS: Final = 24


@dataclass(frozen=True, slots=True)
class _Card:
    """A graphics driver's files, best first: counters of energy before gauges of power."""

    energy: tuple[str, ...]
    power: tuple[str, ...]


_GRAPHICS: Final = {
    "i915": _Card(("energy1_input",), ()),  # only discrete cards have it (sysfs-driver-intel-i915-hwmon)
    "xe": _Card(("energy1_input", "energy2_input"), ()),  # the card, or else its package (sysfs-driver-intel-xe-hwmon)
    "amdgpu": _Card((), ("power1_average", "power1_input")),  # Documentation/gpu/amdgpu/thermal.rst
    "nouveau": _Card((), ("power1_input",)),
}
_APU: Final = "in1_input"
"""The northbridge's voltage, which amdgpu shows only for APUs (drivers/gpu/drm/amd/pm/amdgpu_pm.c)."""

# NVIDIA Grace Performance Tuning Guide, "Power and Thermals": power1_oem_info of the superchip's meters.
_METERS: Final = (
    (r"Module Power Socket", "module"),
    (r"Grace Power Socket|Vera Power Socket", "socket"),
    (r"CPU Power Socket", "rail"),
    (r"SysIO Power Socket", "sysio"),
)

# Drivers of whole supplies on PMBus (Documentation/hwmon/{bel-pfe,ibm-cffps,inspur-ipsps1,fsp-3y,dps920ab,acbel-fsg032,
# crps}.rst); corsair-psu.rst is a supply on USB, which reports its output.
_SUPPLIES: Final = (r"pfe\d+|cffps\d*|ibm-cffps\d*|ipsps\d*|ym2151e?|yh5151e?|dps[-_]?\d+\w*|acbel.*|fsg032|"
                    r"(?:intel_)?crps\d*")
_CORSAIR: Final = "corsairpsu"
_TAKEN, _GIVEN = "pin", "power total"

_SERVICE: Final = (
    (r"aem\d*", r""),  # ibmaem.rst: power1 is what the system takes
    (r"occ", r"(?i)system"),  # occ.rst
    (r"ibmpowernv", r"(?i)System(?: Power)?"),  # ibmpowernv.rst
)


class GraphicsPower(MeterSource):
    """The `Source` of graphics cards' energy."""

    id = "hwmon-graphics"

    def find(self, machine: Machine) -> FoundDevices:
        chips = [chip for chip in ordered(hwmon_chips(machine.host)) if chip.name in _GRAPHICS]
        devices = [device for chip in chips if (device := _card(chip)) is not None]
        names = ", ".join(sorted({chip.name for chip in chips}))
        detail = (f"{HWMON}: {names} tells no energy or power of its device; integrated graphics have none of their own"
                  if names else f"{HWMON}: there is no chip of i915, xe, amdgpu or nouveau")
        return FoundDevices(tuple(devices), {meter_signal("gpu", 0, "energy"): _none(machine, detail)})


class PowerMeters(MeterSource):
    """The `Source` of the platform's own power figures."""

    id = "hwmon-power"

    def find(self, machine: Machine) -> FoundDevices:
        host = machine.host
        devices: list[MeterDevice] = []
        others: dict[str, None] = {}
        for chip in hwmon_chips(host):
            meters = list(_platform(host, chip))
            devices += meters
            if not meters and chip.name not in _GRAPHICS and any(re.fullmatch(r"power\d+_(?:input|average)", file)
                                                                 for file in chip.files):
                others[chip.name] = None
        detail = (f"{HWMON}: no meter of the whole machine's power; looked for a power supply on PMBus, an ACPI power "
                  "meter and a service processor")
        absent = {} if devices else {meter_signal("meter", 0, "power"): _none(machine, detail)}
        note = f"left out, rails of unknown place: {', '.join(others)}" if others else ""
        return FoundDevices(tuple(_by_label(devices)), absent, note)


class Fans(MeterSource):
    """The `Source` of fans."""

    id = "hwmon-fans"

    def find(self, machine: Machine) -> FoundDevices:
        devices: list[MeterDevice] = []
        for chip in hwmon_chips(machine.host):
            for file in sorted((file for file in chip.files if re.fullmatch(r"fan\d+_input", file)),
                               key=lambda name: (len(name), name)):
                label = read_line(machine.host, chip.path(file.replace("_input", "_label"))) or ""
                devices.append(MeterDevice("fan", f"{chip.name} {label or file.partition('_')[0]}",
                                           (MeterFile("turns", chip.path(file)),), chip.status, slow=True))
        note = f"the first {_MOST_FANS} of {len(devices)} are read" if len(devices) > _MOST_FANS else ""
        return FoundDevices(tuple(devices[:_MOST_FANS]),
                            {meter_signal("fan", 0, "turns"): _none(machine, f"{HWMON}: no chip has a fan")}, note)


def _card(chip: HwmonChip) -> MeterDevice | None:
    files = _GRAPHICS[chip.name]
    kind = "apu" if chip.name == "amdgpu" and _APU in chip.files else "gpu"
    label = f"{chip.name} {chip.slot}".strip()
    for quantity, names in (("energy", files.energy), ("power", files.power)):
        file = next((name for name in names if name in chip.files), None)
        if file is not None:
            return MeterDevice(kind, label, (MeterFile(quantity, chip.path(file)),), chip.status,
                               slow=quantity == "power")
    return None


def _platform(host: Host, chip: HwmonChip) -> Iterator[MeterDevice]:
    """Return the figures of a chip for the whole machine, or for a part that no other meter covers."""
    if chip.name == "power_meter":
        for number in _numbers(chip, "average"):
            info = read_line(host, chip.path(f"power{number}_oem_info")) or ""
            kind = next((kind for pattern, kind in _METERS if re.match(pattern, info)), "meter")
            yield _meter(host, chip, f"power{number}_average", kind, info or KINDS[kind].words)
    elif re.fullmatch(_SUPPLIES, chip.name) or chip.name == _CORSAIR:
        wanted = _GIVEN if chip.name == _CORSAIR else _TAKEN
        for number in _numbers(chip, "input"):
            if read_line(host, chip.path(f"power{number}_label")) == wanted:
                yield _meter(host, chip, f"power{number}_input", "psu", f"{chip.name} {wanted}")
    else:
        for pattern, label in _SERVICE:
            if re.fullmatch(pattern, chip.name):
                yield from _service(host, chip, label)


def _service(host: Host, chip: HwmonChip, label: str) -> Iterator[MeterDevice]:
    for what in ("average", "input"):
        for number in _numbers(chip, what):
            title = read_line(host, chip.path(f"power{number}_label")) or ""
            if re.fullmatch(label, title):
                yield _meter(host, chip, f"power{number}_{what}", "bmc", f"{chip.name} {title}".strip())
                return


def _meter(host: Host, chip: HwmonChip, file: str, kind: str, label: str) -> MeterDevice:
    return MeterDevice(kind, label, (MeterFile("power", chip.path(file)),), chip.status, slow=True,
                       interval_ms=read_number(host, chip.path(f"{file}_interval")))


def _numbers(chip: HwmonChip, what: str) -> Sequence[int]:
    matches = (re.fullmatch(rf"power([0-9]{{1,9}})_{what}", file) for file in chip.files)
    return sorted(integer(match[1]) for match in matches if match is not None)


def _by_label(devices: Sequence[MeterDevice]) -> list[MeterDevice]:
    """Sort meters of sockets by the socket in their names; others keep their order."""
    return sorted(devices, key=lambda device: [integer(part) for part in re.findall(r"[0-9]{1,9}", device.label)]
                  if device.kind in {"module", "socket", "rail", "sysio"} else [])


def _none(machine: Machine, detail: str) -> Unavailable:
    if machine.model.hypervisor:
        return Unavailable(Reason.VIRTUALISED, f"{detail}; guests are not shown the machine's")
    return Unavailable(Reason.NO_HARDWARE, detail)

