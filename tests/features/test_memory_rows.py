"""Levels of memory from resctrl and numastat as kernels print them: sums, gaps, sub-NUMA nodes, reasons."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import TypeAlias

import pytest
from knownmachines import known_machine

from turbotui.cli import main
from turbotui.features.memory import COLUMNS, MEMORY, MemoryReader, MemorySource
from turbotui.machine.linux import LinuxHost
from turbotui.machine.topology import CpuPlace
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.row_tables import KindRow, row_table, unknown_columns
from turbotui.sampling.rows import Columns, RowTick
from turbotui.simulated import ManualClock, simulated_host
from turbotui.simulated.power_files import AWAY
from turbotui.simulated.resctrl_files import LOCAL

MOUNT = "40 23 0:40 / /sys/fs/resctrl rw,relatime - resctrl resctrl rw\n"
TOP = "/sys/fs/resctrl"
BOTH = tuple(CpuPlace(cpu, cpu, 0, cpu, cpu, 0, cpu) for cpu in range(2))
"""A CPU with an L3 cache of its own in each of two nodes."""
GIGA = 10**9
OWN = next(column for column in COLUMNS if column.id == "OwnBW")
Counts: TypeAlias = tuple[object, object, object]


class Bench:
    """A reader over files that a test changes, and its ticks, a second apart."""

    def __init__(self, root: Path, places: tuple[CpuPlace, ...] = BOTH, *, mounts: str = MOUNT,
                 features: str = "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n", nodes: int = 2) -> None:
        self.root = root
        self.write("/proc/self/mountinfo", mounts)
        self.write("/proc/filesystems", "nodev\tresctrl\n")
        self.write("/proc/vmstat", "numa_pages_migrated 0\n")
        for node in range(nodes):
            self.pages(node)
        if mounts:
            self.write(f"{TOP}/info/L3_MON/mon_features", features)
        self.seconds = 0
        self.host = LinuxHost(str(root))
        machine = replace(known_machine(simulated_host("icelake-2s")), host=self.host)
        self.reader = MemoryReader(machine, places)
        self.columns = Columns(MEMORY.source.kind, MEMORY.source.quantities)
        self.last: RowTick | None = None

    def write(self, path: str, text: str) -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def pages(self, node: int, miss: int = 0, foreign: int = 0, other: int = 0) -> None:
        self.write(f"/sys/devices/system/node/node{node}/numastat",
                   f"numa_hit 9\nnuma_miss {miss}\nnuma_foreign {foreign}\nother_node {other}\n")

    def group(self, path: str, domains: Mapping[str, Counts]) -> None:
        """Write a group: of each domain all bytes, the local ones, and the occupancy."""
        at = f"{TOP}{path.rstrip('/')}"
        self.write(f"{at}/tasks", "")
        for domain, values in domains.items():
            for event, value in zip(("mbm_total_bytes", "mbm_local_bytes", "llc_occupancy"), values, strict=True):
                self.write(f"{at}/mon_data/mon_L3_{domain}/{event}", f"{value}\n")

    def tick(self) -> RowDifferences:
        self.seconds += 1
        at = self.seconds * GIGA
        self.host.now_ns = lambda: at  # type: ignore[method-assign]  # the time is the test's
        self.columns.begin(at, at)
        self.reader.read(self.columns)
        newer = self.columns.tick()
        self.found, self.last = RowDifferences(self.last, newer), newer
        return self.found

    def row(self, key: str) -> KindRow:
        slot = self.found.newer.roster.slots[key, 0]
        return KindRow(self.found, slot, self.found.newer.roster.rows[slot])

    def value(self, key: str, column: str) -> object:
        return next(item for item in COLUMNS if item.id == column).compute(self.row(key))

    def why(self, key: str, column: str) -> Unavailable:
        cell = row_table(MEMORY, self.found, parts=True).cell(
            next(item for item in COLUMNS if item.id == column), self.row(key))
        assert cell.value is None
        assert cell.why is not None
        return cell.why

    @property
    def partial(self) -> dict[str, bool]:
        table = row_table(MEMORY, self.found, parts=True)
        return {row.row.key: table.cell(OWN, row).partial for row in table.rows}

    def values(self, column: str) -> dict[str, object]:
        return {row.key: self.value(row.key, column) for row in self.found.newer.roster.rows.values()}


def both(first: Counts, second: Counts) -> dict[str, Counts]:
    return {"00": first, "01": second}


def test_caches_add_up_to_nodes_and_the_machine_over_all_groups(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.group("/", both((0, 0, 5 << 20), (0, 0, 7 << 20)))
    bench.group("/batch", both((100, 100, 0), (100, 100, 1 << 20)))
    bench.group("/batch/mon_groups/part", both((9 * GIGA, 0, 9), (9 * GIGA, 0, 9)))  # it is in its group's counts
    bench.tick()
    assert bench.why("machine", "MemBW").reason is Reason.FIRST_TICK
    assert {key: row.parent for row in bench.found.newer.roster.rows.values() for key in [row.key]} == {
        "machine": "", "node 0": "machine", "node 1": "machine", "L3 00": "node 0", "L3 01": "node 1"}
    bench.group("/", both((3 * GIGA, 2 * GIGA, 5 << 20), (4 * GIGA, GIGA, 7 << 20)))
    bench.group("/batch", both((100, 100, 0), (100 + GIGA, 100 + GIGA, 1 << 20)))
    bench.tick()
    assert bench.values("MemBW") == {"machine": 8, "node 0": 3, "node 1": 5, "L3 00": 3, "L3 01": 5}
    assert bench.values("LocalBW") == {"machine": 4, "node 0": 2, "node 1": 2, "L3 00": 2, "L3 01": 2}
    assert bench.values("RemoteBW") == {"machine": 4, "node 0": 1, "node 1": 3, "L3 00": 1, "L3 01": 3}
    assert bench.value("machine", "Remote%") == 50
    assert bench.values("L3") == {"machine": 13, "node 0": 5, "node 1": 8, "L3 00": 5, "L3 01": 8}
    # of two nodes, each one's memory moved what is local and what is remote to the other
    assert [bench.value(key, "OwnBW") for key in ("machine", "node 0", "node 1")] == [8, 5, 3]
    assert bench.why("L3 00", "Peak%").reason is Reason.NO_HARDWARE


def test_of_more_nodes_own_memory_moved_at_least_what_is_local(tmp_path: Path) -> None:
    bench = Bench(tmp_path, tuple(CpuPlace(cpu, 0, 0, cpu, cpu, 0, cpu) for cpu in range(3)), nodes=3)
    bench.group("/", {f"0{at}": (0, 0, 0) for at in range(3)})
    bench.tick()
    bench.group("/", {f"0{at}": (4 * GIGA, at * GIGA, 0) for at in range(3)})
    bench.tick()
    assert [bench.value(f"node {at}", "OwnBW") for at in range(3)] == [0, 1, 2]
    assert bench.value("machine", "OwnBW") == 12
    assert bench.partial == {"machine": False, "node 0": True, "node 1": True, "node 2": True,
                             "L3 00": False, "L3 01": False, "L3 02": False}


def test_a_node_without_cpus_moves_what_the_other_node_has_remotely(tmp_path: Path) -> None:
    bench = Bench(tmp_path, BOTH[:1])
    bench.group("/", {"00": (0, 0, 0)})
    bench.tick()
    bench.group("/", {"00": (3 * GIGA, GIGA, 0)})
    bench.tick()
    assert [bench.value(f"node {at}", "OwnBW") for at in range(2)] == [1, 2]
    assert not any(bench.partial.values())
    assert bench.why("node 1", "MemBW").reason is Reason.NO_HARDWARE
    assert [bench.value("machine", column) for column in ("MemBW", "LocalBW", "L3")] == [3, 1, 0], "of all caches"


def test_a_sum_without_a_part_is_unknown_and_says_which(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.group("/", both((0, 0, 0), (0, 0, 0)))
    bench.group("/new", both((0, 0, 0), (0, 0, 0)))
    bench.tick()
    bench.group("/new", both(("Unavailable", 0, 0), (GIGA, 0, 0)))
    bench.tick()
    assert bench.value("L3 01", "MemBW") == 1
    for key in ("L3 00", "node 0", "machine"):
        why = bench.why(key, "MemBW")
        assert why.reason is Reason.NOT_READ
        assert "/new" in why.detail
    assert "node 0" in bench.why("machine", "MemBW").detail
    assert bench.value("machine", "LocalBW") == 0
    older = bench.last
    bench.group("/new", both((5 * GIGA, 0, 0), (GIGA, 0, 0)))
    bench.tick()
    bench.tick()
    assert bench.value("L3 00", "MemBW") == 0
    assert older is not None


def test_a_gap_is_unknown_over_every_interval_that_has_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.group("/", both((50, 0, 0), (0, 0, 0)))
    bench.tick()
    first = bench.last
    bench.group("/", both((20, 0, 0), (8, 0, 0)))
    bench.tick()
    assert bench.why("L3 00", "MemBW").reason is Reason.INTERRUPTED
    assert bench.why("machine", "MemBW").reason is Reason.INTERRUPTED
    assert bench.value("node 1", "MemBW") == 8 / GIGA
    bench.group("/", both((1020, 0, 0), (8, 0, 0)))
    bench.tick()
    assert bench.value("machine", "MemBW") == 1000 / GIGA
    assert first is not None
    assert bench.last is not None
    bench.found = RowDifferences(first, bench.last)  # as a recording of longer intervals has it
    assert bench.why("machine", "MemBW").reason is Reason.INTERRUPTED


def test_a_new_group_counts_from_zero_and_a_removed_one_leaves_a_gap(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.group("/", both((0, 0, 0), (0, 0, 0)))
    bench.tick()
    bench.group("/made", both((2 * GIGA, 0, 0), ("Unavailable", 0, 0)))
    bench.tick()
    assert bench.value("L3 00", "MemBW") == 2
    bench.group("/made", both((2 * GIGA, 0, 0), (3 * GIGA, 0, 0)))
    bench.tick()
    bench.tick()
    assert bench.value("L3 01", "MemBW") == 0
    rmtree(bench.root / "sys/fs/resctrl/made")
    bench.tick()
    assert bench.why("machine", "MemBW").reason is Reason.INTERRUPTED
    assert bench.value("machine", "L3") == 0
    bench.tick()
    assert bench.value("machine", "MemBW") == 0


def test_rows_say_of_how_many_groups_they_are_the_sums(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write(f"{TOP}/info/L3_MON/num_rmids", "8\n")
    bench.group("/", both((0, 0, 0), (0, 0, 0)))
    events = "L3: llc_occupancy, mbm_total_bytes, mbm_local_bytes"
    assert bench.tick().newer.notes == (f"sums of all groups of resctrl: 1 of 8 RMIDs are taken; {events}",)
    said = bench.found.newer.notes
    assert bench.tick().newer.notes is said
    bench.group("/made", both((0, 0, 0), (0, 0, 0)))
    bench.group("/made/mon_groups/part", both((0, 0, 0), (0, 0, 0)))
    bench.write(f"{TOP}/info/L3_MON/mbm_assign_mode", "[mbm_event]\ndefault\n")
    bench.write(f"{TOP}/info/L3_MON/available_mbm_cntrs", "0=30;1=29\n")
    for _ in range(5):  # it is read at one tick in five
        bench.tick()
    assigned = "counters of bandwidth are assigned (mbm_event), free: 0=30;1=29"
    assert bench.found.newer.notes == (f"sums of all groups of resctrl: 3 of 8 RMIDs are taken; {events}; {assigned}",)
    bench.write(f"{TOP}/info/L3_MON/available_mbm_cntrs", "0=29;1=29\n")
    for _ in range(5):
        bench.tick()
    assert bench.found.newer.notes[0].endswith("free: 29 in each domain")
    rmtree(bench.root / "sys/fs/resctrl/info")
    assert [bench.tick().newer.notes for _ in range(5)][-1] == ()


def test_a_replay_says_what_the_reader_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "memory.ttj")
    assert main(["record", path, "--machine", "icelake-2s", "--tables", "memory", "-n", "3", "-i", "0.1"]) == 0
    capsys.readouterr()
    assert main(["memory", "--replay", path, "--json"]) == 0
    for line in capsys.readouterr().out.splitlines():
        [note] = json.loads(line)["notes"]
        assert note.startswith("sums of all groups of resctrl: ")


def test_a_cache_whose_cpus_go_offline_moves_nothing_and_one_that_comes_gets_a_row(tmp_path: Path) -> None:
    bench = Bench(tmp_path, BOTH)
    bench.group("/", both((0, 0, 1 << 20), (5, 0, 1 << 20)))
    bench.tick()
    rmtree(bench.root / "sys/fs/resctrl/mon_data/mon_L3_01")
    bench.tick()
    assert bench.why("machine", "MemBW").reason is Reason.INTERRUPTED
    bench.tick()
    assert (bench.value("L3 01", "MemBW"), bench.value("machine", "L3")) == (0, 1)
    bench.group("/", both((0, 0, 1 << 20), (GIGA, 0, 1 << 20)))
    bench.tick()
    assert bench.why("node 1", "MemBW").reason is Reason.INTERRUPTED, "what it counted before is not known"
    bench.group("/", both((0, 0, 1 << 20), (2 * GIGA, 0, 1 << 20)))
    bench.tick()
    assert bench.value("machine", "MemBW") == 1


def test_a_group_without_a_counter_makes_the_group_around_it_unknown(tmp_path: Path) -> None:
    """The kernel's sum of a CTRL_MON group lacks such MON groups (resctrl.rst, "mon_data")."""
    bench = Bench(tmp_path)
    bench.write(f"{TOP}/info/L3_MON/mbm_assign_mode", "[mbm_event]\ndefault\n")
    bench.group("/", both((0, 0, 1), (0, 0, 1)))
    bench.group("/mon_groups/web", both(("Unassigned", "Unassigned", 1), (0, 0, 1)))
    bench.tick()
    bench.tick()
    why = bench.why("machine", "MemBW")
    assert why.reason is Reason.NOT_SET
    assert "/mon_groups/web" in why.detail
    assert "mbm_L3_assignments" in why.remedy
    assert bench.value("node 1", "MemBW") == 0
    assert bench.value("machine", "L3") == 2 / 2**20


