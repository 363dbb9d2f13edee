"""Names of PCI devices as lspci shows them, from the same list of ids (pci.ids(5)), where it is installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from turbotui.dataclass import dataclass
from turbotui.events.uncore.root_ports import DEVICES
from turbotui.machine.host import Host, HostError
from turbotui.machine.small_files import text_of
from turbotui.untrusted import one_line

_LISTS = ("/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids")  # of Debian's pciutils, and of other distributions'


@dataclass(frozen=True, slots=True)
class PciDevice:
    """The ids of a PCI device, hexadecimal without 0x."""

    address: str
    vendor: str
    device: str
    kind: str


def read_devices(host: Host, addresses: Iterable[str]) -> tuple[PciDevice, ...]:
    """Read the ids of the devices at these addresses, leaving out devices without ids."""
    devices: list[PciDevice] = []
    for address in addresses:
        try:
            vendor, device, kind = (host.read_text(f"{DEVICES}/{address}/{name}").strip().removeprefix("0x").lower()
                                    for name in ("vendor", "device", "class"))
        except HostError:
            continue
        devices.append(PciDevice(address, vendor, device, kind))
    return tuple(devices)


def names_of(host: Host, addresses: Iterable[str]) -> Mapping[str, str]:
    """Describe each address as lspci -D does; without a list of names by ids: "0001:00:00.0 10de:22d0"."""
    devices = read_devices(host, addresses)
    text = next((text for path in _LISTS if (text := text_of(host, path))), "")
    names = parse_ids(text, devices)
    return {device.address: f"{device.address} {_in_words(device, names)}" for device in devices}


def _in_words(device: PciDevice, names: Mapping[tuple[str, ...], str]) -> str:
    if (vendor := names.get((device.vendor,))) is None:
        return f"{device.vendor}:{device.device}"
    name = names.get((device.vendor, device.device), f"Device {device.device}")
    kind = names.get(("C", device.kind[:4]), f"Class {device.kind[:4]}")
    return f"{kind}: {vendor} {name}"


def parse_ids(text: str, devices: Iterable[PciDevice]) -> Mapping[tuple[str, ...], str]:
    """Parse the names of these devices' vendors (vendor,), devices (vendor, device) and classes ("C", class)."""
    known = tuple(devices)
    wanted = {(known_device.vendor,) for known_device in known} | {(known_device.vendor, known_device.device)
                                                                   for known_device in known}
    kinds = {device.kind[:4] for device in known}
    names: dict[tuple[str, ...], str] = {}
    above = ""
    for line in text.splitlines():
        if not line or line.startswith(("#", "\t\t")):
            continue
        number, _, name = one_line(line).partition("  ")
        if not line.startswith("\t"):
            above = number
            if (number,) in wanted:
                names[(number,)] = name
        elif above.startswith("C ") and above[2:] + number in kinds:
            names["C", above[2:] + number] = name
        elif (above, number) in wanted:
            names[above, number] = name
    return names
