"""Header lines about the machine's parts: packages to threads, core types with clocks, caches, nodes, memory.

Files: kernel Documentation/ABI/testing/sysfs-devices-system-cpu and sysfs-devices-node; proc_meminfo(5). A count that
no file gives is left out; an offline CPU has no files, so its caches and node are not counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.info.machine_facts import HeaderLine, MachineFacts
from turbotui.machine.caches import parse_size
from turbotui.machine.cpulist import format_cpulist, parse_cpulist, parse_cpumask
from turbotui.machine.memory import Module, read_memory
from turbotui.machine.topology_kinds import type_rank
from turbotui.quantities.by_key import sums_by_key
from turbotui.quantities.plain_numbers import integer, numbers_by_name
from turbotui.quantities.scope import Scope
from turbotui.untrusted import one_line

_CPUS: Final = "/sys/devices/system/cpu"
_NODES: Final = "/sys/devices/system/node"
_MEMINFO: Final = "/proc/meminfo"
_TOPOLOGY: Final = f"{_CPUS}/cpu*/topology"
_INDEX: Final = r"(?a)index\d+\Z"
_NODE: Final = r"(?a)node(\d{1,9})\Z"
_KIB: Final = r"(?a)(MemTotal|MemFree):\s*(\d+) kB"
_ADDRESSES: Final = r"(?am)^address sizes\s*:\s*(\d{1,3}) bits physical, (\d{1,3}) bits virtual"
_VIRTUAL: Final = {"vmx": "VT-x", "svm": "AMD-V"}
_LETTERS: Final = {"Data": "d", "Instruction": "i"}
_GIB: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class CacheKind:
    """Caches of one level and size."""

    name: str  # "L1d", "L2"
    size: int  # bytes of one of them
    ways: int  # 0 if the kernel does not tell, or contradicts size, sets and lines
    line: int  # bytes of a line; 0 if the kernel does not tell
    shared: tuple[frozenset[int], ...]  # the CPUs of each cache


def cache_kinds(facts: MachineFacts) -> tuple[CacheKind, ...]:
    """Return the caches of online CPUs by level, instructions before data, larger ones first."""
    kinds: dict[tuple[str, int, int, int], list[frozenset[int]]] = {}
    seen: set[tuple[str, int]] = set()
    for cpu in sorted(_online_cpus(facts)):
        base = f"{_CPUS}/cpu{cpu}/cache"
        for index in (name for name in facts.names(base) if re.match(_INDEX, name)):
            if (index, cpu) in seen:
                continue
            key = _cache(facts, f"{base}/{index}")
            if key is None:
                continue
            shared = _sharing(facts, f"{base}/{index}") or frozenset({cpu})
            seen |= {(index, other) for other in shared}
            kinds.setdefault(key, []).append(shared)
    order = sorted(kinds, key=lambda key: (key[0][1], key[0], -key[1]))
    return tuple(CacheKind(*key, tuple(kinds[key])) for key in order)


def _cache(facts: MachineFacts, path: str) -> tuple[str, int, int, int] | None:
    level, kind = facts.number(f"{path}/level"), facts.text(f"{path}/type") or ""
    try:
        size = parse_size(facts.text(f"{path}/size") or "")
    except ValueError:
        return None
    if level is None:
        return None
    ways, line, sets = (facts.number(f"{path}/{file}") or 0
                        for file in ("ways_of_associativity", "coherency_line_size", "number_of_sets"))
    # Firmware of some Arm servers has a field of four bits for the ways: 15 instead of 128.
    sectors = facts.number(f"{path}/physical_line_partition") or 1
    contradicted = bool(sets and line) and sets * line * ways * sectors != size
    return f"L{level}{_LETTERS.get(kind, '')}", size, 0 if contradicted else ways, line


def _sharing(facts: MachineFacts, folder: str) -> frozenset[int]:
    """Return the CPUs that share a cache, by the mask, which every kernel has."""
    try:
        masked = parse_cpumask(facts.text(f"{folder}/shared_cpu_map") or "")
    except ValueError:
        masked = frozenset()
    return masked or _cpus(facts, f"{folder}/shared_cpu_list")


def _online_cpus(facts: MachineFacts) -> frozenset[int]:
    """Return the machine's CPUs, measured or not, but for those that are offline."""
    topology = facts.machine.topology
    return frozenset(topology.present).difference(topology.offline).union(topology.cpus)


def _cpus(facts: MachineFacts, path: str) -> frozenset[int]:
    try:
        return parse_cpulist(facts.text(path) or "")
    except ValueError:
        return frozenset()


