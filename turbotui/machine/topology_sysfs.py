"""Reads each CPU's ids and masks from /sys/devices/system and /proc, unresolved; -1 or None if missing.

Files: kernel Documentation/ABI/stable/sysfs-devices-system-cpu and .../testing/sysfs-devices-system-cpu,
Documentation/admin-guide/cputopology.rst.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.machine.cpulist import MOST_CPUS, format_cpulist, parse_cpulist, parse_cpumask
from turbotui.machine.host import Host, HostError
from turbotui.machine.small_files import names_in
from turbotui.machine.view import CONTAINER_NOTE
from turbotui.quantities.by_key import sets_by_key
from turbotui.quantities.plain_numbers import integer_or_none, whole_number

CPUS = "/sys/devices/system/cpu"
NODES = "/sys/devices/system/node"

UNSAID = -1
_NO_IDS = frozenset({0xFFFF, 0xFFFFFFFF})
"""BAD_APICID and -1 as the unsigned types of several architectures print them (x86 cluster_id 65535)."""

Mask: TypeAlias = "frozenset[int] | None"

_CPU_MAP = "/proc/device-tree/cpus/cpu-map"
_CORE_MASKS = ("core_cpus_list", "thread_siblings_list", "core_cpus", "thread_siblings")
_MODULE_MASKS = ("cluster_cpus_list", "cluster_cpus")
_DIE_MASKS = ("die_cpus_list", "die_cpus")
_PACKAGE_MASKS = ("package_cpus_list", "core_siblings_list", "package_cpus", "core_siblings")


@dataclass(frozen=True, slots=True)
class CpuFacts:
    """One online CPU; ids are -1 and masks None without a (valid) file.

    Masks are as in the file, including offline CPUs.
    """

    cpu: int
    package: int = UNSAID
    book: int = UNSAID
    drawer: int = UNSAID
    die: int = UNSAID
    module: int = UNSAID
    core: int = UNSAID
    package_mask: Mask = None
    die_mask: Mask = None
    module_mask: Mask = None
    core_mask: Mask = None
    has_l3: bool = False
    l3: int = UNSAID
    l3_mask: Mask = None
    node: int = UNSAID
    capacity: int = UNSAID
    part: str = ""  # the core's identity in /proc/cpuinfo: implementer and part, or RISC-V's ids


@dataclass(frozen=True, slots=True)
class OnlineCpus:
    """All online CPUs, and the numbers of the others."""

    cpus: Mapping[int, CpuFacts]
    present: frozenset[int]
    possible: frozenset[int]
    notes: tuple[str, ...]


class SysfsReader:
    """Reads small files of one host; equal CPU lists are parsed once, which makes 1,024 CPUs cheap."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._parsed: dict[tuple[bool, str], Mask] = {}

    def text(self, path: str) -> str | None:
        """Return a file without its surrounding blanks; None if it cannot be read."""
        try:
            return self._host.read_text(path).strip(" \t\n␀")  # a string of a device tree ends with NUL
        except HostError:
            return None

    def names(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory; none if it cannot be read."""
        return names_in(self._host, path)

    def number(self, path: str) -> int:
        """Return a decimal id; -1 if the file is missing, invalid or has one of the kernel's "no id" values."""
        value = integer_or_none(self.text(path))
        return UNSAID if value is None or value < 0 or value in _NO_IDS else value

    def cpus(self, path: str) -> Mask:
        """Return a CPU list (name ends in "list", or such as online) or mask; None if missing, invalid or empty."""
        if not (text := self.text(path)):
            return None
        is_mask = path.endswith(("siblings", "_cpus", "_map", "cpumap"))
        key = (is_mask, text)
        if key not in self._parsed:
            self._parsed[key] = _parsed(parse_cpumask if is_mask else parse_cpulist, text)
        return self._parsed[key]

    def core_mask(self, cpu: int) -> frozenset[int]:
        """Return the CPUs of a CPU's core; none if the files do not say."""
        return self.first_mask(f"{CPUS}/cpu{cpu}/topology", _CORE_MASKS) or frozenset()

    def first_mask(self, directory: str, names: Iterable[str]) -> Mask:
        """Return the first of several masks that exists."""
        masks = (self.cpus(f"{directory}/{name}") for name in names)
        return next((mask for mask in masks if mask is not None), None)


def _parsed(parse: Callable[[str], frozenset[int]], text: str) -> Mask:
    try:
        return parse(text) or None
    except ValueError:
        return None


def read_facts(host: Host) -> OnlineCpus:
    """Read the facts of all online CPUs; `cpus` is empty if the machine names none."""
    read = SysfsReader(host)
    blocks = cpuinfo_blocks(read.text("/proc/cpuinfo") or "")
    listed = _numbered(read.names(CPUS), "cpu")
    notes = [] if listed else [f"{CPUS} lists no CPU; /proc was asked instead"]
    if host.privileges().renumbered:
        notes = [CONTAINER_NOTE]
    online = _online(read, listed, blocks, notes)
    present = (read.cpus(f"{CPUS}/present") or listed) | online
    possible = (read.cpus(f"{CPUS}/possible") or present) | present
    nodes = _nodes(read, online, listed)
    facts: dict[int, CpuFacts] = {}
    for cpu in sorted(online):
        node, block = nodes.get(cpu, UNSAID), blocks.get(cpu, {})
        facts[cpu] = _cpu_facts(read, cpu, node, block) if cpu in listed else _without_files(cpu, node, block)
    facts = _with_dies(facts)
    return OnlineCpus(_clusters_in_packages(read, facts, notes), present, possible, tuple(notes))


def _with_dies(facts: dict[int, CpuFacts]) -> dict[int, CpuFacts]:
    """Give a CPU whose die_id could not be read the die of its package, if the other CPUs there tell a single one."""
    dies = sets_by_key((fact.package, fact.die) for fact in facts.values())
    mixed = {package: max(numbers) for package, numbers in dies.items()
             if package != UNSAID and len(numbers) == 2 and UNSAID in numbers}
    return {cpu: replace(fact, die=mixed[fact.package]) if fact.die == UNSAID and fact.package in mixed else fact
            for cpu, fact in facts.items()} if mixed else facts


def _clusters_in_packages(
    read: SysfsReader, facts: Mapping[int, CpuFacts], notes: list[str]
) -> Mapping[int, CpuFacts]:
    """Correct facts of Arm chips, whose clusters are modules, and not packages as kernels before 6.0 call them."""
    ids = {fact.package for fact in facts.values()}
    if len(ids) < 2 or any(not fact.part or fact.module != UNSAID or fact.package < 0 for fact in facts.values()):
        return facts
    # since Linux 6.0 (drivers/base/arch_topology.c) a package is a socket of the device tree's cpu-map, and without one
    # there is one package
    named = read.names(_CPU_MAP)
    if any(name.startswith("socket") for name in named):
        return facts
    parts = {package: {fact.part for fact in facts.values() if fact.package == package} for package in ids}
    shared = [{facts[cpu].package for cpu in fact.l3_mask or () if cpu in facts} for fact in facts.values()]
    # without a cpu-map to read, "packages" with a common L3 or with unlike cores are one chip
    if not named and all(part == parts[min(ids)] for part in parts.values()) and all(len(same) < 2 for same in shared):
        return facts
    notes.append(f"the {len(ids)} packages that the kernel tells are clusters of one; kernels from 6.0 on say so")
    whole = frozenset(facts)
    return {cpu: replace(fact, package=min(ids), package_mask=whole, module=fact.package,
                         module_mask=fact.package_mask) for cpu, fact in facts.items()}


def _online(
    read: SysfsReader, listed: frozenset[int], blocks: Mapping[int, Mapping[str, str]], notes: list[str]
) -> frozenset[int]:
    """Find online CPUs by the kernel's list, else each CPU's files, else /proc/stat, else /proc/cpuinfo.

    Args:
        listed: CPUs with a directory of their own.
        blocks: /proc/cpuinfo by CPU.
        notes: gets notes about parts of the kernel's list that were rejected.

    Raises:
        MachineError: more CPUs are named than any kernel can have.
    """
    path = f"{CPUS}/online"
    online = read.cpus(path)
    counted = _numbered((line.split(" ", 1)[0] for line in (read.text("/proc/stat") or "").splitlines()), "cpu")
    if online:
        # Every online CPU has a directory and is in each of these lists, so a CPU in none of them does not exist.
        # Without another list, a directory may be missing from a recording, but not most of them.
        lists = counted | frozenset(blocks) | (read.cpus(f"{CPUS}/present") or frozenset())
        made_up = online - listed - lists
        if not made_up or made_up == online or (not lists and 2 * len(made_up) <= len(online)):
            return online
        notes.append(f"{path} names CPUs {format_cpulist(made_up)}, which nothing else knows; they were left out")
        return online - made_up
    text = read.text(path)
    if text:
        notes.append(f"{path} is no list of CPUs up to {MOST_CPUS - 1} ({text[:40]!r}); other files were asked instead")
    # cpu0 often has no such file, because it cannot be taken offline; a CPU without the file is online.
    own = frozenset(cpu for cpu in listed if read.text(f"{CPUS}/cpu{cpu}/online") != "0")
    known = own or counted or frozenset(blocks)
    if text and not known:
        raise MachineError(
            f"{path} says {text[:40]!r}, which is no list of CPUs up to {MOST_CPUS - 1}, and neither {CPUS} nor /proc "
            "names one; the file is damaged")
    if known and (len(known) > MOST_CPUS or max(known) >= MOST_CPUS):
        raise MachineError(
            f"{len(known)} CPUs up to number {max(known)} are named by {CPUS} or /proc: no kernel has more than "
            f"{MOST_CPUS}; the files are damaged")
    return known


_PARTS = (("CPU implementer", "CPU part"), ("mvendorid", "marchid"))


def _part(block: Mapping[str, str]) -> str:
    """Return a core's identity without variant and revision: Arm's MIDR_EL1, RISC-V's mvendorid and marchid."""
    return next((f"{block[maker]} {block[part]}" for maker, part in _PARTS if maker in block and part in block), "")


def _without_files(cpu: int, node: int, block: Mapping[str, str]) -> CpuFacts:
    """Make the facts of a CPU without a directory from /proc/cpuinfo."""
    return CpuFacts(cpu, package=_decimal(block.get("physical id")), core=_decimal(block.get("core id")), node=node,
                    part=_part(block))


def _numbered(names: Iterable[str], prefix: str) -> frozenset[int]:
    return frozenset(number for name in names if name.startswith(prefix)
                     and (number := whole_number(name[len(prefix) :])) is not None)


def _nodes(read: SysfsReader, online: frozenset[int], listed: frozenset[int]) -> dict[int, int]:
    """Return the NUMA node of each online CPU, by the nodes' lists or masks, else by each CPU's nodeM entry."""
    nodes: dict[int, int] = {}
    for node in sorted(_numbered(read.names(NODES), "node")):
        for cpu in read.first_mask(f"{NODES}/node{node}", ("cpulist", "cpumap")) or ():
            nodes.setdefault(cpu, node)
    for cpu in (online & listed) - nodes.keys():
        if beside := _numbered(read.names(f"{CPUS}/cpu{cpu}"), "node"):
            nodes[cpu] = min(beside)
    return nodes


def _cpu_facts(read: SysfsReader, cpu: int, node: int, block: Mapping[str, str]) -> CpuFacts:
    base = f"{CPUS}/cpu{cpu}"
    topology = f"{base}/topology"
    package = read.number(f"{topology}/physical_package_id")
    core = read.number(f"{topology}/core_id")
    has_l3, l3, l3_mask = _l3(read, f"{base}/cache")
    return CpuFacts(
        cpu=cpu,
        package=package if package >= 0 else _decimal(block.get("physical id")),
        book=read.number(f"{topology}/book_id"),
        drawer=read.number(f"{topology}/drawer_id"),
        die=read.number(f"{topology}/die_id"),
        module=read.number(f"{topology}/cluster_id"),
        core=core if core >= 0 else _decimal(block.get("core id")),
        package_mask=read.first_mask(topology, _PACKAGE_MASKS),
        die_mask=read.first_mask(topology, _DIE_MASKS),
        module_mask=read.first_mask(topology, _MODULE_MASKS),
        core_mask=read.first_mask(topology, _CORE_MASKS),
        has_l3=has_l3,
        l3=l3,
        l3_mask=l3_mask,
        node=node,
        capacity=read.number(f"{base}/cpu_capacity"),
        part=_part(block),
    )


def _l3(read: SysfsReader, cache: str) -> tuple[bool, int, Mask]:
    """Find a level 3 data cache, its id and its CPUs; its index depends on the levels below."""
    index = "index3"
    if read.text(f"{cache}/index3/level") != "3":
        candidates = [name for name in read.names(cache) if name.startswith("index") and name != "index3"]
        index = next((name for name in candidates if read.text(f"{cache}/{name}/level") == "3"), "")
        if not index:
            return False, UNSAID, None
    directory = f"{cache}/{index}"
    return True, read.number(f"{directory}/id"), read.first_mask(directory, ("shared_cpu_list", "shared_cpu_map"))


_BLOCK_START = re.compile(r"(?:processor|cpu number)\s*:\s*(\d+)\s*$", re.IGNORECASE)


def cpuinfo_blocks(text: str) -> dict[int, dict[str, str]]:
    """Parse /proc/cpuinfo by CPU: the blocks that begin with "processor : N" or "cpu number : N"."""
    blocks: dict[int, dict[str, str]] = {}
    current: dict[str, str] | None = None
    for line in text.splitlines():
        if (start := _BLOCK_START.match(line)) is not None:
            number = whole_number(start[1])
            current = None if number is None else blocks.setdefault(number, {})
        elif current is not None:
            key, separator, value = line.partition(":")
            if separator:
                current[key.strip()] = value.strip()
    return blocks


def _decimal(text: str | None) -> int:
    number = None if text is None else whole_number(text)
    return UNSAID if number is None or number in _NO_IDS else number
