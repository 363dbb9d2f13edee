"""Read why the kernel chose its cores: its preference for fast ones, and the firmware's hint.

No file holds the table of Intel's thread director (HFI), which is only sent to netlink listeners. Files show whether
the scheduler uses core priorities at all, and what kind of work the firmware sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from turbotui.machine.host import Host
from turbotui.machine.small_files import line_of

_PRIORITIES: Final = (
    "/proc/sys/kernel/sched_itmt_enabled",  # kernel arch/x86/kernel/itmt.c, until 6.13
    "/sys/kernel/debug/x86/sched_itmt_enabled",  # the same file in later kernels
)
_HINT: Final = "/sys/bus/pci/devices/0000:00:04.0/workload_hint/workload_type_index"
"""Kernel Documentation/driver-api/thermal/intel_dptf.rst; ENODATA if nobody switched the hints on."""
_SAVING: Final[Mapping[str, str]] = {"0": "idle", "1": "battery life"}
"""intel_dptf.rst, for Meteor Lake; other numbers have no known meaning."""


def placement(host: Host) -> str:
    """The reason for the choice of cores, in words; "" if unknown."""
    found = []
    if next((text for path in _PRIORITIES if (text := line_of(host, path))), "") in ("0", "N"):
        found.append("the scheduler is told not to prefer fast cores (sched_itmt_enabled is off)")
    index = line_of(host, _HINT)
    if index in _SAVING:
        found.append(f"firmware takes the work for {_SAVING[index]} (workload_type_index {index})")
    return "; ".join(found)