def _model(facts: MachineFacts) -> Iterable[HeaderLine]:
    model = facts.machine.model
    name = model.name or model.vendor
    if name:
        kind = model.architecture or "unknown architecture"
        yield HeaderLine(f"Processor: {one_line(name)} ({kind})", "/proc/cpuinfo")


def _virtual(facts: MachineFacts) -> Iterable[HeaderLine]:
    """Return the extension for virtual machines, whether the machine is one itself, and the sizes of addresses."""
    parts = [name for flag, name in _VIRTUAL.items() if facts.has(flag)]
    parts += ["inside a virtual machine"] if facts.machine.model.hypervisor else []
    if parts:
        yield HeaderLine(f"Virtualization: {', '.join(parts)}", "flags of /proc/cpuinfo")
    if (sizes := re.search(_ADDRESSES, facts.text("/proc/cpuinfo") or "")) is not None:
        yield HeaderLine(f"Addresses: {sizes[1]} bits physical, {sizes[2]} bits virtual", "/proc/cpuinfo")


def _online(facts: MachineFacts) -> Iterable[HeaderLine]:
    topology = facts.machine.topology
    online = _online_cpus(facts)
    text = f"CPUs: {len(online)} ({format_cpulist(online)})"
    if topology.offline:
        text += f"; offline: {format_cpulist(topology.offline)}"
    if len(topology.cpus) < len(online):
        text += f"; measured: {format_cpulist(topology.cpus)}"
    yield HeaderLine(text, f"{_CPUS}/online")


def _levels(facts: MachineFacts) -> Iterable[HeaderLine]:
    """Return one line with the number of each level, and the threads of a core, as far as CPUs are measured."""
    topology = facts.machine.topology
    measured, partly = frozenset(topology.cpus), len(topology.cpus) < len(_online_cpus(facts))
    sizes = {scope: len(topology.instances(scope)) for scope in (Scope.PACKAGE, Scope.DIE, Scope.MODULE, Scope.CORE)}
    last = sum(not measured.isdisjoint(cpus)
               for kind in cache_kinds(facts) if kind.name == "L3" for cpus in kind.shared)
    counts = (
        (len(_groups(facts, "drawer_siblings_list")), "drawer", "drawers"),
        (len(_groups(facts, "book_siblings_list")), "book", "books"),
        (sizes[Scope.PACKAGE], "package", "packages"),
        # Dies that equal packages, and modules that equal cores, are left out.
        (sizes[Scope.DIE] if sizes[Scope.DIE] != sizes[Scope.PACKAGE] else 0, "die", "dies"),
        (len(topology.instances(Scope.NODE)) if partly else len(_node_numbers(facts)), "node", "nodes"),
        (last, "L3 cache", "L3 caches"),
        (sizes[Scope.MODULE] if sizes[Scope.MODULE] != sizes[Scope.CORE] else 0, "module", "modules"),
        (sizes[Scope.CORE], "core", "cores"),
    )
    parts = [f"{number} {single if number == 1 else many}" for number, single, many in counts if number]
    if threads := sorted({len(core.cpus) for core in topology.instances(Scope.CORE)}):
        parts.append(f"{' or '.join(map(str, threads))} {'thread' if threads == [1] else 'threads'} a core")
    yield HeaderLine(f"Topology{' of the measured CPUs' if partly else ''}: {', '.join(parts)}", _TOPOLOGY)


def _groups(facts: MachineFacts, file: str) -> set[frozenset[int]]:
    """Return the sets of CPUs in a file of s390 (kernel drivers/base/topology.c)."""
    shared = (_cpus(facts, f"{_CPUS}/cpu{cpu}/topology/{file}") for cpu in facts.machine.topology.cpus)
    return {cpus for cpus in shared if cpus}


def _clocks(facts: MachineFacts) -> Iterable[HeaderLine]:
    """Return the cores of each type with the limits of their clocks (kernel admin-guide/pm/cpufreq.rst)."""
    topology = facts.machine.topology
    kinds = topology.kinds.of
    for kind in sorted(set(kinds.values()), key=type_rank) if topology.kinds.several else ("",):
        cpus = tuple(cpu for cpu in topology.cpus if kinds.get(cpu, "") == kind)
        cores = len({topology.index(Scope.CORE, cpu) for cpu in cpus})
        limits = [_clock(facts, cpus, *where) for where in (("cpuinfo_min_freq", min), ("cpuinfo_max_freq", max))]
        base = _clock(facts, cpus, "base_frequency", max)
        text = f"{limits[0]:g} to {limits[1]:g} MHz" if None not in limits else ""
        text += f"{', ' if text else ''}base {base:g} MHz" if base is not None else ""
        if kind:
            name = f"{kind} cores: {cores}, CPUs {format_cpulist(cpus)}"
            yield HeaderLine(f"{name}{': ' if text else ''}{text}", topology.kinds.by)
        elif text:
            yield HeaderLine(f"Clock: {text}", f"{_CPUS}/cpu*/cpufreq")