def test_sub_numa_nodes_are_inside_the_cache_that_they_share(tmp_path: Path) -> None:
    places = tuple(CpuPlace(cpu, 0, 0, 0, cpu, 0, cpu) for cpu in range(2))
    bench = Bench(tmp_path, places)

    def put(first: int, second: int) -> None:
        bench.group("/", {"00": (first + second, first, 8)})
        for node, value in enumerate((first, second)):
            for event in ("mbm_total_bytes", "mbm_local_bytes", "llc_occupancy"):
                bench.write(f"{TOP}/mon_data/mon_L3_00/mon_sub_L3_{node:02d}/{event}", f"{value}\n")

    put(0, 0)
    bench.tick()
    put(GIGA, 3 * GIGA)
    bench.tick()
    assert bench.values("MemBW") == {"machine": 4, "L3 00": 4, "node 0": 1, "node 1": 3}
    assert bench.row("node 0").row.parent == "L3 00"


def test_nodes_that_share_a_cache_that_is_counted_as_a_whole_say_so(tmp_path: Path) -> None:
    bench = Bench(tmp_path, tuple(CpuPlace(cpu, 0, 0, 0, cpu, 0, cpu) for cpu in range(2)))
    bench.group("/", {"00": (0, 0, 0)})
    bench.tick()
    bench.tick()
    assert bench.why("node 0", "MemBW").reason is Reason.NO_DRIVER
    assert bench.value("machine", "MemBW") == 0


