"""Header lines about the processor: CPUID, feature registers, prefetchers (docs/specs/turbostat.md 5, rows 4-13, 45).

Without the cpuid device, the flags of /proc/cpuinfo are used (docs/specs/turbostat.md 11.1).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from functools import partial

from turbotui.features.info.machine_facts import HeaderLine, MachineFacts, negated_unless
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.topology_sysfs import cpuinfo_blocks
from turbotui.quantities.plain_numbers import decimal_number, integer, integer_of_c
from turbotui.untrusted import decoded, one_line

_CPUINFO = "/proc/cpuinfo"
_LEVEL = r"(?m)^cpuid level\s*:\s*([0-9]{1,9})$"
_BOGOMIPS = r"(?im)^bogomips(?: per cpu)?\s*:\s*(\S+)$"
_MICROCODE = 0x8B
_FEATURE_CONTROL = 0x3A
_MISC_ENABLE = 0x1A0
_PREFETCH_CONTROL = 0x1A4

# word, feature (docs/specs/turbostat.md 5 rows 7 and 10, 11.1)
_BASIC = (
    ("SSE3", "pni"), ("MONITOR", "monitor"), ("SMX", "smx"), ("EIST", "est"), ("TM2", "tm2"), ("HV", "hypervisor"),
    ("TSC", "tsc"), ("MSR", "msr"), ("ACPI-TM", "acpi"), ("HT", "ht"), ("TM", "tm"),
)
_POWER = (
    ("APERF", "aperfmperf"), ("TURBO", "ida"), ("DTS", "dtherm"), ("PTM", "pts"), ("HWP", "hwp"),
    ("HWPnotify", "hwp_notify"), ("HWPwindow", "hwp_act_window"), ("HWPepp", "hwp_epp"), ("HWPpkg", "hwp_pkg_req"),
    ("EPB", "epb"),
)


def _vendor(facts: MachineFacts) -> Iterable[HeaderLine]:
    vendor = facts.machine.model.vendor
    if (leaf := facts.leaf(0)) is not None:
        name = one_line(decoded(struct.pack("<3I", leaf.ebx, leaf.edx, leaf.ecx)))
        yield HeaderLine(f"CPUID(0): {name} {leaf.eax:#x} CPUID levels", "CPUID 0")
        return
    level = re.search(_LEVEL, facts.text(_CPUINFO) or "")
    if vendor and level is not None:
        yield HeaderLine(f"CPUID(0): {vendor} {integer(level[1]):#x} CPUID levels", _CPUINFO)


def _identity(facts: MachineFacts) -> Iterable[HeaderLine]:
    model = facts.machine.model
    if model.family is None or model.model is None:
        return
    stepping = model.stepping or 0
    text = (f"CPUID(1): family:model:stepping {model.family:#x}:{model.model:x}:{stepping:x} "
            f"({model.family}:{model.model}:{stepping})")
    word = facts.register(_MICROCODE)
    if word is not None:  # Intel keeps the revision in the upper half, AMD in the lower (docs/specs/turbostat.md 4)
        yield HeaderLine(f"{text} microcode {word >> 32 if facts.intel else word & 0xFFFFFFFF:#x}", "CPUID 1, MSR 0x8b")
    else:
        microcode = f" microcode {model.microcode}" if model.microcode else ""
        yield HeaderLine(f"{text}{microcode}", _CPUINFO)


def _extended(facts: MachineFacts) -> Iterable[HeaderLine]:
    if (leaf := facts.leaf(0x8000_0000)) is not None:
        yield HeaderLine(f"CPUID(0x80000000): max_extended_levels: {leaf.eax:#x}", "CPUID 0x80000000")


def _flags(number: int, words: Iterable[tuple[str, str]], between: str, facts: MachineFacts) -> Iterable[HeaderLine]:
    """Words of a leaf, with "No-" before features that the machine lacks."""
    if facts.machine.model.architecture in ("x86_64", "i386"):
        origin = f"flags of {_CPUINFO}" if facts.leaf(number) is None else f"CPUID {number}"
        text = between.join(negated_unless(facts.has(flag), word) for word, flag in words)
        yield HeaderLine(f"CPUID({number}): {text}", origin)


def _hypervisor(facts: MachineFacts) -> Iterable[HeaderLine]:
    """Return the name that a hypervisor gives itself, without affecting the extended leaves' maximum."""
    leaf = facts.leaf(0x4000_0000) if facts.machine.model.hypervisor else None
    if leaf is not None:
        name = one_line(decoded(struct.pack("<3I", leaf.ebx, leaf.ecx, leaf.edx)))
        yield HeaderLine(f"Hypervisor: {name}", "CPUID 0x40000000")


