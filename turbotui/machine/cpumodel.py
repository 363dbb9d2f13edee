"""The CPU model, from /proc/cpuinfo of any architecture."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.processors import arm_core, arm_implementer
from turbotui.machine.small_files import line_of, text_of
from turbotui.machine.view import architecture
from turbotui.quantities.plain_numbers import decimal_number, integer_of_c
from turbotui.untrusted import one_line

_ARCHITECTURES: Final = {"i486": "i386", "i586": "i386", "i686": "i386", "ppc64le": "ppc64", "armv7l": "arm",
                         "armv8l": "arm"}
"""Machine names of uname(2) that a `CpuModel` calls otherwise."""
AMD_VENDORS = frozenset({"AuthenticAMD", "HygonGenuine"})
"""Vendors of AMD's processors, and of processors made under AMD's licence."""


@dataclass(frozen=True, slots=True)
class CpuModel:
    """Vendor, family, model and flags of the first CPU."""

    # "x86_64", "i386", "aarch64", "arm", "s390x", "ppc64", "riscv64", "loongarch64", or "" if not recognised
    architecture: str = ""
    vendor: str = ""  # "GenuineIntel", "AuthenticAMD", "HygonGenuine", "Arm", "NVIDIA", "IBM/S390" ...; "" if unknown
    family: int | None = None  # x86 family (as the kernel prints it: base and extended already added)
    model: int | None = None  # x86 model, or None
    stepping: int | None = None  # x86 stepping, or None
    name: str = ""  # the name as the machine prints it; on Arm the names of all kinds of core, joined by " + "
    microcode: str = ""  # as printed ("0x2b000643"), or ""
    flags: frozenset[str] = frozenset()  # x86 flags, Arm Features, s390 features or RISC-V extensions of the first CPU
    hypervisor: bool = False  # whether the CPU tells that it runs under one
    implementer: int | None = None  # Arm MIDR_EL1[31:24], or None
    part: int | None = None  # Arm MIDR_EL1[15:4], or None
    mhz: float | None = None  # clock as /proc/cpuinfo shows it, or None

    @property
    def title(self) -> str:
        """The short name for titles: "Xeon Platinum 8480+", "EPYC 9755", "Neoverse-V2"."""
        return short_name(self.name) or self.vendor or self.architecture or "unknown CPU"

    @property
    def x86(self) -> bool:
        """Whether the CPU can have model-specific registers and the drivers for them."""
        return self.architecture in {"x86_64", "i386"}

    @property
    def x86_guest(self) -> bool:
        """Whether this is an x86 guest, whose hypervisor may hide features; other guests never had them."""
        return self.hypervisor and self.x86


_NOISE = (
    r"(?i)\((?:R|TM|C)\)|[®™]",
    r"(?i)\b\d+(?:st|nd|rd|th) Gen\b",
    r"@.*$",
    r"\bw(?:ith|/) .*$",  # "with Radeon Graphics"
    r"(?i)\b(?:\d+|Dual|Triple|Quad|Six|Eight|Twelve|Sixteen)-Cores?\b",
    r"(?i)\b(?:Processor|CPU|Intel|AMD|Genuine|Hygon)\b",
    r"(?i)\b\d+(?:\.\d+)?\s*[GM]Hz\b",
    r"\(.*?\)",
)


def short_name(name: str) -> str:
    """Return a name without vendor, trademark signs, clock and core count; the name itself if nothing is left."""
    short = name
    for noise in _NOISE:
        short = re.sub(noise, " ", short)
    short = " ".join(short.split()).strip(" ,;-")
    return short or " ".join(name.split())


def read_cpu_model(host: Host) -> CpuModel:
    """Read the first CPU of /proc/cpuinfo, without failing: missing facts are empty or None.

    A service may be kept from the file; then the kernel still tells its architecture.
    """
    try:
        text = host.read_text("/proc/cpuinfo")
    except HostError:
        return CpuModel(architecture=_ARCHITECTURES.get(architecture(host), architecture(host)))
    model = parse_cpu_model(text)
    if model.architecture in ("x86_64", "i386"):
        return model  # the flag "hypervisor" is from CPUID
    return replace(model, hypervisor=model.hypervisor or _in_guest(host))


def parse_cpu_model(text: str) -> CpuModel:
    """Parse the text of /proc/cpuinfo, whose form also tells the architecture."""
    first, keys = _first_values(text)
    if "cpu family" in keys and "vendor_id" in keys:
        return _x86(first)
    if "CPU implementer" in keys:
        return _arm(first, text)
    if keys.get("vendor_id", "").startswith("IBM/S390"):
        return _s390(keys)
    if keys.get("isa", "").startswith("rv"):
        return _riscv(first)
    if keys.get("cpu", "").upper().startswith(("POWER", "PPC")) or "timebase" in keys:
        return _power(keys)
    if keys.get("CPU Family", "").startswith("Loongson"):
        name = keys.get("Model Name", "")
        flags = frozenset(keys.get("Features", "").split())
        return CpuModel(architecture="loongarch64", vendor="Loongson", name=name, flags=flags, mhz=_mhz(keys))
    return CpuModel(name=keys.get("model name", "") or keys.get("Processor", ""))


def _first_values(text: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the first CPU's keys, and the first value of every key anywhere, including machine-wide lines."""
    block: dict[str, str] = {}
    anywhere: dict[str, str] = {}
    processors = 0
    for line in text.splitlines():
        key, separator, value = line.partition(":")
        if not separator:
            continue
        key, value = key.strip(), one_line(value)
        processors += key == "processor"
        if processors == 1:
            block.setdefault(key, value)
        anywhere.setdefault(key, value)
    # 32-bit Arm kernels before 3.8 print features and implementer once, after all processors.
    shared = {key: value for key, value in anywhere.items() if key == "Features" or key.startswith("CPU ")}
    return {**shared, **block}, anywhere