def test_not_mounted_is_a_reason_with_a_remedy_and_pages_are_there(tmp_path: Path) -> None:
    bench = Bench(tmp_path, mounts="")
    bench.tick()
    bench.pages(0, miss=4, foreign=2, other=10)
    bench.pages(1, miss=2, foreign=4, other=1)
    bench.write("/proc/vmstat", "numa_pages_migrated 7\n")
    bench.tick()
    for key in ("machine", "node 0", "L3 00"):
        why = bench.why(key, "MemBW")
        assert why.reason is Reason.NOT_SET
        assert why.remedy == "mount -t resctrl resctrl /sys/fs/resctrl"
    assert [bench.value("machine", name) for name in ("Miss/s", "Foreign/s", "Other/s", "Migr/s")] == [6, 6, 11, 7]
    assert [bench.value("node 1", name) for name in ("Miss/s", "Foreign/s", "Other/s")] == [2, 4, 1]
    assert bench.why("node 0", "Migr/s").reason is Reason.NO_HARDWARE
    (line,) = (item for item in unknown_columns(row_table(MEMORY, bench.found, parts=True)) if "resctrl" in item)
    assert line.startswith("MemBW, LocalBW, RemoteBW, Remote%, OwnBW, Peak%, L3, L3%: not set: resctrl is not mounted")


