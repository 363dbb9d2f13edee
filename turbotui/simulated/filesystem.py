"""The whole file tree of a simulated machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from turbotui.simulated.cpu_files import CpuFiles
from turbotui.simulated.cpuid import cpuid_folder
from turbotui.simulated.intel_ports import intel_root_ports
from turbotui.simulated.memory_files import memory_modules, persistent_memory
from turbotui.simulated.meter_files import accelerators, power_supplies
from turbotui.simulated.model import Model
from turbotui.simulated.nvidia_ports import root_ports
from turbotui.simulated.pmu import SimulatedPmu
from turbotui.simulated.pmu_files import devices
from turbotui.simulated.pmus_cxl import cxl_devices
from turbotui.simulated.pmus_intel import has_stacks
from turbotui.simulated.power_files import graphics, hwmon, nodes, powercap
from turbotui.simulated.proc_files import ProcFiles
from turbotui.simulated.resctrl_files import resctrl_tree
from turbotui.simulated.strain_files import StrainFiles
from turbotui.simulated.task_files import USERS
from turbotui.simulated.tree import File, Folder, Node, folder, place


def machine_tree(model: Model, pmus: Iterable[SimulatedPmu], paranoid: Mapping[str, int]) -> tuple[Folder, Folder]:
    """(the root, /sys/devices/system/cpu)."""
    cpus = CpuFiles(model).root
    sources, below_devices = devices(model, pmus)
    children: dict[str, Node] = {"proc": folder(ProcFiles(model, paranoid).children())}
    place(children, "/etc/passwd", File(lambda _now: USERS))
    place(children, "/sys/devices/system/cpu", cpus)
    place(children, "/sys/devices/system/node", folder(nodes(model)))
    place(children, "/sys/bus/event_source/devices", folder(sources))
    for name, node in StrainFiles(model).groups().items():
        place(children, f"/sys/fs/cgroup/{name}", node)
    for name, node in below_devices.items():
        place(children, f"/sys/devices/{name}", node)
    for path, found in (
        ("/sys/class/powercap", powercap(model)),
        ("/sys/class/hwmon", hwmon(model)),
        ("/sys/class/drm", graphics(model)),
        ("/sys/class/power_supply", power_supplies(model)),
        ("/sys/class/accel", accelerators(model)),
        ("/sys/bus/pci/devices", {**root_ports(model.shape), **cxl_devices(model.shape),
                                  **(intel_root_ports(model.shape) if has_stacks(model.shape) else {})}),
        ("/sys/fs/resctrl", resctrl_tree(model)),
        ("/sys/firmware/dmi/entries", memory_modules(model.shape)),
        ("/sys/firmware/acpi/tables", persistent_memory(model.shape)),
        ("/dev/cpu", cpuid_folder(model)),
    ):
        if found:
            place(children, path, folder(found))
    # No latency request is in force: the default of 2,000 s in microseconds (linux kernel/power/qos.c).
    unlimited = (2_000_000_000).to_bytes(4, "little")
    place(children, "/dev/cpu_dma_latency", File(lambda _now: unlimited, 0o600))
    return folder(children), cpus
