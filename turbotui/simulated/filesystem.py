"""The file tree of a simulated machine, with memory modules as firmware describes them (DSP0134 3.7, 7.18)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Final

from turbotui.machine.cpulist import format_cpulist
from turbotui.simulated.cpu_files import CpuFiles
from turbotui.simulated.layout import SimulatedCpu
from turbotui.simulated.meter_files import accelerators, power_supplies, thermal
from turbotui.simulated.model import Model
from turbotui.simulated.pmu import Context, SimulatedPmu
from turbotui.simulated.pmus_cxl import cxl_devices
from turbotui.simulated.pmus_intel import has_stacks
from turbotui.simulated.power_files import graphics, hwmon, nodes, powercap
from turbotui.simulated.proc_files import ProcFiles
from turbotui.simulated.resctrl_files import resctrl_tree
from turbotui.simulated.root_ports import intel_root_ports, root_ports
from turbotui.simulated.shapes import Isa, MachineShape
from turbotui.simulated.strain_files import StrainFiles
from turbotui.simulated.task_files import USERS
from turbotui.simulated.tree import Device, File, Folder, Node, fixed, fixed_texts, folder, place


def leaves(shape: MachineShape, place: SimulatedCpu) -> Mapping[int, tuple[int, int, int, int]]:
    """EAX, EBX, ECX, EDX by leaf (Intel SDM vol. 2, CPUID; AMD APM vol. 3, appendix E)."""
    family, extra = (15, shape.family - 15) if shape.family > 15 else (shape.family, 0)
    signature = shape.stepping | (shape.model & 15) << 4 | family << 8 | (shape.model >> 4) << 16 | extra << 20
    name = shape.vendor.encode().ljust(12)[:12]
    vendor = struct.unpack("<III", name[0:4] + name[8:12] + name[4:8])
    kind = shape.core_types[place.type]
    hypervisor = int(shape.hypervisor) << 31
    table = {
        0x0: (0x23 if shape.isa is Isa.INTEL else 0x10, *vendor),
        0x1: (signature, (place.apic & 0xFF) << 24, 0x7EFA_320B & ~(1 << 31) | hypervisor, 0x178B_FBFF),
        0xB: (0, 0, 0, place.apic),
        0x7: (0, 0x009C_07A9, 0, int(shape.hybrid) << 15),
    }
    if shape.isa is Isa.INTEL:
        numerator, denominator = shape.crystal[1], shape.crystal[0]
        table[0x6] = (0x00DF_8FF7, 2, 0x9, 0)
        table[0x15] = (denominator, numerator, shape.crystal[2], 0)
        table[0x16] = (shape.reference_hz // 1_000_000, kind.max_mhz, 100, 0)
        table[0x8000_0000] = (0x8000_0008, 0, 0, 0)
        table[0x8000_0007] = (0, 0, 0, 0x100)
        table[0x1A] = ((0x40 if kind.name == "P" else 0x20) << 24 if shape.hybrid else 0, 0, 0, 0)
    else:
        table[0x6] = (4, 0, 0 if shape.hypervisor else 1, 0)
        table[0x8000_0000] = (0x8000_0028, *vendor)
        table[0x8000_0007] = (0, 0, 0, 0x100 | (0 if shape.hypervisor else 1 << 14))
    return table


def cpuid_folder(model: Model) -> Mapping[str, Node]:
    """/dev/cpu of an x86 machine; a guest has no such devices."""
    shape = model.shape
    if shape.isa is Isa.ARM or shape.hypervisor:
        return {}

    def devices(place: SimulatedCpu) -> dict[str, Node]:
        if not model.online[place.cpu]:
            return {}
        known = leaves(shape, place)

        def answer(offset: int) -> bytes:
            return struct.pack("<4I", *known.get(offset & 0xFFFF_FFFF, (0, 0, 0, 0)))

        return {"cpuid": Device(answer, place.cpu), "msr": File(lambda _now: b"", 0o600, place.cpu)}

    return {str(place.cpu): Folder(lambda place=place: devices(place)) for place in model.layout.places}  # type: ignore[misc]


def _folder(model: Model, pmu: SimulatedPmu) -> Folder:
    children = fixed_texts(type=pmu.type, perf_event_mux_interval_ms=4, uevent="")
    children["power"] = folder(fixed_texts(control="auto"))
    if pmu.formats:
        children["format"] = folder(fixed_texts(**pmu.formats))
    if pmu.events:
        events: dict[str, Node] = {}
        for name, event in pmu.events.items():
            events[name] = fixed(event.terms)
            if event.scale:
                events[f"{name}.scale"] = fixed(event.scale)
            if event.unit:
                events[f"{name}.unit"] = fixed(event.unit)
            if event.snapshot:
                events[f"{name}.snapshot"] = fixed(1)
        children["events"] = folder(events)
    if pmu.readers is not None:
        readers = pmu.readers
        children["cpumask"] = File(lambda _now: f"{format_cpulist(readers())}\n")
    if pmu.cpus_file:
        known = sorted(range(len(model.online)) if pmu.cpus is None else pmu.cpus)
        children["cpus"] = File(lambda _now: f"{format_cpulist(cpu for cpu in known if model.online[cpu])}\n")
    for name, text in pmu.files.items():
        place(children, name, fixed(text))
    return folder(children)


def pmu_folders(model: Model, pmus: Iterable[SimulatedPmu]) -> Mapping[str, Folder]:
    """One folder for each PMU that sysfs shows, by name."""
    return {
        **{pmu.name: Folder(lambda pmu=pmu: _folder(model, pmu).children) for pmu in pmus},  # type: ignore[misc]
        "tracepoint": folder(fixed_texts(type=2)), "breakpoint": folder(fixed_texts(type=5)),
    }


def devices(model: Model, pmus: Iterable[SimulatedPmu]) -> tuple[Mapping[str, Folder], Mapping[str, Folder]]:
    """(below /sys/bus/event_source/devices, core PMUs below /sys/devices)."""
    known = tuple(pmus)
    every = pmu_folders(model, known)
    return every, {pmu.name: every[pmu.name] for pmu in known if pmu.context is not Context.SOFTWARE}


_LENGTH: Final = 0x5C  # of the structure since version 3.3
_DIMM: Final = 0x09  # form factor
_DDR4, _DDR5 = 0x1A, 0x22  # memory types
_SLOWEST_DDR5: Final = 4000  # MT/s
_RANKS: Final = 2
_LARGE: Final = 0x7FFF  # size: see the extended one


def memory_modules(shape: MachineShape) -> Mapping[str, Folder]:
    """Make one module in each channel, readable by root only, as in the kernel (drivers/firmware/dmi-sysfs.c)."""
    count = shape.packages * shape.memory_channels
    folders: dict[str, Folder] = {}
    for number in range(count):
        package, channel = divmod(number, shape.memory_channels)
        raw = _structure(number, shape, (shape.memory_gib << 10) // count, package, channel)
        folders[f"17-{number}"] = folder({"raw": _file(raw)})
    return folders


def _file(raw: bytes) -> File:
    return File(lambda _now: raw, 0o400)


def _structure(number: int, shape: MachineShape, mib: int, package: int, channel: int) -> bytes:
    body = bytearray(_LENGTH)
    struct.pack_into("<BBH", body, 0, 17, _LENGTH, 0x1100 + number)
    struct.pack_into("<HHH", body, 0x08, 72, 64, min(_LARGE, mib))
    struct.pack_into("<BBBBB", body, 0x0E, _DIMM, 0, 1, 2, _DDR4 if shape.memory_mts < _SLOWEST_DDR5 else _DDR5)
    struct.pack_into("<H", body, 0x15, shape.memory_mts)
    body[0x1B] = _RANKS
    struct.pack_into("<IH", body, 0x1C, mib, shape.memory_mts)
    texts = (f"CPU{package}_DIMM_{chr(ord('A') + channel)}1", f"NODE {package} CHANNEL {channel} DIMM 0")
    return bytes(body) + b"".join(text.encode() + b"\0" for text in texts) + b"\0"


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
    for path, files in (
        ("/sys/class/powercap", powercap(model)),
        ("/sys/class/hwmon", hwmon(model)),
        ("/sys/class/drm", graphics(model)),
        ("/sys/class/power_supply", power_supplies(model)),
        ("/sys/class/thermal", thermal(model)),
        ("/sys/class/accel", accelerators(model)),
        ("/sys/bus/pci/devices", {**root_ports(model.shape), **cxl_devices(model.shape),
                                  **(intel_root_ports(model.shape) if has_stacks(model.shape) else {})}),
        ("/sys/fs/resctrl", resctrl_tree(model)),
        ("/sys/firmware/dmi/entries", memory_modules(model.shape)),
        ("/sys/class/dmi/id", fixed_texts(bios_vendor="turbotui", bios_version="simulated")),
        # the table that says that there is persistent memory
        ("/sys/firmware/acpi/tables", {"NFIT": File(lambda _now: b"NFIT", 0o400)}
         if model.shape.tiers in ("pmem", "2lm") else {}),
        ("/dev/cpu", cpuid_folder(model)),
    ):
        if files:
            place(children, path, folder(files))
    # No latency request is in force: the default of 2,000 s in microseconds (linux kernel/power/qos.c).
    unlimited = (2_000_000_000).to_bytes(4, "little")
    place(children, "/dev/cpu_dma_latency", File(lambda _now: unlimited, 0o600))
    return folder(children), cpus
