"""perf's identifiers of CPUs, and the rows of a mapfile.csv that match them.

Shapes: kernel tools/perf/arch/{x86,arm64}/util/header.c; rows: tools/perf/pmu-events/README, "Mapfile format".
"""

from __future__ import annotations

import re
import warnings

from turbotui.machine.cpulist import parse_cpulist
from turbotui.machine.cpumodel import read_cpu_model
from turbotui.machine.host import Host
from turbotui.machine.pmus import DEVICES, list_pmus
from turbotui.machine.small_files import line_of
from turbotui.quantities.plain_numbers import hexadecimal

_MIDR = "/sys/devices/system/cpu/cpu{}/regs/identification/midr_el1"
_VERSION = 0xF0000F  # MIDR_EL1: Variant [23:20], Revision [3:0] (Arm ARM D24.2.122)
_ARCHITECTURE_BY_CPUID = 0xF << 16  # MIDR_EL1.Architecture: "individual features in the ID registers"
_CLASSES = (("[[:xdigit:]]", "[0-9a-fA-F]"), ("[:xdigit:]", "0-9a-fA-F"))
"""The only named class of POSIX expressions in mapfiles, in the syntax of Python's `re`."""
_PARTS = 4  # vendor-family-model-stepping
ARCHITECTURES = {"x86_64": "x86", "i386": "x86", "aarch64": "arm64"}
"""Directories of pmu-events by the machine's architecture."""


def cpuid_of(host: Host) -> str:
    """Return perf's identifier of the CPU, "GenuineIntel-6-8F-8" or "0x00000000410fd4f0"; "" if unknown."""
    model = read_cpu_model(host)
    if model.x86 and model.vendor and model.family is not None and model.model is not None:
        return f"{model.vendor}-{model.family}-{model.model:X}-{model.stepping or 0:X}"
    if model.architecture == "aarch64":
        for cpu in range(2):  # CPU 0 may be offline
            try:
                return f"{hexadecimal(line_of(host, _MIDR.format(cpu))):#018x}"
            except ValueError:
                continue
        if model.implementer is not None and model.part is not None:
            return f"{model.implementer << 24 | _ARCHITECTURE_BY_CPUID | model.part << 4:#018x}"
    return ""


def cpuids_of_cores(host: Host) -> dict[str, str]:
    """Return the identifier of each core type of an Arm machine by its PMU; {} on machines with one core type."""
    if read_cpu_model(host).architecture != "aarch64":
        return {}
    cpuids: dict[str, str] = {}
    for pmu in list_pmus(host):
        try:
            cpus = sorted(parse_cpulist(line_of(host, f"{DEVICES}/{pmu}/cpus")))
            midrs = (line_of(host, _MIDR.format(cpu)) for cpu in cpus)  # offline CPUs have no such file
            cpuids[pmu] = f"{hexadecimal(next(filter(None, midrs), '')):#018x}"
        except ValueError:
            continue
    return cpuids if len({hexadecimal(text) & ~_VERSION for text in cpuids.values()}) > 1 else {}


def matches(pattern: str, cpuid: str) -> bool:
    """Tell whether a row's CPUID matches this CPU."""
    if pattern.startswith("0x") and cpuid.startswith("0x"):
        # on Arm the row has a MIDR, and the CPU's variant and revision may be later than the row's
        return _same_midr(pattern, cpuid)
    for posix, python in _CLASSES:
        pattern = pattern.replace(posix, python)
    # on x86 the row has an expression for the whole identifier, whose stepping counts only if the row has one
    full = len(re.sub(r"\[[^\]]*\]", "", pattern).split("-")) >= _PARTS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # "[[" in a file would print a warning on the screen
        try:
            return re.fullmatch(pattern, cpuid if full else "-".join(cpuid.split("-")[: _PARTS - 1])) is not None
        except (re.error, OverflowError, RecursionError):  # the file is from outside and may repeat 10^30 times
            return False


def _same_midr(pattern: str, cpuid: str) -> bool:
    try:
        row, cpu = hexadecimal(pattern), hexadecimal(cpuid)
    except ValueError:
        return False
    version = (cpu >> 20 & 0xF, cpu & 0xF), (row >> 20 & 0xF, row & 0xF)
    return row & ~_VERSION == cpu & ~_VERSION and version[0] >= version[1]
