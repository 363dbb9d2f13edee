"""Filters of NVIDIA's Tegra410 PMUs, checked before the kernel refuses them with a bare EINVAL.

Rules: kernel Documentation/admin-guide/perf/nvidia-tegra410-pmu.rst and drivers/perf/arm_cspmu/nvidia_cspmu.c.
`turbotui.machine.pmus.Format` checks whether a value fits its field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from turbotui.machine.host import PerfAttr
from turbotui.machine.pmus import EventError, Pmu, TermFormat

_BDF = r"(?ai)(?:[0-9a-f]{1,4}:)?([0-9a-f]{1,2}):([0-9a-f]{1,2})\.([0-7])"
_DEVICES = 0x1F  # five bits (PCI Express Base Specification, section 2.2.4.2)
_CYCLES = 1 << 32  # the cycle counter of a CoreSight PMU; no filter applies to it
_ADDRESS_SLOTS = 8  # of one PCIE-TGT PMU, shared by equal pairs (nvidia-tegra410-pmu.rst)


class DeviceAddressError(EventError):
    """A text is no PCI address."""


class PortAndDeviceError(EventError):
    """Both root ports and a device were given as the source; only one of the two is possible."""


class DeviceNotEnabledError(EventError):
    """A device is named without the bit that enables its filter: no port would be selected, and 0 counted."""


class SeveralDevicesError(EventError):
    """Several devices are filtered on one PCIE PMU, which filters by one device at a time."""


class AddressNotEnabledError(EventError):
    """An address range is given without the bit that enables its filter."""


class AddressSlotsError(EventError):
    """More distinct address ranges than the PMU has slots."""


def check(pmu: Pmu, terms: Mapping[str, int]) -> None:
    """Check the filters of one event of any PMU; filters without rules pass.

    Args:
        terms: the values of all fields, including those that select the event.

    Raises:
        PortAndDeviceError, DeviceNotEnabledError, AddressNotEnabledError: filters are impossible or select nothing.
    """
    if "src_bdf_en" in pmu.formats and terms.get("event") != _CYCLES:
        check_pcie(terms)
    if "dst_addr_en" in pmu.formats:
        check_target_group((terms,))


def check_together(pmu: Pmu, attrs: Sequence[PerfAttr]) -> None:
    """Check the filters of encoded events that are to be counted together on a PMU.

    Raises:
        SeveralDevicesError, AddressSlotsError: one PMU cannot have these filters at the same time.
    """
    members = [{name: field_value(where, attr) for name, where in pmu.formats.items()} for attr in attrs]
    if "src_bdf_en" in pmu.formats:
        check_pcie_group([settings for settings in members if settings.get("event") != _CYCLES])
    if "dst_addr_en" in pmu.formats:
        check_target_group(members)


def field_value(where: TermFormat, attr: PerfAttr) -> int:
    """Extract a field's value from an encoded event."""
    word = (attr.config, attr.config1, attr.config2, attr.config3, attr.config4)[where.word]
    return sum((word >> bit & 1) << index for index, bit in enumerate(where.bits))


def bdf_value(address: str) -> int:
    """Return the value of src_bdf for a PCI address as lspci shows it: bus << 8 | device << 3 | function.

    The document's two examples (27:01.1 as 0x2781, 01:01.0 as 0x0180) contradict the document's formula; the formula
    agrees with the PCI Express requester id, so it is used here.

    Raises:
        DeviceAddressError: the text is no PCI address.
    """
    match = re.fullmatch(_BDF, address)
    if match is None or int(match[2], 16) > _DEVICES:
        raise DeviceAddressError(f"{address!r} is not a PCI address; write BUS:DEVICE.FUNCTION, such as 27:01.1.")
    return int(match[1], 16) << 8 | int(match[2], 16) << 3 | int(match[3])


def check_pcie(settings: Mapping[str, int]) -> None:
    """Check the source of one event of a PCIE PMU, given its terms.

    Raises:
        PortAndDeviceError, DeviceNotEnabledError: the source is impossible.
    """
    if settings.get("src_bdf_en"):
        if settings.get("src_rp_mask"):
            raise PortAndDeviceError("src_rp_mask and src_bdf_en exclude each other: leave one of them out.")
    elif settings.get("src_bdf"):
        raise DeviceNotEnabledError("src_bdf selects nothing without src_bdf_en=1: add it.")


def check_pcie_group(members: Sequence[Mapping[str, int]]) -> None:
    """Check all events that are open together on one PCIE PMU; the caller leaves out cycle counters.

    A sibling without a filter takes the leader's device.

    Raises:
        PortAndDeviceError, DeviceNotEnabledError, SeveralDevicesError: the sources cannot be combined.
    """
    for settings in members:
        check_pcie(settings)
    filters = sorted({settings.get("src_bdf", 0) for settings in members if settings.get("src_bdf_en")})
    if len(filters) > 1:
        listed = ", ".join(f"{device:#06x}" for device in filters)
        raise SeveralDevicesError(f"One PCIE PMU filters by one src_bdf at a time, not by {listed}: choose one.")


def check_target_group(members: Sequence[Mapping[str, int]]) -> None:
    """Check all events that are open on one PCIE-TGT PMU at a time.

    Raises:
        AddressNotEnabledError, AddressSlotsError: the address ranges are impossible.
    """
    ranges: set[tuple[int, int]] = set()
    for settings in members:
        base, mask = settings.get("dst_addr_base", 0), settings.get("dst_addr_mask", 0)
        if settings.get("dst_addr_en"):
            ranges.add((base, mask))
        elif base or mask:
            raise AddressNotEnabledError("dst_addr_base and dst_addr_mask do nothing without dst_addr_en=1: add it.")
    if len(ranges) > _ADDRESS_SLOTS:
        raise AddressSlotsError(
            f"One PCIE-TGT PMU has {_ADDRESS_SLOTS} address ranges; {len(ranges)} different ones are asked for.")
