"""Root complexes: the reference map of two sockets, damaged configuration spaces, and readers without rights."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.events.uncore.discovery import find_units
from turbotui.events.uncore.root_ports import PortAddress, parse_place, read_root_ports
from turbotui.features.uncore.ports import PortMap
from turbotui.machine.machine import read_machine
from turbotui.machine.pmus import list_pmus
from turbotui.quantities.unavailable import Reason
from turbotui.simulated import ManualClock, simulated_host
from turbotui.simulated.root_ports import ROOT_PORTS, configuration_space

SPACE = configuration_space(ROOT_PORTS[3])
CAPABILITY = 0x240  # where the simulated port keeps it


def test_the_reference_map() -> None:
    host = simulated_host("vera-2s", ManualClock())
    ports = {port.address: port.place for port in read_root_ports(host)}
    assert len(ports) == 21
    # docs/specs/nvidia.md 5: segment:bus -> port, root complex, socket
    assert ports["0002:c0:00.0"] == PortAddress(bus=0xC0, segment=2, port=3, complex=1, socket=0)
    assert ports["000d:40:00.0"] == PortAddress(bus=0x40, segment=0xD, port=1, complex=4, socket=1)
    known = set(list_pmus(host))
    for place in ports.values():
        assert place is not None
        assert set(place.pmus) <= known
    assert ports["000d:40:00.0"].pmus == ("nvidia_pcie_pmu_1_rc_4", "nvidia_pcie_tgt_pmu_1_rc_4")


def test_the_ports_of_a_complex_are_reported_in_few_characters() -> None:
    """In 120 columns: 0005:00:00.0 0005:40:00.0 was cut behind the first address."""
    host = simulated_host("vera-2s", ManualClock())
    ports, units = PortMap(host), find_units(read_machine(host))
    text = {unit.pmu.name: (ports.note(unit), ports.addresses(unit)) for unit in units}
    assert text["nvidia_pcie_pmu_1_rc_4"] == ("000d:{00,40,c0}:00.0", ("000d:00:00.0", "000d:40:00.0", "000d:c0:00.0"))
    assert text["nvidia_pcie_pmu_0_rc_0"] == ("0001:00:00.0", ("0001:00:00.0",))
    assert text["nvidia_ucf_pmu_0"] == ("", ())


def test_without_rights_the_place_is_unknown() -> None:
    host = simulated_host("vera-2s", ManualClock())
    host.set_privileges(uid=1000, capabilities=0)
    ports = read_root_ports(host)
    assert len(ports) == 21
    assert {port.place for port in ports} == {None}
    assert {port.why.reason for port in ports if port.why is not None} == {Reason.NOT_PERMITTED}


def test_other_machines_have_none() -> None:
    assert read_root_ports(simulated_host("grace-2s", ManualClock())) == ()


@pytest.mark.parametrize(
    ("offset", "word"),
    [
        (0x100, 0),
        (0x100, 0xFFFFFFFF),
        (0x100, 0x0001 | 0x100 << 20),  # a capability that follows itself
        (CAPABILITY + 4, 0x10DF | 0x14 << 20),  # another vendor
        (CAPABILITY + 4, 0x10DE | 0x10 << 20),  # too short for the socket
        (CAPABILITY + 8, 5),  # another capability of the vendor
    ],
)
def test_a_damaged_space_is_unknown(offset: int, word: int) -> None:
    assert parse_place(SPACE) == PortAddress(0xC0, 2, 3, 1, 0)
    space = bytearray(SPACE)
    struct.pack_into("<I", space, offset, word)
    assert parse_place(bytes(space)) is None


@given(st.integers(0, len(SPACE)))
def test_a_space_cut_short_is_whole_or_unknown(length: int) -> None:
    assert (parse_place(SPACE[:length]) is not None) == (length >= CAPABILITY + 0x11)


@given(st.binary(max_size=64), st.integers(0x100, 0x300))
def test_any_bytes_end(data: bytes, at: int) -> None:
    parse_place(SPACE[:at] + data + SPACE[at + len(data) :])
