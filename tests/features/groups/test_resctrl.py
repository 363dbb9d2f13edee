"""resctrl of each vendor, as trees of files: values, and words in place of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from grouptrees import SteppedHost

from turbotui.features.groups.model import CONTROL, DOMAIN, MONITOR, SUB_NODE, GroupRow
from turbotui.features.groups.resctrl_reader import ResctrlReader, events_in, resctrl_rows
from turbotui.features.groups.resctrl_table import ResctrlTable, resctrl_columns, resctrl_table
from turbotui.machine.resctrl import event_value, resctrl_groups, resctrl_info, resctrl_mount
from turbotui.quantities.tables import Cell
from turbotui.quantities.unavailable import Reason, Unavailable

MOUNT = "40 23 0:40 / /sys/fs/resctrl rw,relatime - resctrl resctrl rw\n"
TOP = "/sys/fs/resctrl"


class Tree:
    """A mounted resctrl as files."""

    def __init__(self, root: Path, mounts: str = MOUNT) -> None:
        self.root = root
        self.write("/proc/self/mountinfo", mounts)
        self.host = SteppedHost(str(root))

    def write(self, path: str, text: str) -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def info(self, resource: str, **files: str) -> None:
        for name, text in files.items():
            self.write(f"{TOP}/info/{resource}_MON/{name}", text)

    def group(self, path: str, **domains: Mapping[str, object]) -> None:
        """Write a group: domains by their directory, events by name."""
        at = f"{TOP}{path.rstrip('/')}"
        for name in ("tasks", "cpus", "cpus_list", "mode"):
            self.write(f"{at}/{name}", "\n")
        for domain, events in domains.items():
            for event, value in events.items():
                self.write(f"{at}/mon_data/{domain}/{event}", f"{value}\n")


def l3(occupancy: object, total: object, local: object) -> dict[str, object]:
    return {"llc_occupancy": occupancy, "mbm_total_bytes": total, "mbm_local_bytes": local}


@pytest.fixture
def intel(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path)
    tree.info("L3", mon_features="llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n", num_rmids="256\n")
    tree.info("PERF_PKG", mon_features="core_energy\nactivity\nuops_retired\n", num_rmids="128\n")
    energy = {"core_energy": "12.500000", "activity": "3.0", "uops_retired": "1000"}
    tree.group("/", mon_L3_00=l3(1_000_000, 10**9, 10**9), mon_L3_01=l3(2_000_000, 0, 0), mon_PERF_PKG_00=energy)
    tree.group("/batch", mon_L3_00=l3(0, 0, 0), mon_L3_01=l3(0, 0, 0), mon_PERF_PKG_00=energy)
    tree.group("/batch/mon_groups/one", mon_L3_00=l3(7, 0, 0), mon_L3_01=l3(0, 0, 0), mon_PERF_PKG_00=energy)
    return tree


def between(tree: Tree, change: object = None) -> list[GroupRow]:
    reader = ResctrlReader(tree.host)
    older = reader.read()
    if callable(change):
        change()
    rows = list(resctrl_rows(older, reader.read()))
    reader.close()
    return rows


def table(rows: list[GroupRow]) -> ResctrlTable:
    return resctrl_table(rows, resctrl_columns(events_in(rows)))


def cell(result: ResctrlTable, path: str, name: str, domain: str = "") -> Cell:
    row = next(row for row in result.rows if (row.group.path, row.group.domain) == (path, domain))
    return result.cell(next(column for column in result.columns if column.id == name), row)


def test_groups_and_what_can_be_monitored(intel: Tree) -> None:
    assert resctrl_mount(intel.host) == TOP
    groups = resctrl_groups(intel.host, TOP)
    assert [(group.path, group.is_monitor, group.outer) for group in groups] == [
        ("/", False, None), ("/batch", False, None), ("/batch/mon_groups/one", True, "/batch")]
    info = resctrl_info(intel.host, TOP)
    assert info.events == {"L3": ("llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"),
                           "PERF_PKG": ("core_energy", "activity", "uops_retired")}
    assert info.rmids == 128, "the smaller number of both"


def test_a_group_is_the_sum_of_its_domains(intel: Tree) -> None:
    def change() -> None:
        intel.group("/", mon_L3_00=l3(3 << 20, 3 * 10**9, 2 * 10**9), mon_L3_01=l3(1 << 20, 10**9, 0),
                    mon_PERF_PKG_00={"core_energy": "22.500000", "activity": "4.5", "uops_retired": "3000"})

    result = table(rows := between(intel, change))
    assert [row.group.kind for row in rows[:5]] == [CONTROL, DOMAIN, DOMAIN, DOMAIN, CONTROL]
    whole = rows[0]
    assert cell(result, "/", "L3").value == 4.0
    assert cell(result, "/", "L3", "L3 01").value == 1.0
    bandwidth = [cell(result, "/", "MemBW", domain).value for domain in ("", "L3 00", "L3 01")]
    spans = [whole.spans[f"Δt L3 0{at} mbm_total_bytes"] for at in range(2)]
    assert bandwidth[1:] == pytest.approx([2 / spans[0], 1 / spans[1]])
    assert bandwidth[0] == pytest.approx(2 / spans[0] + 1 / spans[1])
    total = 2 / spans[0] + 1 / spans[1]
    local = 1 / whole.spans["Δt L3 00 mbm_local_bytes"]
    assert cell(result, "/", "Remote%").value == pytest.approx((total - local) / total * 100)
    watt = cell(result, "/", "CorWatt")
    assert watt.value == pytest.approx(10.0 / whole.spans["Δt PERF_PKG 00 core_energy"])
    assert not watt.estimated, "measured"
    assert cell(result, "/", "CorWatt", "L3 00").why is not None


def test_rows_stand_below_what_counts_for_them_too(intel: Tree) -> None:
    parents = {row.group.key: row.group.parent for row in between(intel) if row.group.kind != DOMAIN}
    assert parents == {"/": None, "/batch": None, "/batch/mon_groups/one": "/batch"}
    domain = next(row for row in between(intel) if row.group.domain)
    assert (domain.group.parent, domain.group.kind) == ("/", DOMAIN)


def test_amd_says_which_counters_are_assigned(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.info("L3", mon_features="llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n", num_rmids="4096\n",
              mbm_assign_mode="[mbm_event]\ndefault\n", num_mbm_cntrs="0=32;1=32\n", available_mbm_cntrs="0=30;1=0\n")
    tree.group("/", mon_L3_00=l3(5, 100, "Unassigned"), mon_L3_01=l3("Unavailable", "Error", "Unassigned"))
    info = resctrl_info(tree.host, TOP)
    assert (info.mode, info.counters) == ("mbm_event", "0=30;1=0")
    result = table(between(tree))
    total = cell(result, "/", "MemBW")
    assert (total.value, total.partial) == (0.0, True), "one domain of two"
    local, error = cell(result, "/", "LocalBW").why, cell(result, "/", "MemBW", "L3 01").why
    occupancy = cell(result, "/", "L3", "L3 01").why
    assert isinstance(local, Unavailable)
    assert (local.reason, "mbm_L3_assignments" in local.remedy) == (Reason.NOT_SET, True)
    assert isinstance(error, Unavailable)
    assert error.reason is Reason.FAILED
    assert isinstance(occupancy, Unavailable)
    assert occupancy.reason is Reason.NOT_READ


def test_a_counter_that_was_unavailable_between_has_no_difference(intel: Tree) -> None:
    reader = ResctrlReader(intel.host)
    reader.read()
    intel.group("/", mon_L3_00=l3(1, "Unavailable", 5))
    middle = reader.read()
    intel.group("/", mon_L3_00=l3(1, 9 * 10**9, 5))
    result = table(list(resctrl_rows(middle, reader.read())))
    why = cell(result, "/", "MemBW", "L3 00").why
    assert why is not None
    assert why.reason is Reason.FIRST_TICK
    assert cell(result, "/", "MemBW").partial


def test_a_counter_that_was_assigned_again_went_back(intel: Tree) -> None:
    result = table(between(intel, lambda: intel.group("/", mon_L3_00=l3(1, 5, 5))))
    why = cell(result, "/", "MemBW", "L3 00").why
    assert why is not None
    assert why.reason is Reason.WENT_BACK


def test_arm_has_what_its_info_says_and_events_nobody_knows_are_plain_rates(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.info("L3", mon_features="mbm_total_bytes\nmbm_writes\n", num_rmids="1\n")
    tree.group("/", mon_L3_01={"mbm_total_bytes": 10, "mbm_writes": 4})
    result = table(between(tree, lambda: tree.group("/", mon_L3_01={"mbm_total_bytes": 10, "mbm_writes": 9})))
    assert [column.id for column in result.columns if not column.identity] == ["MemBW", "mbm_writes"]
    value = cell(result, "/", "mbm_writes").value
    assert isinstance(value, float)
    assert value > 0


def test_only_wanted_events_are_open(intel: Tree) -> None:
    reader = ResctrlReader(intel.host, {"llc_occupancy"})
    sample = reader.read().samples["/"]
    assert set(sample.readings) == {"L3 00 llc_occupancy", "L3 01 llc_occupancy"}


def test_sub_numa_nodes_have_rows_in_their_domain_which_is_their_sum(intel: Tree) -> None:
    for node, share in (("00", 1), ("01", 3)):
        for event, value in l3(250_000 * share, 0, 0).items():
            intel.write(f"{TOP}/mon_data/mon_L3_00/mon_sub_L3_{node}/{event}", f"{value}\n")

    def change() -> None:
        intel.write(f"{TOP}/mon_data/mon_L3_00/mon_sub_L3_01/mbm_total_bytes", "5000000000\n")
        intel.write(f"{TOP}/mon_data/mon_L3_00/mbm_total_bytes", "6000000000\n")

    result = table(rows := between(intel, change))
    assert [(row.group.name, row.group.kind) for row in rows[:5]] == [
        ("default group", CONTROL), ("L3 00", DOMAIN), ("node 00", SUB_NODE), ("node 01", SUB_NODE), ("L3 01", DOMAIN)]
    keys = {row.group.key for row in rows}
    assert all(row.group.parent in keys for row in rows if row.group.domain)
    assert (rows[2].group.parent, rows[1].group.key) == (rows[1].group.key, rows[1].group.key)
    assert cell(result, "/", "L3").value == 3_000_000 / 2**20, "nodes are not added to the domains"
    assert cell(result, "/", "L3", "L3 00 node 01").value == 750_000 / 2**20
    span = rows[3].spans["Δt L3 00 node 01 mbm_total_bytes"]
    assert cell(result, "/", "MemBW", "L3 00 node 01").value == pytest.approx(5 / span)
    assert {row.group.kind for row in result.own_rows(result.columns[-1])} == {DOMAIN}


def test_hostile_content_and_names(intel: Tree) -> None:
    intel.group("/\x1b[31m bad\nname", mon_L3_00=l3("nan", "1e400", "\x1b[2J"))
    rows = between(intel)
    bad = next(row for row in rows if "bad" in row.group.path and not row.group.domain)
    assert {why.reason for why in bad.absent.values()} == {Reason.FAILED}
    assert not any(ord(sign) < 32 for row in rows for sign in row.group.path + row.group.name)


def test_numbers_of_both_kinds() -> None:
    assert event_value(b"12.250000\n") == 12.25
    assert event_value(b"18446744073709551615\n") == 2**64 - 1


@pytest.mark.parametrize(("filesystems", "reason"), [("nodev\tresctrl\n", Reason.NOT_SET),
                                                     ("\text4\n", Reason.NO_HARDWARE)])
def test_why_there_is_none(tmp_path: Path, filesystems: str, reason: Reason) -> None:
    tree = Tree(tmp_path, "24 1 0:21 / /proc rw - proc proc rw\n")
    tree.write("/proc/filesystems", filesystems)
    why = ResctrlReader(tree.host).why_none
    assert why is not None
    assert why.reason is reason


def test_kinds_of_rows_are_distinguished(intel: Tree) -> None:
    result = table(between(intel))
    kinds = {result.identify(row).kind for row in result.rows}
    assert kinds == {CONTROL, MONITOR, DOMAIN}
    assert {row.group.kind for row in result.own_rows(result.columns[-1])} == {DOMAIN}


def test_a_jump_that_no_memory_can_have_is_unknown_and_marks_the_sum(intel: Tree) -> None:
    def change() -> None:
        intel.group("/", mon_L3_00=l3(1 << 60, 10**9 + 2**63, 2 * 10**9), mon_L3_01=l3(2_000_000, 10**6, 0))

    result = table(between(intel, change))
    jump, level = cell(result, "/", "MemBW", "L3 00"), cell(result, "/", "L3", "L3 00")
    assert jump.why is not None
    assert level.why is not None
    assert (jump.why.reason, level.why.reason) == (Reason.OUT_OF_RANGE, Reason.OUT_OF_RANGE)
    assert "mbm_total_bytes" in jump.why.detail
    assert cell(result, "/", "MemBW").partial, "the sum lacks a domain"
    assert cell(result, "/", "LocalBW", "L3 00").value, "what is possible is believed"
