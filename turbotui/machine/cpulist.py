"""CPU lists: the kernel's "0-3,8" and "ff,00000003", and the sets of --cpu."""

from __future__ import annotations

import re
from collections.abc import Iterable

from turbotui.errors import UsageError
from turbotui.quantities.plain_numbers import hexadecimal, integer, whole_number

MAX_CPUS = 8192
"""turbostat's bound on numbers in --cpu (docs/specs/turbostat.md 1.5), and the kernel's largest NR_CPUS on x86."""

MOST_CPUS = 1 << 16
"""Eight times the largest NR_CPUS of any architecture; a list or mask that goes beyond is damaged, and not expanded."""

_KERNEL_ITEM = re.compile(r"(\d+)(?:-(\d+)(?::(\d+)/(\d+))?)?\Z", re.ASCII)
_SET_ITEM = r"(?a)(\d+)(?:(?:-|\.\.)(\d+))?\Z"
_MASK_GROUP = r"[0-9a-fA-F]{1,8}\Z"


def parse_cpulist(text: str) -> frozenset[int]:
    """Parse a kernel list such as "0-3,8" or "0-31:2/8"; empty for an empty text.

    Grammar: kernel Documentation/admin-guide/kernel-parameters.rst, "cpu lists".

    Raises:
        ValueError: not a list.
    """
    stripped = text.strip(" \t\n\0")
    # old kernels print "(null)" for a mask that does not exist
    if stripped in ("", "(null)"):
        return frozenset()
    cpus: set[int] = set()
    named = 0
    for item in stripped.split(","):
        if (match := _KERNEL_ITEM.match(item.strip())) is None:
            raise ValueError(f"{item[:80]!r} is not a CPU or a range in the CPU list {stripped[:80]!r}")
        first = integer(match[1])
        last = first if match[2] is None else integer(match[2])
        if last >= MOST_CPUS:
            raise ValueError(f"{item!r} is beyond any CPU in the CPU list {stripped[:80]!r}")
        if last < first:
            raise ValueError(f"the range {item!r} runs backwards in the CPU list {stripped[:80]!r}")
        named += last - first + 1
        if named > MOST_CPUS:
            raise ValueError(f"CPUs are named again and again in the CPU list {stripped[:80]!r}")
        if match[3] is None:
            cpus.update(range(first, last + 1))
            continue
        used, group = integer(match[3]), integer(match[4])
        if not 0 < used <= group:
            raise ValueError(f"{item!r} uses {used} of every {group} CPUs in the CPU list {stripped[:80]!r}")
        cpus.update(cpu for cpu in range(first, last + 1) if (cpu - first) % group < used)
    return frozenset(cpus)


def format_cpulist(cpus: Iterable[int]) -> str:
    """Format CPUs as the kernel prints them, "0-3,8"; "" for none."""
    items: list[str] = []
    start = previous = -2
    for cpu in [*sorted(set(cpus)), -2]:
        if cpu == previous + 1:
            previous = cpu
            continue
        if previous >= 0:
            items.append(str(start) if start == previous else f"{start}-{previous}")
        start = previous = cpu
    return ",".join(items)


def parse_cpumask(text: str) -> frozenset[int]:
    """Parse a kernel hex mask such as "ff,00000003": 32 bits a group, highest first; groups may be short.

    Raises:
        ValueError: not a mask.
    """
    if not (stripped := text.strip(" \t\n\0")):
        return frozenset()
    bits = 0
    groups = stripped.split(",")
    if len(groups) * 32 > MOST_CPUS:
        raise ValueError(f"{len(groups)} groups of 32 are beyond any CPU in the CPU mask {stripped[:80]!r}")
    for group in groups:
        if re.match(_MASK_GROUP, group) is None:
            raise ValueError(f"{group!r} is not a group of the CPU mask {stripped[:80]!r}")
        bits = bits << 32 | hexadecimal(group)
    return _bits(bits)


def parse_cpu_set(text: str) -> frozenset[int]:
    """Parse a set of --cpu: N, N-M or N..M with M > N, joined by commas, one trailing comma allowed.

    Raises:
        UsageError: the text is no such set, or has numbers from 8192 on (docs/specs/turbostat.md 1.5).
    """
    items = text.strip().split(",")
    if len(items) > 1 and not items[-1]:
        items.pop()
    cpus: set[int] = set()
    for item in items:
        if (match := re.match(_SET_ITEM, item.strip())) is None:
            raise UsageError(
                f"--cpu {text!r}: {item!r} is not a CPU number or a range; write numbers and ranges joined by commas, "
                "such as 0,4-7 or 0..3")
        first = _cpu_number(match[1])
        last = first if match[2] is None else _cpu_number(match[2])
        if match[2] is not None and last <= first < MAX_CPUS:
            raise UsageError(f"--cpu {text!r}: the range {item!r} does not run upwards; write the lower CPU first")
        if last >= MAX_CPUS:
            raise UsageError(f"--cpu {text!r}: CPU {match[2] or match[1]} is out of range; CPU numbers end at "
                             f"{MAX_CPUS - 1}")
        cpus.update(range(first, last + 1))
    return frozenset(cpus)


def _cpu_number(digits: str) -> int:
    """Parse the number of a CPU; numbers with too many digits are out of range."""
    number = whole_number(digits)
    return MAX_CPUS if number is None else number


def _bits(bits: int) -> frozenset[int]:
    """Yield the positions of set bits, by bytes, so that sparse masks of thousands of CPUs are cheap."""
    cpus: list[int] = []
    for index, byte in enumerate(bits.to_bytes((bits.bit_length() + 7) // 8, "little")):
        if byte:
            cpus.extend(index * 8 + bit for bit in range(8) if byte >> bit & 1)
    return frozenset(cpus)