def _platform(facts: MachineFacts) -> Iterable[HeaderLine]:
    if facts.machine.platform.note:
        yield HeaderLine(f"Platform: {facts.machine.platform.note}", "platform table")


def _misc_enable(facts: MachineFacts) -> Iterable[HeaderLine]:
    if facts.intel:
        yield from facts.line(_MISC_ENABLE, "MSR_IA32_MISC_ENABLE", lambda word: " ".join((
            negated_unless(word >> 3 & 1, "TCC"), negated_unless(word >> 16 & 1, "EIST"),
            negated_unless(word >> 18 & 1, "MWAIT"),
            negated_unless(not word >> 9 & 1, "PREFETCH"), negated_unless(not word >> 38 & 1, "TURBO"))))


def _extensions(facts: MachineFacts) -> Iterable[HeaderLine]:
    if (leaf := facts.leaf(7)) is not None:
        words = f"{negated_unless(facts.has('sgx'), 'SGX')} {negated_unless(leaf.edx >> 15 & 1, 'Hybrid')}"
        yield HeaderLine(f"CPUID(7): {words}", "CPUID 7")
    elif facts.intel:
        kinds = facts.machine.topology.kinds  # /proc/cpuinfo has no flag for it
        hybrid = f" {negated_unless(kinds.several, 'Hybrid')}" if kinds.by else ""
        origin = f"flags of {_CPUINFO}, {kinds.by}" if kinds.by else f"flags of {_CPUINFO}"
        yield HeaderLine(f"CPUID(7): {negated_unless(facts.has('sgx'), 'SGX')}{hybrid}", origin)


def _feature_control(facts: MachineFacts) -> Iterable[HeaderLine]:
    if facts.has("sgx"):
        yield from facts.line(_FEATURE_CONTROL, "MSR_IA32_FEATURE_CONTROL", lambda word: (
            f"{negated_unless(word & 1, 'Locked', 'UN-')} {'SGX' if word >> 18 & 1 else ''}"))


def _prefetch(facts: MachineFacts) -> Iterable[HeaderLine]:
    """Bits 0 to 3 disable one prefetcher each (Intel SDM vol. 4, MSR_MISC_FEATURE_CONTROL)."""
    if facts.machine.platform.features.has_misc_feature_control:
        names = ("L2-Prefetch", "L2-Prefetch-pair", "L1-Prefetch", "L1-IP-Prefetch")
        yield from facts.line(_PREFETCH_CONTROL, "MSR_MISC_FEATURE_CONTROL", lambda word: " ".join(
            negated_unless(not word >> bit & 1, name) for bit, name in enumerate(names)))


def _revisions(facts: MachineFacts) -> Iterable[HeaderLine]:
    """Variant and revision of Arm's cores, MIDR_EL1[23:20] and [3:0], as lscpu and Arm's errata write them: r1p1."""
    revisions: dict[str, set[int]] = {}
    for cpu, block in cpuinfo_blocks(facts.text(_CPUINFO) or "").items():
        try:
            variant, revision = integer_of_c(block.get("CPU variant", "")), integer_of_c(block.get("CPU revision", ""))
        except ValueError:
            continue
        if variant >= 0 and revision >= 0:
            revisions.setdefault(f"r{variant}p{revision}", set()).add(cpu)
    if revisions:
        each = [name if len(revisions) == 1 else f"{name} (CPUs {format_cpulist(cpus)})" for name,
                cpus in revisions.items()]
        yield HeaderLine(f"Revision: {', '.join(each)}", _CPUINFO)


def _bogomips(facts: MachineFacts) -> Iterable[HeaderLine]:
    """The kernel's calibration of its delay loop, of all CPUs or (s390) once for each."""
    speeds = {number for text in re.findall(_BOGOMIPS, facts.text(_CPUINFO) or "")
              if (number := decimal_number(text)) is not None and number >= 0}
    if speeds:
        least, most = min(speeds), max(speeds)
        yield HeaderLine(f"BogoMIPS: {least:.2f}{'' if least == most else f' to {most:.2f}'}", _CPUINFO)


FACTS = (_vendor, _identity, _extended, partial(_flags, 1, _BASIC, " "), _hypervisor, _platform,
         partial(_flags, 6, _POWER, ", "), _misc_enable, _extensions, _feature_control)
PREFETCH_FACTS = (_prefetch,)
LSCPU_FACTS = (_revisions, _bogomips)
"""Lines that turbostat does not have, and lscpu has."""
