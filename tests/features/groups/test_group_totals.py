"""Counters of groups for an exporter: raw, in base units, within a limit."""

from __future__ import annotations

from pathlib import Path

import pytest
from grouptrees import PRESSURE, GroupTree
from model_truth import truth_of

from turbotui.features.groups.totals import GroupTotalsReader
from turbotui.simulated import ManualClock, simulated_host
from turbotui.simulated.resctrl_files import SHARES, TELEMETRY


@pytest.fixture
def tree(tmp_path: Path) -> GroupTree:
    tree = GroupTree(tmp_path)
    tree.used("", 9_000_000)
    tree.used("kube.slice", 3_000_000)
    tree.used("kube.slice/pod", 1_500_000, "nr_periods 10\nnr_throttled 2\nthrottled_usec 500000\n")
    tree.group("kube.slice/pod", cpu_pressure=PRESSURE.format(2_000_000, 1), memory_current="4096\n",
               memory_max="max\n")
    tree.used("other", 7)
    return tree


def test_values_are_raw_counters_in_base_units(tree: GroupTree) -> None:
    reader = GroupTotalsReader(tree.host)
    result = {total.group.path: total.values for total in reader.read().groups}
    assert list(result) == ["/kube.slice", "/other", "/kube.slice/pod"], "nearest to the outermost first, without it"
    pod = result["/kube.slice/pod"]
    assert (pod["cpu_seconds"], pod["throttled_seconds"], pod["throttled_periods"]) == (1.5, 0.5, 2)
    assert (pod["cpu_pressure_seconds"], pod["memory_bytes"]) == (2.0, 4096)
    assert "memory_limit_bytes" not in pod, "there is no limit"
    tree.used("other", 10)
    assert {one.group.path: one.values for one in reader.read().groups}["/other"]["cpu_seconds"] == pytest.approx(1e-5)
    reader.close()


def test_what_is_asked_for_and_what_is_left_out(tree: GroupTree) -> None:
    assert [total.group.path for total in GroupTotalsReader(tree.host, "kube.slice").read().groups] == [
        "/kube.slice", "/kube.slice/pod"]
    few = GroupTotalsReader(tree.host, most=1).read()
    assert [total.group.path for total in few.groups] == ["/kube.slice"]
    assert few.left_out == 2
    assert not GroupTotalsReader(tree.host, "/kube").read().groups


def test_groups_of_resctrl_are_summed_over_domains() -> None:
    clock = ManualClock()
    host = simulated_host(TELEMETRY, clock)
    clock.advance(10.0)
    result = {total.group.path: total.values for total in GroupTotalsReader(host).read().groups if total.is_monitored}
    assert set(result) == {path for path, _share in SHARES}
    for path, share in SHARES:
        assert result[path]["core_energy_joules"] == pytest.approx(
            share * truth_of(host).package_truth(0).cores_joules, rel=1e-3)
    amd = simulated_host("turin-2s", clock)
    unassigned = next(total for total in GroupTotalsReader(amd).read().groups if total.group.path == "/mon_groups/web")
    assert "memory_traffic_bytes" not in unassigned.values
    assert unassigned.values["l3_bytes"] > 0
