"""The table of groups: the inputs of its cells, and reasons of missing values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from turbotui.features.groups.columns import COLUMNS, needed
from turbotui.features.groups.event_columns import cycles_in
from turbotui.features.groups.files import QUANTITIES
from turbotui.features.groups.model import CGROUP, Group, GroupRow
from turbotui.features.groups.tables import group_table, sum_held_against_package
from turbotui.quantities.tables import Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.energy import Energy

ENERGY = Energy({0: 30.0, 1: 10.0}, {}, 2.0)
NONE = Energy({}, {}, why=Unavailable(Reason.NO_DRIVER, "no meter"))


def row(path: str, cpu: float | None = 1e6, **more: float) -> GroupRow:
    counted = {} if cpu is None else {"cpu_usec": cpu}
    increases = {**counted, **{name: value for name, value in more.items() if name in ("periods", "throttled")}}
    values = {name: value for name, value in more.items() if name not in increases}
    file = dict.fromkeys((*increases, *values), "cpu.stat")
    return GroupRow(Group(CGROUP, path, path.rpartition("/")[2] or path), increases, values, {"Δt cpu.stat": 2.0},
                    {}, file)


def cell(table: RowTable[GroupRow], name: str, at: int = -1) -> Cell:
    column = next(column for column in table.columns if column.id == name)
    return table.cell(column, table.rows[at])


def test_rates_quota_and_throttling() -> None:
    table = group_table([row("/"), row("/a", quota_usec=50_000, period_usec=100_000, periods=20, throttled=5,
                                       memory_bytes=30 << 20, memory_max=40 << 20)], NONE, 1, 4)
    assert cell(table, "CPU%").value == pytest.approx(50.0)
    assert cell(table, "Quota").value == 0.5
    assert cell(table, "Quota%").value == pytest.approx(100.0)
    assert cell(table, "Throttled%").value == 25.0
    assert (cell(table, "Mem").value, cell(table, "Mem%").value) == (30.0, 75.0)


def test_watts_are_an_estimate_that_adds_up_to_the_packages() -> None:
    table = group_table([row("/", 4e6), row("/a", 1e6), row("/b", 2e6), row("/a/in", 1e6)], ENERGY, 2, 4)
    assert [cell(table, "Watt", at).value for at in range(4)] == pytest.approx([10.0, 2.5, 5.0, 2.5])
    assert cell(table, "Watt", 1).estimated
    assert not cell(table, "CPU%", 1).estimated
    assert "7.50 of packages' 20.00 W" in sum_held_against_package(table, ENERGY, 2)


def test_watts_by_cycles_are_of_the_package_where_the_group_ran() -> None:
    def counted(path: str, *cycles: float) -> GroupRow:
        one = row(path, 1e6)
        more = {cycles_in(at): many for at, many in enumerate(cycles)}
        return replace(one, increases={**one.increases, **more}, files={**one.files, **dict.fromkeys(more, "cpu.stat")})

    rows = [counted("/", 8e9, 4e9), counted("/a", 2e9, 0), counted("/b", 4e9, 4e9), row("/c", 1e6)]
    table = group_table(rows, ENERGY, 2, 4)
    assert [cell(table, "Watt", at).value for at in range(3)] == pytest.approx([20.0, 3.75, 12.5])
    uncounted = cell(table, "Watt", 3)
    assert uncounted.value is None, "by CPU time it would come on top of what the others share by cycles"
    assert uncounted.why is not None
    assert "this group's were not counted" in uncounted.why.detail
    column = next(column for column in table.columns if column.id == "Watt")
    said = [line for lines in table.evidence(column, rows[1]).readings for line in lines]
    assert any("shared by cycles" in line for line in said)
    assert "perf cycles of package 0: +2,000,000,000" in said
    held = sum_held_against_package(table, ENERGY, 2)
    assert "Watt~ by cycles: 16.25 of packages' 20.00 W in groups" in held
    assert held.endswith("in groups whose part is unknown")


def test_cycles_of_some_cpus_alone_share_nothing() -> None:
    def counted(path: str, cpu: float, *cycles: float) -> GroupRow:
        one = row(path, cpu)
        more = {cycles_in(at): many for at, many in enumerate(cycles)}
        return replace(one, increases={**one.increases, **more}, files={**one.files, **dict.fromkeys(more, "cpu.stat")})

    rows = [counted("/", 4e6, 8e9, 4e9), counted("/a", 1e6, 8e9, 0)]
    few = replace(ENERGY, part=Unavailable(Reason.NOT_READ, "only 0-1 are measured"))
    assert [cell(group_table(rows, few, 2, 4), "Watt", at).value for at in (0, 1)] == pytest.approx([10.0, 2.5])
    assert cell(group_table(rows, ENERGY, 2, 4), "Watt", 1).value == pytest.approx(15.0)


def test_no_watts_without_every_package_s_energy() -> None:
    table = group_table([row("/", 4e6), row("/a")], ENERGY, 3, 4)
    assert cell(table, "Watt").value is None
    assert cell(table, "Watt").why is not None
    assert not sum_held_against_package(table, ENERGY, 3)
    why = cell(group_table([row("/"), row("/a")], NONE, 1, 4), "Watt").why
    assert why is not None
    assert why.detail == "no meter"


def test_each_unknown_cell_has_its_reason() -> None:
    idle = row("/a", quota_usec=1.0, period_usec=1.0, periods=0, throttled=0)
    table = group_table([row("/"), idle, row("/elsewhere", None)], NONE, 1, 4)
    throttled, run_delay, elsewhere = (cell(table, "Throttled%", 1), cell(table, "RunDelay%", 1), cell(table, "CPU%"))
    assert throttled.why is not None
    assert "any period" in throttled.why.detail
    assert run_delay.why is not None
    assert "version 2 counts no run delay" in run_delay.why.detail
    assert elsewhere.why is not None
    assert "not in the tree" in elsewhere.why.detail
    switches = cell(table, "CSw/s").why
    assert switches is not None
    assert "groups --add context-switches" in switches.remedy
    for group_row in table.rows:
        for column in table.columns:
            made = table.cell(column, group_row)
            assert (made.value is None) == (made.why is not None), column.id


def test_every_formula_is_written_down() -> None:
    table = group_table([row("/", 4e6), row("/a", quota_usec=1.0, period_usec=2.0)], ENERGY, 2, 4)
    column = next(column for column in COLUMNS if column.id == "CPU%")
    evidence = table.evidence(column, table.rows[1])
    assert evidence.arithmetic[0] == "= cpu_usec / Δt cpu.stat x 1e-6 x 100"
    assert any("+1,000,000 in 2.000 s" in line for lines in evidence.readings for line in lines)
    watt = next(column for column in COLUMNS if column.id == "Watt")
    assert "packages' joules" in table.evidence(watt, table.rows[1]).arithmetic[0]


def test_columns_need_what_files_give() -> None:
    assert needed(COLUMNS) - {"joules", "switches"} <= QUANTITIES
    assert len({column.id for column in COLUMNS}) == len(COLUMNS)
    assert all(column.help and column.document for column in COLUMNS if column.needs)


@pytest.mark.parametrize(("inside", "disputed"), [(20.0, False), (31.0, False), (33.0, True)])
def test_a_group_with_less_memory_than_a_group_in_it_is_disputed(inside: float, disputed: bool) -> None:
    """More than 5 % less is disputed; less than that can be memory that was allocated between two reads."""
    table = group_table([row("/", memory_bytes=30 * 2.0**20), row("/a", memory_bytes=inside * 2**20),
                         row("/b", memory_bytes=2.0**20), row("/b/in", memory_bytes=2.0**20)], NONE, 1, 4)
    marks = [cell(table, "Mem", at).disputed for at in range(4)]
    assert [bool(mark) for mark in marks] == [disputed, False, False, False]
    assert all("/a" in sentence for mark in marks for sentence in mark)
    assert not cell(table, "CPU%", 0).disputed


@pytest.mark.parametrize(("file", "because"), [("memory.usage_in_bytes", True), ("memory.current", False)])
def test_only_of_version_1_the_outermost_group_is_said_to_lack_the_kernels_memory(file: str, because: bool) -> None:
    whole = replace(row("/", memory_bytes=2.0**20), files={"memory_bytes": file})
    sentence, = cell(group_table([whole, row("/a", memory_bytes=2.0**21)], NONE, 1, 4), "Mem", 0).disputed
    assert ("the kernel leaves out" in sentence) is because
