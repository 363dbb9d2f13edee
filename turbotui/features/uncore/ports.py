"""The PCI devices that a root complex's PMU counts, as far as the machine tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.events.uncore.discovery import UncoreUnit
from turbotui.events.uncore.pci_names import names_of
from turbotui.events.uncore.root_ports import PortAddress, RootPort, read_root_ports
from turbotui.machine.host import Host
from turbotui.machine.pmus import list_pmus
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.tables import Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable

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
        ports_below = [(port.place.port, port) for port in self._ports if port.place is not None
                       and unit.pmu.name in port.place.pmus]
        ports_below.sort(key=lambda pair: pair[0])
        names = names_of(self._host, [name for _, port in ports_below for name in (port.address, *port.devices)])
        return tuple(Port(number, port.address, names.get(port.address, port.address),
                          {name: names.get(name, name) for name in port.devices}) for number, port in ports_below)

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
        parts = (address.split(":") for address in self.addresses(unit))
        groups = lists_by_key(((domain, function), bus) for domain, bus, function in parts)
        joined = {place: buses[0] if len(buses) == 1 else f"{{{','.join(buses)}}}" for place, buses in groups.items()}
        return " ".join(f"{domain}:{buses}:{function}" for (domain, function), buses in joined.items())

    def addresses(self, unit: UncoreUnit) -> tuple[str, ...]:
        """The addresses of a unit's root ports, by number."""
        return tuple(port.address for port in sorted(self._ports,
            key=lambda port: -1 if port.place is None else port.place.port) if port.place is not None
            and unit.pmu.name in port.place.pmus)


@dataclass(frozen=True, slots=True)
class RootPortRow:
    """A root port of the machine, with what its configuration space says of its place."""

    port: RootPort
    name: str  # of the port, as lspci has it
    devices: tuple[str, ...]  # the same of the devices below it
    pmus: tuple[str, str] | None  # the PMUs that count it; None if the kernel has none of these names


def _placed(value: Callable[[PortAddress], Value]) -> Callable[[RootPortRow], Value]:
    return lambda row: None if row.port.place is None else value(row.port.place)


PORT_COLUMNS: Final[tuple[Column[RootPortRow], ...]] = (
    Column("address", "", -1, (), lambda row: row.port.address, help="PCI address of the root port", identity=True),
    Column("segment", "", 0, (), _placed(lambda place: place.segment), help="PCI segment, which lspci calls domain",
           hexadecimal=True),
    Column("RP", "", 0, (), _placed(lambda place: place.port), help="number of the root port in its root complex: its "
           "bit in src_rp_mask and dst_rp_mask"),
    Column("RC", "", 0, (), _placed(lambda place: place.complex), help="number of the root complex on its socket"),
    Column("socket", "", 0, (), _placed(lambda place: place.socket), help="number of the socket"),
    Column("PMU", "", -1, (), lambda row: None if row.pmus is None else row.pmus[0],
           help="PMU that counts requests of the devices below the port"),
    Column("target PMU", "", -1, (), lambda row: None if row.pmus is None else row.pmus[1],
           help="PMU that counts requests to the devices below the port"),
    Column("device", "", -1, (), lambda row: row.name, help="the root port, as lspci names it"),
    Column("below", "", -1, (), lambda row: "; ".join(row.devices), help="the devices below the port"),
)
_NO_PMU: Final = Unavailable(Reason.NO_DRIVER, "the kernel has no PMU of the port's root complex",
                             "modprobe nvidia_cspmu")


def ports_table(host: Host) -> RowTable[RootPortRow]:
    """Return a table with a row for every NVIDIA root port of a machine, by its address."""
    ports = read_root_ports(host)
    names = names_of(host, [name for port in ports for name in (port.address, *port.devices)])
    known = frozenset(list_pmus(host))
    rows = [RootPortRow(port, names.get(port.address, port.address),
        tuple(names.get(name, name) for name in port.devices),
        port.place.pmus if port.place is not None and known.intersection(port.place.pmus) else None) for port in ports]
    return RowTable("root_ports", "port", PORT_COLUMNS, rows, lambda _column, row, value: Cell(
        value, None if value is not None else row.port.why or _NO_PMU))


def reasons_of(table: RowTable[RootPortRow]) -> tuple[str, ...]:
    """Return why values are unknown, each reason once."""
    cells = (table.cell(column, row) for row in table.rows for column in table.columns)
    return tuple(dict.fromkeys(cell.why.sentence() for cell in cells if cell.why is not None))
