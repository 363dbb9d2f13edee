"""The other ends of uncore units: devices of stacks, ends of UPI links, speeds of PCI Express links."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final

from turbotui.events.uncore.discovery import UncoreUnit
from turbotui.events.uncore.links import link_of
from turbotui.events.uncore.pci_names import names_of
from turbotui.events.uncore.root_ports import RootPort, read_root_ports
from turbotui.events.uncore.stacks import Stack, other_end, read_stack
from turbotui.machine.host import Host

STACKS: Final = "uncore_iio"
LINKS: Final = "uncore_upi"


class StackMap:
    """The stacks and links of a machine, each read once, when needed."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._stacks: dict[str, Stack] = {}
        self._links: dict[str, float | None] = {}
        self._notes: dict[str, str] = {}

    def _stack(self, unit: UncoreUnit) -> Stack:
        bus = unit.peer if unit.kind == STACKS else ""
        if bus not in self._stacks:
            self._stacks[bus] = read_stack(self._host, bus)
        return self._stacks[bus]

    def link(self, unit: UncoreUnit) -> float | None:
        """Return the GB/s of a unit's links in one direction; None if it has none, or if unknown."""
        if unit.kind == STACKS:
            return self._stack(unit).gigabytes
        if unit.key not in self._links:
            self._links[unit.key] = link_of(self._host, unit, self._ports)
        return self._links[unit.key]

    @cached_property
    def _ports(self) -> tuple[RootPort, ...]:
        return read_root_ports(self._host)

    def read(self, units: Iterable[UncoreUnit]) -> None:
        """Read all of them, so that a recording keeps their files."""
        for unit in units:
            if unit.kind == STACKS:
                self.note(unit)
            else:
                self.link(unit)

    def note(self, unit: UncoreUnit) -> str:
        """Describe the other end on one line: devices as lspci names them, or a link of another die."""
        if unit.kind == LINKS:
            return other_end(unit.peer)
        if unit.peer not in self._notes:
            devices = self._stack(unit).devices
            names = names_of(self._host, devices)
            addresses = (names.get(device, device).removeprefix("0000:") for device in devices)
            self._notes[unit.peer] = ", ".join(addresses)
        return self._notes[unit.peer]