def _x86(block: Mapping[str, str]) -> CpuModel:
    flags = frozenset(block.get("flags", "").split())
    name = block.get("model name", "")
    return CpuModel(
        architecture="x86_64" if "lm" in flags else "i386",  # "lm", long mode: CPUID 0x80000001 EDX[29]
        vendor=block.get("vendor_id", ""),
        family=_integer(block.get("cpu family")),
        model=_integer(block.get("model")),
        stepping=_integer(block.get("stepping")),
        name="" if name == "unknown" else " ".join(name.split()),
        microcode=block.get("microcode", ""),
        flags=flags,
        hypervisor="hypervisor" in flags,  # CPUID 1 ECX[31]
        mhz=_mhz(block),
    )


_ARM_CORE = r"(?m)^CPU (implementer|part)\s*:\s*(\w+)"


def _arm_names(text: str) -> list[str]:
    """Return the names of all core types of the machine, each once, in the order of their first CPU."""
    parts: dict[tuple[int, int], None] = {}
    implementer: int | None = None
    for key, value in re.findall(_ARM_CORE, text):
        if key == "implementer":
            implementer = _integer(value)
            continue
        part = _integer(value)
        if implementer is not None and part is not None:
            parts[implementer, part] = None
    return list(dict.fromkeys(_arm_name(implementer, part) for implementer, part in parts))


def _arm_name(implementer: int, part: int) -> str:
    core = arm_core(implementer, part)
    return f"{arm_implementer(implementer)} part {part:#05x}" if core is None else core.name


def _arm(block: Mapping[str, str], text: str) -> CpuModel:
    implementer = _integer(block.get("CPU implementer"))
    part = _integer(block.get("CPU part"))
    vendor = "" if implementer is None else arm_implementer(implementer)
    flags = frozenset(block.get("Features", "").split())
    # A 64-bit kernel prints "fp" and "asimd", a 32-bit one "vfp" and "neon" (kernel arch/arm64/elf_hwcaps.rst).
    is_64 = block.get("CPU architecture") == "AArch64" or bool(flags & {"asimd", "fp", "sve"})
    return CpuModel(architecture="aarch64" if is_64 else "arm", vendor=vendor,
        name=" + ".join(_arm_names(text)) or block.get("model name", ""), flags=flags, implementer=implementer,
        part=part, mhz=_mhz(block))


def _s390(keys: Mapping[str, str]) -> CpuModel:
    line = next((value for key, value in keys.items() if key.startswith("processor ")), "")
    match = re.search(r"machine\s*=\s*(\w+)", line)
    machine = keys.get("machine") or (match[1] if match else "")
    return CpuModel(architecture="s390x", vendor="IBM/S390", name=f"IBM {machine}" if machine else "IBM/S390",
        flags=frozenset(keys.get("features", "").split()), mhz=decimal_number(keys.get("cpu MHz dynamic", "")))


def _power(keys: Mapping[str, str]) -> CpuModel:
    name = keys.get("cpu", "").partition(",")[0]  # "POWER9, altivec supported"
    return CpuModel(
        architecture="ppc64",
        vendor="IBM" if name.upper().startswith("POWER") else "",
        name=name,
        hypervisor="pSeries" in keys.get("platform", ""),  # PowerNV is the bare machine
        mhz=decimal_number(keys.get("clock", "").removesuffix("MHz")),
    )


def _riscv(block: Mapping[str, str]) -> CpuModel:
    base, *extensions = block.get("isa", "").split("_")
    return CpuModel(architecture="riscv32" if base.startswith("rv32") else "riscv64", vendor=block.get("mvendorid", ""),
        name=block.get("model name", "") or block.get("uarch", ""), flags=frozenset([*base[4:], *extensions]))


def _integer(text: str | None) -> int | None:
    """Parse a decimal or 0x number from 0 up; None for other texts, such as old kernels' stepping "unknown"."""
    try:
        number = None if text is None else integer_of_c(text)
    except ValueError:
        return None
    return None if number is None or number < 0 else number


def _mhz(block: Mapping[str, str]) -> float | None:
    return decimal_number(block.get("cpu MHz") or block.get("CPU MHz") or "")


_VIRTUAL_PRODUCTS = r"(?i)QEMU|KVM|VMware|VirtualBox|Virtual Machine|OpenStack|Bochs"


def _in_guest(host: Host) -> bool:
    """Tell whether there is a hypervisor, on architectures whose /proc/cpuinfo does not tell."""
    if line_of(host, "/sys/hypervisor/type") or host.exists("/proc/device-tree/hypervisor"):  # Xen; device-tree guests
        return True
    if re.search(r"^(?:LPAR|VM\d+) ", text_of(host, "/proc/sysinfo"), re.MULTILINE):  # s390: PR/SM or z/VM, KVM
        return True
    product = line_of(host, "/sys/class/dmi/id/product_name") + line_of(host, "/sys/class/dmi/id/sys_vendor")
    return re.search(_VIRTUAL_PRODUCTS, product) is not None
