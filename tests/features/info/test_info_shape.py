"""The parts of machines that info prints, compared with lscpu and hwloc for the same recorded trees."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from smallmachines import small_host
from treehost import TreeHost

from turbotui.features.info import shape
from turbotui.features.info.kernel import EFFICIENCY_FACTS
from turbotui.features.info.machine_facts import MachineFacts
from turbotui.features.info.model import configuration
from turbotui.features.info.processor import LSCPU_FACTS
from turbotui.machine.caches import parse_size
from turbotui.machine.cpulist import parse_cpulist
from turbotui.machine.machine import read_machine
from turbotui.simulated import ManualClock

MACHINES = Path(__file__).parents[3] / "../shared/machines"
HWLOC = sorted(MACHINES.glob("hwloc/*.console"))
LSCPU = sorted(MACHINES.glob("lscpu/*.expected.txt"))
ABSENT = "the recorded machines (sibling folder shared/machines) are not there"
BULLDOZER = 21
"""AMD family 15h: hwloc calls the halves of a compute unit cores (tests/machine/test_recorded_machines.py)."""
_BASE = "/sys/devices/system/cpu"
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def facts_of(path: Path) -> MachineFacts:
    return MachineFacts(read_machine(TreeHost.from_tar(path)))


def lines_of(facts: MachineFacts) -> dict[str, str]:
    (section,) = [section for section in configuration(facts.machine) if section.title == "machine"]
    return dict(line.text.split(": ", 1) for line in section.lines)


def words(text: str) -> dict[str, int]:
    """The counts of the line "Topology: 2 packages, 48 cores, 2 threads a core", by the singular."""
    return {name.removesuffix("s"): int(number) for number, name in re.findall(r"(\d+) ([\w ]+?)(?=,|$| a core)", text)}


def test_recorded_machines_are_found() -> None:
    if not MACHINES.exists():
        pytest.skip(ABSENT)
    assert len(HWLOC) >= 6
    assert len(LSCPU) >= 5


@pytest.mark.parametrize("console", HWLOC, ids=lambda path: path.stem)
def test_as_hwloc_prints_it(console: Path) -> None:
    facts, text = facts_of(console.with_suffix(".tar.bz2")), console.read_text()
    expected = Counter((f"L{level}{kind}", int(size) * _UNITS[unit], int(ways))
                       for level, kind, size, unit, ways in
                       re.findall(r"^ *L(\d)([di]?)Cache.*size=(\d+)([KMG]iB).*ways=(\d+)", text, re.MULTILINE))
    result: Counter[tuple[str, int, int]] = Counter()
    for kind in shape.cache_kinds(facts):
        result[kind.name, kind.size, kind.ways] += len(kind.shared)
    shown = {name for name, _size, _ways in expected}
    doubted = {(name, size) for name, size, ways in result if not ways}  # ways that sets, lines and size contradict
    said = Counter({key: number for key, number in result.items() if key[0] in shown and key[:2] not in doubted})
    assert said == Counter({key: number for key, number in expected.items() if key[:2] not in doubted})
    assert doubted == ({("L3", 32 << 20)} if console.stem.startswith("128arm") else set())
    output, lines = words(lines_of(facts)["Topology"]), lines_of(facts)
    counts = Counter(re.findall(r"^ *(Package|Die|Core|NUMANode)\b", text.split("depth")[0], re.MULTILINE))
    assert output["package"] == counts["Package"]
    assert output.get("die", 0) == (counts["Die"] if counts["Die"] != counts["Package"] else 0)
    whole = re.search(r"^Machine \(.*?\btotal=(\d+)([KMG]iB)", text, re.MULTILINE)
    assert whole is not None
    amount, unit = lines["Memory"].split()
    said_bytes = float(amount) * _UNITS[unit]
    assert said_bytes == pytest.approx(int(whole[1]) * _UNITS[whole[2]], rel=0.03), "less what the kernel keeps"
    model = facts.machine.model
    if not (model.vendor == "AuthenticAMD" and model.family == BULLDOZER):
        assert output["core"] == counts["Core"]
    nodes = re.findall(r"^ *NUMANode .*P#(\d+)", text.split("depth")[0], re.MULTILINE)
    assert {name for name in lines if name.startswith("Node ")} <= {f"Node {number}" for number in nodes}
    if any(name.startswith("Node ") for name in lines):
        assert output["node"] == len(nodes)


@pytest.mark.parametrize("expected", LSCPU, ids=lambda path: path.name.removesuffix(".expected.txt"))
def test_as_lscpu_prints_it(expected: Path) -> None:
    facts = facts_of(expected.with_name(expected.name.replace(".expected.txt", ".tar.gz")))
    said = dict(re.findall(r"^([^#\n:]+):\s+(.*)$", expected.read_text(), re.MULTILINE))
    lines = lines_of(facts)
    assert f"({said['On-line CPU(s) list']})" in lines["CPUs"].replace(" ", "")
    if "Off-line CPU(s) list" in said:
        assert parse_cpulist(said["Off-line CPU(s) list"]) == frozenset(facts.machine.topology.offline)
    text = words(lines["Topology"])
    virtual = ([said["Virtualization"]] if "Virtualization" in said else []) + (
        ["inside a virtual machine"] if "Hypervisor vendor" in said else [])
    assert lines.get("Virtualization") == (", ".join(virtual) or None)
    assert lines.get("Addresses") == said.get("Address sizes")
    processor = dict(line.text.split(": ", 1) for item in configuration(facts.machine) if item.title == "processor"
                     for line in item.lines)
    assert processor["BogoMIPS"].split(" to ")[0] <= said["BogoMIPS"] <= processor["BogoMIPS"].split(" to ")[-1]
    steppings = set(re.findall(r"^Stepping: +(r\d+p\d+)$", expected.read_text(), re.MULTILINE))
    assert set(re.findall(r"r\d+p\d+", processor.get("Revision", ""))) == steppings
    assert text["thread"] == int(said["Thread(s) per core"])
    if "Socket(s)" in said and facts.machine.model.x86:
        assert text["package"] == int(said["Socket(s)"])
        assert text["core"] == int(said["Socket(s)"]) * int(said["Core(s) per socket"])
    caches: dict[str, list[int]] = {}
    for kind in shape.cache_kinds(facts):
        caches.setdefault(kind.name, []).append(kind.size * len(kind.shared))
    instances = Counter[str]()
    for kind in shape.cache_kinds(facts):
        instances[kind.name] += len(kind.shared)
    wanted = {name.removesuffix(" cache"): value for name, value in said.items() if name.endswith(" cache")}
    assert caches.keys() == wanted.keys()
    for name, value in wanted.items():
        match = re.fullmatch(r"([\d.]+) (\w+) \((\d+) instances?\)", value)
        assert match is not None
        assert instances[name] == int(match[3])
        assert sum(caches[name]) == pytest.approx(float(match[1]) * _UNITS[match[2]], rel=0.02)
    for name, cpus in said.items():
        if node := re.fullmatch(r"NUMA node(\d+) CPU\(s\)", name):
            assert lines[f"Node {node[1]}"].startswith(f"CPUs {cpus}")


def _cpu(cpu: int, package: int, core: int, *, caches: bool = True) -> dict[str, str]:
    base = f"{_BASE}/cpu{cpu}"
    files = {f"{base}/topology/physical_package_id": str(package), f"{base}/topology/core_id": str(core)}
    if caches:
        cache = {"level": "2", "type": "Unified", "size": "1280K", "ways_of_associativity": "10", "shared_cpu_map": "3"}
        files |= {f"{base}/cache/index2/{name}": text for name, text in cache.items()}
    return files


def test_what_no_file_says_is_not_reported() -> None:
    facts = MachineFacts(read_machine(TreeHost({f"{_BASE}/online": "0-1", **_cpu(0, 0, 0, caches=False),
                                                **_cpu(1, 0, 1, caches=False)})))
    lines = lines_of(facts)
    assert lines["Topology"] == "1 package, 2 cores, 1 thread a core"
    assert not {"Memory", "Clock", "Node 0", "L2"} & lines.keys()


def test_virtual_machines_and_addresses() -> None:
    info = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nflags\t\t: fpu lm {}\n{}"
    for flags, sizes, expected in (
        ("svm", "address sizes\t: 52 bits physical, 57 bits virtual\n", ("AMD-V", "52 bits physical, 57 bits virtual")),
        ("vmx hypervisor", "", ("VT-x, inside a virtual machine", None)), ("", "", (None, None)),
    ):  # fmt: skip
        host = TreeHost({f"{_BASE}/online": "0", **_cpu(0, 0, 0), "/proc/cpuinfo": info.format(flags, sizes)})
        lines = lines_of(MachineFacts(read_machine(host)))
        assert (lines.get("Virtualization"), lines.get("Addresses")) == expected


def test_caches_of_a_kernel_that_has_only_masks_and_nodes_with_memory_alone() -> None:
    node = "/sys/devices/system/node"
    facts = MachineFacts(read_machine(TreeHost({
        f"{_BASE}/online": "0-1", **_cpu(0, 0, 0), **_cpu(1, 0, 1), f"{node}/node0/cpulist": "0-1",
        f"{node}/node0/meminfo": "Node 0 MemTotal: 1048576 kB\nNode 0 MemFree: 524288 kB\n",
        f"{node}/node3/cpulist": "\n", f"{node}/node3/meminfo": "Node 3 MemTotal: 3145728 kB\nNode 3 MemFree: 0 kB\n",
        f"{node}/node3/memory_side_cache/index1/size": "68719476736",
        f"{node}/node4/meminfo": "Node 4 MemTotal: 0 kB\n",
        f"{node}/node5/meminfo": "Node 5 MemTotal: 1024 kB\n",
    })))
    lines = lines_of(facts)
    assert lines["L2"] == "1 x 1.25 MiB, 10-way"
    assert lines["Node 0"] == "CPUs 0-1, 1 GiB, 512 MiB free"
    assert lines["Node 3"] == "no CPUs, 3 GiB, 0 bytes free, behind a memory-side cache of 64 GiB"
    assert lines["Node 4"] == "no CPUs, no memory"
    assert lines["Node 5"] == "no CPUs, 1 MiB", "how much is free is not said"
    assert lines["Memory"] == "4 GiB", "of all nodes, where there is no /proc/meminfo"


def test_efficiency_latency_control() -> None:
    folder = f"{_BASE}/intel_uncore_frequency/uncore00"
    files = {"package_id": "0", "domain_id": "1", "fabric_cluster_id": "0", "elc_low_threshold_percent": "10",
             "elc_high_threshold_percent": "95", "elc_floor_freq_khz": "800000", "elc_high_threshold_enable": "1"}
    settings = {f"{folder}/{name}": text for name, text in files.items()}
    host = TreeHost({f"{_BASE}/online": "0", **_cpu(0, 0, 0), **settings})
    (line,) = [line.text for lines in EFFICIENCY_FACTS for line in lines(MachineFacts(read_machine(host)))]
    assert line == ("Efficiency latency control package0 domain1 cluster0: floor 800 MHz below 10 % of use; high "
                    "threshold above 95 % of use, the clock goes up stepwise")
    host.files[f"{folder}/elc_high_threshold_enable"] = "0"
    (line,) = [line.text for lines in EFFICIENCY_FACTS for line in lines(MachineFacts(read_machine(host)))]
    assert line.endswith("high threshold off")


@pytest.mark.parametrize(("size", "text"), [(48 << 10, "48 KiB"), (5118 << 10, "5 MiB"), (263 << 30, "263 GiB")])
def test_sizes(size: int, text: str) -> None:
    assert shape.binary(size) == text
    assert parse_size("48K") == 48 << 10


def test_what_is_not_measured_is_no_less_there() -> None:
    host = small_host("sapphire-2s", ManualClock(0))
    whole, part = (lines_of(MachineFacts(read_machine(host, cpus))) for cpus in (None, frozenset({0})))
    differing = {name for name in whole if part.get(name) != whole[name]}
    assert differing == {"CPUs", "Topology"}
    assert part["CPUs"] == f"{whole['CPUs']}; measured: 0"
    assert words(part["Topology of the measured CPUs"]) == {
        "package": 1, "node": 1, "L3 cache": 1, "core": 1, "thread": 1}


def test_revisions_and_bogomips_are_those_of_cpuinfo() -> None:
    cpus = (("38.40", "0x1", 1), ("38.40", "0x1", 1), ("50", "0x2", 0), ("nan", "x", 0), ("-1", "-1", 0))
    text = "".join(f"processor\t: {cpu}\nBogoMIPS\t: {mips}\nCPU variant\t: {variant}\nCPU revision\t: {revision}\n\n"
                   for cpu, (mips, variant, revision) in enumerate(cpus))
    host = TreeHost({"/proc/cpuinfo": text})
    facts = MachineFacts(read_machine(host))
    lines = [line.text for fact in LSCPU_FACTS for line in fact(facts)]
    assert lines == ["Revision: r1p1 (CPUs 0-1), r2p0 (CPUs 2)", "BogoMIPS: 38.40 to 50.00"]