def test_pages_between_tiers_of_memory_are_counted_by_node(tmp_path: Path) -> None:
    bench = Bench(tmp_path, mounts="")

    def put(node: int, text: str) -> None:
        bench.write(f"/sys/devices/system/node/node{node}/vmstat", f"nr_free_pages 9\n{text}")

    bench.tick()
    assert bench.why("node 0", "Promote/s").reason is Reason.RECORDED, "the file was not copied"
    for _ in range(2):
        put(0, "pgpromote_success 5\npgpromote_candidate 90\n")
        put(1, "pgdemote_kswapd 5\n")
        bench.tick()
    assert bench.why("node 0", "Demote/s").detail.endswith("Linux 6.10 and newer count demotions by node")
    assert bench.why("node 1", "Promote/s").detail.startswith("/sys/devices/system/node/node*/vmstat has no pgpromote")
    assert bench.why("L3 00", "Demote/s").reason is Reason.NO_HARDWARE
    for times in (1, 2):
        put(0, f"pgpromote_success {5 + 40 * times}\npgdemote_kswapd 1\npgdemote_direct {times}\n")
        put(1, f"pgpromote_success 0\npgdemote_kswapd {3 * times}\npgdemote_khugepaged {times}\npgdemote_proactive 2\n")
        bench.tick()
    assert [bench.value("node 0", name) for name in ("Promote/s", "Demote/s")] == [40, 1]
    assert [bench.value("node 1", name) for name in ("Promote/s", "Demote/s")] == [0, 4]
    assert [bench.value("machine", name) for name in ("Promote/s", "Demote/s")] == [40, 5]