def _clock(facts: MachineFacts, cpus: Sequence[int], file: str, which: Callable[[Iterable[int]], int]) -> float | None:
    """Return a clock in MHz from files in kHz."""
    values = [facts.number(f"{_CPUS}/cpu{cpu}/cpufreq/{file}") for cpu in cpus]
    known = [value for value in values if value]
    return which(known) / 1000 if known else None


def _caches(facts: MachineFacts) -> Iterable[HeaderLine]:
    for kind in cache_kinds(facts):
        each = sorted({len(cpus) for cpus in kind.shared})
        ways = f", {kind.ways}-way" if kind.ways else ""
        line = f", lines of {kind.line} bytes" if kind.line else ""
        count = len(kind.shared)
        total = f", {binary(kind.size * count)} together" if count > 1 else ""
        by = f" for {' or '.join(map(str, each))} CPU{'' if each == [1] else 's'} each" if count > 1 else ""
        yield HeaderLine(f"{kind.name}: {count} x {binary(kind.size)}{by}{total}{ways}{line}", f"{_CPUS}/cpu*/cache")


def _memory(facts: MachineFacts) -> Iterable[HeaderLine]:
    whole = _kibibytes(facts.text(_MEMINFO))
    if "MemTotal" in whole:
        yield HeaderLine(f"Memory: {binary(whole['MemTotal'] << 10)}", _MEMINFO)
    else:
        parts = [_kibibytes(facts.text(f"{_NODES}/node{number}/meminfo")) for number in _node_numbers(facts)]
        if parts and all("MemTotal" in part for part in parts):
            yield HeaderLine(f"Memory: {binary(sum(part['MemTotal'] for part in parts) << 10)}", _NODES)
    if modules := read_memory(facts.machine.host).modules:
        yield HeaderLine(f"Memory modules: {', '.join(_modules(modules))}", "SMBIOS type 17")


def _modules(modules: Sequence[Module]) -> Iterator[str]:
    alike = sums_by_key(((module.bits, module.mts), 1) for module in modules)
    for (bits, mts), count in alike.items():
        width = f" of {bits} bits" if bits else ""
        yield f"{count}{width}{f' at {mts} MT/s' if mts else ''}"


def _nodes(facts: MachineFacts) -> Iterable[HeaderLine]:
    measured = {node.label: node.cpus for node in facts.machine.topology.instances(Scope.NODE)}
    for number in _node_numbers(facts):
        folder = f"{_NODES}/node{number}"
        cpus = _cpus(facts, f"{folder}/cpulist") or measured.get(number, ())
        memory = _kibibytes(facts.text(f"{folder}/meminfo"))
        parts = [f"CPUs {format_cpulist(cpus)}" if cpus else "no CPUs"]
        if "MemTotal" in memory:
            parts.append(binary(memory["MemTotal"] << 10) if memory["MemTotal"] else "no memory")
            parts += [f"{binary(memory['MemFree'] << 10)} free"] if memory["MemTotal"] and "MemFree" in memory else []
        parts += [f"behind a memory-side cache of {binary(size)}" for size in _side_caches(facts, folder)]
        yield HeaderLine(f"Node {number}: {', '.join(parts)}", folder)


def _side_caches(facts: MachineFacts, folder: str) -> Iterator[int]:
    """Return the bytes of the caches before a node's memory (kernel admin-guide/mm/numaperf.rst)."""
    base = f"{folder}/memory_side_cache"
    sizes = (facts.number(f"{base}/{name}/size") for name in facts.names(base) if name.startswith("index"))
    yield from (size for size in sizes if size)


def _node_numbers(facts: MachineFacts) -> list[int]:
    return sorted(integer(match[1]) for name in facts.names(_NODES) if (match := re.match(_NODE, name)))


def _kibibytes(text: str | None) -> Mapping[str, int]:
    return numbers_by_name(re.findall(_KIB, text or ""))


def binary(size: int) -> str:
    """Format a size as lscpu does: "48 KiB", "1.5 MiB", "251 GiB"."""
    for factor, unit in ((_GIB, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= factor:
            value = size / factor
            return f"{value:.0f} {unit}" if value >= 100 else f"{f'{value:.2f}'.rstrip('0').rstrip('.')} {unit}"
    return f"{size} bytes"


FACTS = (_model, _virtual, _online, _levels, _clocks, _caches, _memory, _nodes)
