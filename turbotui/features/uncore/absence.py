"""Why a machine has no uncore PMU to show, and what to do about it."""

from __future__ import annotations

from typing import Final

from turbotui.machine.host import ForwardedHost
from turbotui.machine.machine import Machine
from turbotui.machine.pmus import DEVICES, list_pmus
from turbotui.quantities.unavailable import Reason, Unavailable

_DRIVERS = {
    # vendor -> modules (kernel arch/x86/events/intel, arch/x86/events/amd, drivers/perf)
    "GenuineIntel": "intel_uncore",
    "AuthenticAMD": "amd_uncore",
    "NVIDIA": "nvidia_cspmu",
    "Arm": "arm-cmn, arm_dsu_pmu or arm_cspmu_module",
}
EXAMPLE = "--machine vera-2s"


UNNAMED: Final = "the kernel names no events of these PMUs"


def unnamed(pmu: str) -> str:
    """Return a sentence about a kind of PMU without shown values, and what to do about it."""
    return f"{UNNAMED}: -e {pmu}/event=0x1,umask=0x2/ counts one by its code, from the processor's uncore manual"


NOT_RECORDED: Final = Unavailable(
    Reason.NOT_READ, "this recording has no uncore counters",
    "turbotui record --tables uncore; with Ctrl+R they are recorded while the uncore screen is shown")


def why_none(machine: Machine) -> Unavailable:
    """Return the reason why a machine has no PMU with a cpumask."""
    if isinstance(machine.host, ForwardedHost):
        return Unavailable(Reason.NOT_READ, f"{machine.host.read_by}, which sends no uncore counters",
                           "turbotui uncore --host, or run there, has them")
    see = f"turbotui {EXAMPLE} shows a simulated machine that has some"
    if (hidden := machine.view.hidden(DEVICES)) is not None:
        return hidden
    if not list_pmus(machine.host):
        empty = "/sys/bus/event_source/devices is empty: the kernel has no perf events"
        return Unavailable(Reason.NO_DRIVER, empty, see)
    if machine.model.hypervisor:
        return Unavailable(Reason.VIRTUALISED, "this virtual machine is given no uncore PMU", see)
    drivers = _DRIVERS.get(machine.model.vendor)
    remedy = f"modprobe {drivers}; {see}" if drivers else see
    return Unavailable(Reason.NO_DRIVER, "no PMU in /sys/bus/event_source/devices has a cpumask", remedy)