def test_what_the_machine_does_not_monitor_is_a_reason(tmp_path: Path) -> None:
    """Arm's MPAM may count all bytes and no local ones."""
    bench = Bench(tmp_path, features="mbm_total_bytes\n")
    for domain in ("00", "01"):
        bench.write(f"{TOP}/mon_data/mon_L3_{domain}/mbm_total_bytes", "1\n")
    bench.write(f"{TOP}/tasks", "")
    bench.tick()
    bench.tick()
    assert bench.value("machine", "MemBW") == 0
    assert bench.why("machine", "LocalBW").reason is Reason.NO_HARDWARE
    assert bench.why("node 0", "Peak%").reason is Reason.NO_HARDWARE


def test_unmounted_is_no_zero(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.group("/", both((0, 0, 0), (0, 0, 0)))
    bench.tick()
    rmtree(bench.root / "sys/fs/resctrl")
    bench.tick()
    bench.tick()
    assert bench.why("machine", "MemBW").reason is Reason.NOT_SET


def test_more_local_bytes_than_bytes_and_impossible_rates_are_unknown(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.group("/", both((0, 0, 0), (0, 0, 0)))
    bench.tick()
    bench.group("/", both((100 * GIGA, 101 * GIGA, 0), (10 * GIGA, 20 * GIGA, 0)))
    bench.tick()
    assert bench.value("L3 00", "RemoteBW") == 0, "the counts are read one after the other"
    assert bench.why("L3 01", "RemoteBW").reason is Reason.OUT_OF_RANGE
    bench.group("/", both((600_000_000 * GIGA, 101 * GIGA, 0), (10 * GIGA, 20 * GIGA, 0)))
    bench.tick()
    assert bench.why("L3 00", "MemBW").reason is Reason.OUT_OF_RANGE


@pytest.mark.parametrize("name", ["icelake-2s", "grace-2s", "genoa-1s"])
def test_simulated_servers_have_what_their_model_moves(name: str) -> None:
    clock = ManualClock(0)
    clock.advance(1.0)
    host = simulated_host(name, clock, seed=3)
    reader = MemorySource().open(known_machine(host))
    assert isinstance(reader, MemoryReader)
    columns = Columns(MEMORY.source.kind, MEMORY.source.quantities)
    ticks = []
    for second in (1, 2):
        columns.begin(second, second)
        reader.read(columns)
        ticks.append(columns.tick())
        clock.advance(2.0)
    reader.close()
    differences = RowDifferences(ticks[0], ticks[1])
    rows = {row.key: KindRow(differences, slot, row) for slot, row in differences.newer.roster.rows.items()}
    value = {column.id: column.compute for column in COLUMNS}
    machine = rows["machine"]
    parts = sum(float(str(value["MemBW"](row))) for key, row in rows.items() if key.startswith("L3 "))
    assert parts > 1
    assert value["MemBW"](machine) == pytest.approx(parts)
    several = "node 1" in rows
    assert value["Remote%"](machine) == pytest.approx(100 * (1 - LOCAL) if several else 0, abs=1e-3)
    assert value["L3%"](machine) == pytest.approx(90)
    if several:
        misses, others = value["Miss/s"](machine), value["Other/s"](machine)
        assert misses == value["Foreign/s"](machine)
        assert isinstance(others, float)
        assert misses == pytest.approx(others * AWAY["numa_miss"] / AWAY["other_node"], abs=4)


class PausingBench(Bench):
    """A bench on which a read takes 10 us, and at one tick the reader loses its CPU before a file."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.paths: dict[int, str] = {}

    def tick_with(self, pauses: Mapping[str, float]) -> RowDifferences:
        self.seconds += 1
        now = [self.seconds * GIGA]
        open_file, read_at, read_text = LinuxHost.open_file, LinuxHost.read_at, LinuxHost.read_text

        def passing(path: str) -> None:
            now[0] += 10_000 + round(sum(lost for part, lost in pauses.items() if path.endswith(part)) * GIGA)

        def opening(path: str) -> int:
            descriptor = open_file(self.host, path)
            self.paths[descriptor] = path
            return descriptor

        def reading(descriptor: int, size: int, offset: int = 0) -> bytes:
            passing(self.paths[descriptor])
            return read_at(self.host, descriptor, size, offset)

        def text(path: str) -> str:
            passing(path)
            return read_text(self.host, path)

        self.host.now_ns = lambda: now[0]  # type: ignore[method-assign]  # the time is the test's
        self.host.open_file, self.host.read_at, self.host.read_text = (  # type: ignore[method-assign]  # and the reads
            opening, reading, text)
        self.columns.begin(now[0], now[0])
        self.reader.read(self.columns)
        newer = self.columns.tick()
        self.found, self.last = RowDifferences(self.last, newer), newer
        return self.found


def test_who_lost_its_cpu_while_it_read_knows_bytes_and_no_bytes_a_second(tmp_path: Path) -> None:
    bench = PausingBench(tmp_path)
    rates = []
    for number, pauses in enumerate(({}, {}, {"mon_L3_01/mbm_total_bytes": 0.2}, {}, {}), 1):
        bench.group("/", {"00": (number * GIGA, 0, 0), "01": (2 * number * GIGA, 0, 0)})
        differences = bench.tick_with(pauses)
        slots = {row.key: slot for slot, row in differences.newer.roster.rows.items()}
        rates.append([rate is not None for rate in (differences.rates("total")[slots[key]]
                                                    for key in ("L3 00", "L3 01", "machine"))])
        if number > 1:
            assert differences.deltas("total")[slots["machine"]] == 3 * GIGA
            assert differences.rates("miss")[slots["machine"]] == 0
    assert rates == [[False] * 3, [True] * 3, [True, False, False], [True, False, False], [True] * 3]
    assert bench.value("L3 01", "LocalBW") == 0


def test_pages_have_no_rate_where_the_reader_lost_its_cpu(tmp_path: Path) -> None:
    bench = PausingBench(tmp_path)
    for number, pauses in enumerate(({}, {}, {"node0/numastat": 0.3}), 1):
        bench.group("/", {"00": (number, 0, 0), "01": (number, 0, 0)})
        for node in range(2):
            bench.pages(node, miss=10 * number)
        bench.tick_with(pauses)
    assert bench.why("machine", "Miss/s").reason is Reason.INTERRUPTED
    assert bench.value("machine", "MemBW") == 2e-9
