"""Groups of simulated machines: every number is a known share of the model's."""

from __future__ import annotations

import pytest
from model_truth import truth_of

from turbotui.features.groups.engine import GroupInterval, GroupsReader
from turbotui.features.groups.model import GroupRow
from turbotui.features.groups.resctrl_reader import events_in
from turbotui.features.groups.resctrl_table import ResctrlTable, resctrl_columns, resctrl_table
from turbotui.quantities.unavailable import Reason
from turbotui.simulated import ManualClock, SimulatedHost, simulated_host
from turbotui.simulated.resctrl_files import LOCAL, SHARES, TELEMETRY, UNASSIGNED
from turbotui.simulated.strain_files import DISK, GROUPS, MEMORY, SLICE

SECONDS = 2.0


def interval(name: str) -> tuple[SimulatedHost, GroupInterval, list[tuple[float, float]]]:
    """An interval, with bytes and cores' joules of each package in it."""
    clock = ManualClock()
    host = simulated_host(name, clock)
    clock.advance(10.0)
    reader = GroupsReader(host)
    assert not reader.read().seconds
    packages = range(host.shape.packages)
    before = [truth_of(host).package_truth(package) for package in packages]
    clock.advance(SECONDS)
    group_interval = reader.read()
    reader.close()
    assert group_interval.seconds == pytest.approx(SECONDS)
    after = [truth_of(host).package_truth(package) for package in packages]
    return host, group_interval, [(new.read_bytes + new.written_bytes - old.read_bytes - old.written_bytes,
                                   new.cores_joules - old.cores_joules) for old, new in zip(before, after, strict=True)]


def value(table: ResctrlTable, path: str, name: str, domain: str = "") -> object:
    column = next(column for column in table.columns if column.id == name)
    row = next(row for row in table.rows if (row.group.path, row.group.domain) == (path, domain))
    return column.compute(row)


def table(group_interval: GroupInterval) -> ResctrlTable:
    return resctrl_table(group_interval.resctrl, resctrl_columns(events_in(group_interval.resctrl)))


@pytest.mark.parametrize("name", ["sapphire-2s", "turin-2s", "grace-2s", TELEMETRY])
def test_bandwidth_and_occupancy_are_the_group_s_share(name: str) -> None:
    host, reply, packages = interval(name)
    moved = sum(traffic for traffic, _ in packages)
    made = table(reply)
    local = 1.0 if name == TELEMETRY else LOCAL  # it has one node
    assert reply.info is not None
    for path, share in SHARES:
        if reply.info.mode == "mbm_event" and UNASSIGNED.startswith(path):  # the sum of / lacks the group in it
            row = next(row for row in reply.resctrl if (row.group.path, row.group.domain) == (path, ""))
            assert row.absent["L3 00 mbm_total_bytes"].reason is Reason.NOT_SET
            continue
        assert value(made, path, "MemBW") == pytest.approx(share * moved / SECONDS / 1e9, rel=1e-3)
        assert value(made, path, "LocalBW") == pytest.approx(local * share * moved / SECONDS / 1e9, rel=1e-3)
        assert value(made, path, "L3", "L3 00") == pytest.approx(share * host.shape.l3_kib / 1024, rel=1e-3)


def test_watts_of_a_group_are_measured_where_there_is_telemetry() -> None:
    _host, reply, packages = interval(TELEMETRY)
    for path, share in SHARES:
        assert value(table(reply), path, "CorWatt") == pytest.approx(share * packages[0][1] / SECONDS, rel=1e-3)
    _host, without, _packages = interval("sapphire-2s")
    assert "CorWatt" not in {column.id for column in table(without).columns}


def test_control_groups_have_memory_storage_and_tasks() -> None:
    host, group_interval, _packages = interval("laptop")
    rows: dict[str, GroupRow] = {row.group.path: row for row in group_interval.rows}
    for path, share in GROUPS:
        row = rows[f"/{path}"]
        assert row.values["memory_bytes"] == int((host.shape.memory_gib << 30) * share * MEMORY)
        assert row.rate("cpu_usec") == pytest.approx(share * (rows["/"].rate("cpu_usec") or 0.0), rel=1e-4, abs=1.0)
        assert row.values["anon_bytes"] + row.values["file_bytes"] == row.values["memory_bytes"]
        assert row.increases["major_faults"] >= 0
        assert row.rate("read_bytes") == pytest.approx(share * DISK[0], rel=1e-4)
        assert ("memory_max" in row.values) == (path == SLICE)
    assert not group_interval.resctrl
    assert group_interval.info is None
