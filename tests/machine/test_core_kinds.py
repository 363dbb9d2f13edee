"""The core types of a machine, by the strongest evidence, and apparent evidence that must be ignored."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from treehost import TreeHost

from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.host import HostError
from turbotui.machine.topology import Topology, read_topology
from turbotui.machine.topology_kinds import KindsAnswer

CPU = "/sys/devices/system/cpu"
INTEL_HYBRID = ("GenuineIntel", 6, 0xBA)  # Raptor Lake P
SKYLAKE_X = ("GenuineIntel", 6, 0x55)
STRIX = ("AuthenticAMD", 0x1A, 0x24)
GRANITE_RIDGE = ("AuthenticAMD", 0x1A, 0x44)

Model = tuple[str, int, int]


class LeafHost(TreeHost):
    """A tree whose CPUs have cpuid devices."""

    def __init__(self, files: Mapping[str, str], leaves: Mapping[int, Mapping[int, tuple[int, int, int, int]]]) -> None:
        super().__init__(dict(files))
        self._leaves = leaves
        self._open: dict[int, int] = {}

    def open_file(self, path: str) -> int:
        cpu = int(path.split("/")[3])
        self._open[len(self._open) + 100] = cpu
        return len(self._open) + 99

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        return struct.pack("<4I", *self._leaves[self._open[descriptor]].get(offset, (0, 0, 0, 0)))

    def close(self, descriptor: int) -> None:
        del self._open[descriptor]


def files(count: int, model: Model | None = None, each: Mapping[str, Sequence[int | str]] | None = None,
          flags: str = "lm") -> dict[str, str]:
    """A tree of CPUs, one core each, with a model and the files of `each` CPU."""
    result = {f"{CPU}/online": format_cpulist(range(count)) + "\n"}
    for cpu in range(count):
        result[f"{CPU}/cpu{cpu}/topology/core_id"] = f"{cpu}\n"
    if model is not None:
        result["/proc/cpuinfo"] = "".join(
            f"processor\t: {cpu}\nvendor_id\t: {model[0]}\ncpu family\t: {model[1]}\nmodel\t\t: {model[2]}\n"
            f"flags\t\t: {flags}\n\n" for cpu in range(count)
        )
    for name, values in (each or {}).items():
        result |= {f"{CPU}/cpu{cpu}/{name}": f"{value}\n" for cpu, value in enumerate(values)}
    return result


def kinds_of(topology: Topology) -> list[str | None]:
    return [topology.places[cpu].core_type for cpu in topology.cpus]


def caches(*cores: tuple[int, int, int]) -> dict[str, list[int | str]]:
    """Cache folders of CPUs by KiB of L1d, L1i and L2."""
    rows = ((0, 1, "Data"), (1, 1, "Instruction"), (2, 2, "Unified"))
    return {
        f"cache/index{index}/{name}": [value if name != "size" else f"{core[index]}K" for core in cores]
        for index, level, kind in rows for name, value in (("level", level), ("type", kind), ("size", 0))
    }  # fmt: skip


BIG, SMALL = (48, 32, 2048), (32, 64, 4096)


@pytest.mark.parametrize(
    ("model", "each", "kinds", "by"),
    [
        # Strix Point: Zen 5 with preferred cores, Zen 5c; one L2 size, one nominal_perf, no cpu_core folder
        (STRIX, {"acpi_cppc/highest_perf": [231, 226, 211, 196, 130, 130], "acpi_cppc/nominal_perf": [77] * 6},
         "PPPPEE", "acpi_cppc"),
        (STRIX, {"cpufreq/cpuinfo_max_freq": [5_157_000] * 2 + [3_300_000] * 4}, "PPEEEE", "cpufreq"),
        (INTEL_HYBRID, caches(BIG, BIG, SMALL, SMALL), "PPEE", "caches"),
        (INTEL_HYBRID, {"acpi_cppc/highest_perf": [64, 67, 39, 39], "acpi_cppc/nominal_perf": [24, 24, 19, 19]},
         "PPEE", "acpi_cppc"),
        # Arrow Lake: 17 % between the slower P cores and the E cores, but base clocks tell them apart
        (("GenuineIntel", 6, 0xC6), {"cpufreq/cpuinfo_max_freq": [5_700_000, 5_400_000, 4_600_000],
                                     "cpufreq/base_frequency": [3_700_000, 3_700_000, 3_200_000]}, "PPE", "base_freq"),
        (("GenuineIntel", 6, 0xAA), {"cpufreq/cpuinfo_max_freq": [4_800_000, 3_800_000, 2_500_000]}, ["P", "E", "LP"],
         "cpufreq"),
        (None, {"cpu_capacity": [1024, 1024, 446]}, ["big", "big", "little"], "cpu_capacity"),
        (None, {"regs/identification/midr_el1": ["0x411fd850", "0x411fd870"], "cpu_capacity": [1024, 700]},
         ["big", "little"], "MIDR_EL1"),
    ],
)
def test_several_kinds_without_pmu_folders(
    model: Model | None, each: dict[str, list[int | str]], kinds: Sequence[str], by: str
) -> None:
    count = len(next(iter(each.values())))
    topology = read_topology(TreeHost(files(count, model, each)), None)
    assert topology.kinds.answer is KindsAnswer.SEVERAL
    assert kinds_of(topology) == list(kinds)
    assert by in topology.kinds.by
    assert topology.kinds.by in topology.kinds.sentence()


@pytest.mark.parametrize(
    ("model", "each"),
    [
        # preferred cores of two dies (Ryzen 9 7950X), and the same on a model that nobody knows
        (GRANITE_RIDGE, {"acpi_cppc/highest_perf": [236, 231, 226, 201, 191, 181, 166],
                         "acpi_cppc/nominal_perf": [124] * 7}),
        (("AuthenticAMD", 0x1B, 0x10), {"acpi_cppc/highest_perf": [236, 231, 226, 201, 191, 181, 166],
                                        "acpi_cppc/nominal_perf": [124] * 7}),
        (STRIX, {"acpi_cppc/highest_perf": [211, 206, 201, 196], "acpi_cppc/nominal_perf": [77] * 4}),
        # Turbo Boost Max 3.0, and base clocks chosen by Speed Select, on servers
        (SKYLAKE_X, {"cpufreq/cpuinfo_max_freq": [4_500_000, 4_500_000, 3_600_000],
                     "cpufreq/base_frequency": [3_000_000, 3_000_000, 2_200_000]}),
        # favoured cores of a processor with its E cores off
        (INTEL_HYBRID, {**caches(BIG, BIG, BIG), "cpufreq/cpuinfo_max_freq": [5_200_000, 5_000_000, 4_000_000]}),
        # cores of one part on islands of their own clock
        (None, {"regs/identification/midr_el1": ["0x411fd0b1"] * 3, "cpu_capacity": [1024, 980, 870]}),
        (None, {"cpu_capacity": [1024, 1024, 1024]}),
    ],
)
def test_cores_of_one_kind_that_differ(model: Model | None, each: dict[str, list[int | str]]) -> None:
    count = len(next(iter(each.values())))
    topology = read_topology(TreeHost(files(count, model, each)), None)
    assert topology.kinds.answer is KindsAnswer.ONE, topology.kinds
    assert topology.core_types == ()
    assert topology.kinds.by


@pytest.mark.parametrize(
    ("model", "each", "flags"),
    [
        (INTEL_HYBRID, {}, "lm"),
        (STRIX, {"cpufreq/cpuinfo_max_freq": [2_000_000] * 3}, "lm"),  # acpi-cpufreq: without the boost of either
        (None, {}, "lm"),
        (INTEL_HYBRID, caches(BIG, BIG, SMALL), "lm hypervisor"),  # what a hypervisor makes up is no evidence
    ],
)
def test_what_nothing_tells_is_unknown(model: Model | None, each: dict[str, list[int | str]], flags: str) -> None:
    topology = read_topology(TreeHost(files(3, model, each, flags)), None)
    assert topology.kinds.answer is KindsAnswer.UNKNOWN
    assert topology.core_types == ()
    assert "unknown" in topology.kinds.sentence()


def test_leaves_of_amd() -> None:
    top = {0x8000_0000: (0x8000_0028, 0, 0, 0)}
    mixed = {cpu: {**top, 0x8000_0026: (1 << 30, int(cpu > 1) << 28 | 2, 0, 0)} for cpu in range(4)}
    topology = read_topology(LeafHost(files(4, STRIX), mixed), None)
    assert kinds_of(topology) == ["P", "P", "E", "E"]
    assert topology.kinds.by == "CPUID 0x80000026"
    alike = {cpu: {**top, 0x8000_0026: (0, 2, 0, 0)} for cpu in range(4)}
    assert read_topology(LeafHost(files(4, STRIX), alike), None).kinds.answer is KindsAnswer.ONE


def test_leaves_of_intel() -> None:
    def leaf(kind: int, *, hybrid: bool) -> dict[int, tuple[int, int, int, int]]:
        return {0: (0x20, 0, 0, 0), 7: (0, 0, 0, int(hybrid) << 15), 0x1A: (kind << 24 | 1, 0, 0, 0)}

    mixed = {cpu: leaf(0x40 if cpu < 2 else 0x20, hybrid=True) for cpu in range(4)}
    topology = read_topology(LeafHost(files(4, INTEL_HYBRID), mixed), None)
    assert kinds_of(topology) == ["P", "P", "E", "E"]
    assert topology.kinds.by == "CPUID 0x1a"
    alike = {cpu: leaf(0, hybrid=False) for cpu in range(4)}
    assert read_topology(LeafHost(files(4, INTEL_HYBRID), alike), None).kinds.answer is KindsAnswer.ONE


def test_the_stronger_evidence_wins() -> None:
    each = caches(BIG, BIG, BIG, SMALL)
    tree = files(4, INTEL_HYBRID, {**each, "acpi_cppc/highest_perf": [64, 64, 30, 30]})
    assert kinds_of(read_topology(TreeHost(tree), None)) == ["P", "P", "P", "E"]
    tree |= {"/sys/bus/event_source/devices/cpu_core/cpus": "0-1\n", "/sys/devices/cpu_atom/cpus": "2-3\n"}
    topology = read_topology(TreeHost(tree), None)
    assert kinds_of(topology) == ["P", "P", "E", "E"]
    assert topology.kinds.by == "the core PMUs cpu_core, cpu_atom"


def test_kinds_are_those_of_the_machine_whatever_is_measured() -> None:
    topology = read_topology(TreeHost(files(4, INTEL_HYBRID, caches(BIG, BIG, SMALL, SMALL))), frozenset({0, 1}))
    assert topology.core_types == ("P",)
    assert topology.kinds.several
    assert set(topology.kinds.of.values()) == {"P", "E"}


@given(st.lists(st.integers(100, 255), min_size=1, max_size=12), st.integers(50, 90))
def test_rankings_without_a_step_are_never_kinds(highest: list[int], nominal: int) -> None:
    order = sorted(set(highest))
    near = all(upper < 1.2 * lower for lower, upper in pairwise(order))
    each = {"acpi_cppc/highest_perf": highest, "acpi_cppc/nominal_perf": [nominal] * len(highest)}
    kinds = read_topology(TreeHost(files(len(highest), STRIX, each)), None).kinds
    assert (kinds.answer is KindsAnswer.ONE) == near
    if kinds.several:
        assert min(highest[cpu] for cpu, kind in kinds.of.items() if kind == "P") >= 1.2 * max(
            highest[cpu] for cpu, kind in kinds.of.items() if kind == "E")


def test_a_cpuid_device_that_cannot_be_read_is_no_evidence() -> None:
    class Refused(LeafHost):
        def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
            raise HostError(5, "cpuid")

    topology = read_topology(Refused(files(4, INTEL_HYBRID, caches(BIG, BIG, SMALL, SMALL)), {}), None)
    assert kinds_of(topology) == ["P", "P", "E", "E"]
