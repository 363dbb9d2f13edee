"""The position of every CPU of a shape, numbered as Linux would."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from turbotui.dataclass import dataclass
from turbotui.simulated.shapes import MachineShape


@dataclass(frozen=True, slots=True)
class SimulatedCpu:
    """One CPU. `core`, `module` and `l3` count through the machine; l3 is -1 for a core without one."""

    cpu: int
    package: int
    node: int
    core: int
    core_id: int
    thread: int
    type: int
    module: int
    shared_module: bool
    l3: int
    apic: int


@dataclass(frozen=True, slots=True)
class CpuLayout:
    """All CPUs in order, and which of them share cores, modules, caches and packages."""

    places: tuple[SimulatedCpu, ...]
    core_cpus: tuple[tuple[int, ...], ...]
    module_cores: tuple[tuple[int, ...], ...]
    l3_cpus: tuple[tuple[int, ...], ...]
    package_cores: tuple[tuple[int, ...], ...]
    package_cpus: tuple[tuple[int, ...], ...]
    node_cpus: tuple[tuple[int, ...], ...]


def cpu_mask(cpus: Iterable[int], total: int) -> str:
    """The kernel's mask format (%*pb): groups of 32 bits in hex, highest first."""
    bits = sum(1 << cpu for cpu in cpus)
    groups = max(1, (total + 31) // 32)
    digits = [f"{bits >> 32 * group & 0xFFFFFFFF:08x}" for group in reversed(range(groups))]
    top = total % 32 or 32
    digits[0] = digits[0][8 - (top + 3) // 4 :]
    return ",".join(digits)


def lay_out(shape: MachineShape) -> CpuLayout:
    """Number and place the CPUs of a shape."""
    per_package = shape.cores_per_package
    nodes = shape.nodes_per_package
    package_shift = max(1, (max(_apics(shape)) + 1).bit_length())
    first_threads = shape.packages * per_package
    places: list[SimulatedCpu] = []
    slices = max(-(-per_package // block.l3) for block in shape.blocks if block.l3)
    core = module = adjacent = 0
    second = first_threads
    for package in range(shape.packages):
        apics = iter(_apics(shape))
        index = 0
        for block in shape.blocks:
            kind = shape.core_types[block.type]
            for number in range(block.cores):
                apic = next(apics)
                for thread in range(kind.threads):
                    if not shape.siblings_last:
                        cpu, adjacent = adjacent, adjacent + 1
                    elif thread == 0:
                        cpu = package * per_package + index
                    else:
                        cpu, second = second, second + 1
                    places.append(
                        SimulatedCpu(
                            cpu=cpu,
                            package=package,
                            node=package * nodes + index * nodes // per_package,
                            core=core,
                            core_id=block.first_core_id + number * block.core_id_step,
                            thread=thread,
                            type=block.type,
                            module=module + number // block.module,
                            shared_module=block.module > 1,
                            l3=package * slices + index // block.l3 if block.l3 else -1,
                            apic=package << package_shift | apic + thread,
                        )
                    )
                core += 1
                index += 1
            module += -(-block.cores // block.module)
    places.sort(key=lambda place: place.cpu)
    return _grouped(tuple(places))


def _apics(shape: MachineShape) -> list[int]:
    """APIC ids of the first threads within a package; E-cores take every second id, as Intel's do."""
    return [2 * number for number in range(shape.cores_per_package)]


def _grouped(places: tuple[SimulatedCpu, ...]) -> CpuLayout:
    cores: defaultdict[int, list[int]] = defaultdict(list)
    modules: defaultdict[int, list[int]] = defaultdict(list)
    slices: defaultdict[int, list[int]] = defaultdict(list)
    package_cores: defaultdict[int, list[int]] = defaultdict(list)
    package_cpus: defaultdict[int, list[int]] = defaultdict(list)
    nodes: defaultdict[int, list[int]] = defaultdict(list)
    for place in places:
        if place.core not in cores:
            modules[place.module].append(place.core)
            package_cores[place.package].append(place.core)
        cores[place.core].append(place.cpu)
        if place.l3 >= 0:
            slices[place.l3].append(place.cpu)
        package_cpus[place.package].append(place.cpu)
        nodes[place.node].append(place.cpu)
    return CpuLayout(places=places, core_cpus=_rows(cores), module_cores=_rows(modules), l3_cpus=_rows(slices),
                     package_cores=_rows(package_cores), package_cpus=_rows(package_cpus), node_cpus=_rows(nodes))


def _rows(groups: dict[int, list[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(groups[key]) for key in sorted(groups))
