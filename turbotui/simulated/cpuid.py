"""/dev/cpu/N/cpuid and the names of /dev/cpu/N/msr: what CPUID would answer, for the leaves that matter here."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from turbotui.simulated.layout import SimulatedCpu
from turbotui.simulated.model import Model
from turbotui.simulated.shapes import Isa, MachineShape
from turbotui.simulated.tree import Device, File, Folder, Node


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
        0x7: (0, 0, 0, int(shape.hybrid) << 15),
    }
    if shape.isa is Isa.INTEL:
        numerator, denominator = shape.crystal[1], shape.crystal[0]
        table[0x6] = (0x00DF_8FF7, 2, 0x9, 0)
        table[0x15] = (denominator, numerator, shape.crystal[2], 0)
        table[0x16] = (shape.reference_hz // 1_000_000, kind.max_mhz, 100, 0)
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
