"""The PCI devices that a root complex's PMU counts, as far as the machine tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turbotui.dataclass import dataclass
from turbotui.events.uncore.discovery import UncoreUnit
from turbotui.events.uncore.pci_names import names_of
from turbotui.events.uncore.root_ports import RootPort, read_root_ports
from turbotui.machine.host import Host

PORTS_UNKNOWN = "root ports unknown: only root reads the configuration space that names their complex"


@dataclass(frozen=True, slots=True)
class Port:
    """A root port of a PMU: its number in the masks, its line of lspci, and those of the devices below it."""

    number: int
    address: str
    name: str
    devices: Mapping[str, str]


class PortMap:
    """The root ports of a machine by the PMUs that count them, read once."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._ports: Sequence[RootPort] = read_root_ports(host)

    @property
    def lacks_positions(self) -> bool:
        """Whether there are root ports, but none tells its position."""
        return bool(self._ports) and all(port.place is None for port in self._ports)

    def of(self, unit: UncoreUnit) -> tuple[Port, ...]:
        """Return a unit's root ports by number; none if unknown, or for PMUs other than a root complex's."""
        ports_below = [
            (port.place.port, port)
            for port in self._ports
            if port.place is not None and unit.pmu.name in port.place.pmus
        ]
        ports_below.sort(key=lambda pair: pair[0])
        names = names_of(self._host, [name for _, port in ports_below for name in (port.address, *port.devices)])
        return tuple(
            Port(
                number, port.address, names.get(port.address, port.address),
                {name: names.get(name, name) for name in port.devices},
            )
            for number, port in ports_below
        )  # fmt: skip

    def elsewhere(self, address: str, pmus: Sequence[str]) -> str:
        """Return the PMU that counts a device (with domain), if it is none of these PMUs; "" if unknown."""
        for port in self._ports:
            if port.place is not None and address.strip().lower() in (port.address, *port.devices):
                return "" if set(port.place.pmus) & set(pmus) else port.place.pmus[0]
        return ""

    def note(self, unit: UncoreUnit) -> str:
        """Return a unit's root ports in few characters, 0005:{00,40}:00.0; "" if it has none."""
        if "_rc_" not in unit.pmu.name:
            return ""
        if self.lacks_positions:
            return PORTS_UNKNOWN
        groups: dict[tuple[str, str], list[str]] = {}
        for address in self.addresses(unit):
            domain, bus, function = address.split(":")
            groups.setdefault((domain, function), []).append(bus)
        joined = {place: buses[0] if len(buses) == 1 else f"{{{','.join(buses)}}}" for place, buses in groups.items()}
        return " ".join(f"{domain}:{buses}:{function}" for (domain, function), buses in joined.items())

    def addresses(self, unit: UncoreUnit) -> tuple[str, ...]:
        """The addresses of a unit's root ports, by number."""
        return tuple(
            port.address
            for port in sorted(self._ports, key=lambda port: -1 if port.place is None else port.place.port)
            if port.place is not None and unit.pmu.name in port.place.pmus
        )
