"""Level 1 by the vendor's metrics, for cores without a tree: the shares equal those of the model's pipelines."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest
from test_topdown_truth import LEVEL_ONE
from topdown_bed import TopdownBed, total

from turbotui.events.event_tables.model import VendorEvent, VendorMetric, VendorRows, VendorTables
from turbotui.events.metrics.errors import MetricError
from turbotui.features.topdown.engine import Branch
from turbotui.features.topdown.places import RowLevel
from turbotui.features.topdown.tables import basis, node_of, table_of
from turbotui.features.topdown.vendor_trees import tree_of_tables, vendor_tree
from turbotui.machine.pmus import read_pmu

_ALL = "(topdown\\-fe\\-bound + topdown\\-bad\\-spec + topdown\\-retiring + topdown\\-be\\-bound)"


def tables(*metrics: VendorMetric) -> VendorTables:
    by_name = {vendor_metric.name: vendor_metric for vendor_metric in metrics}
    return VendorTables("made tables", VendorRows({}, VendorEvent),
                        VendorRows({name: [name] for name in by_name}, lambda name: by_name[name]))


def metric(name: str, expression: str, unit: str = "100%") -> VendorMetric:
    return VendorMetric(name, expression, ("TopdownL1", "TmaL1"), f"{name} of the vendor.", scale_unit=unit)


SAPPHIRE = (
    metric("tma_retiring", f"topdown\\-retiring / {_ALL}"),
    metric("tma_frontend_bound", f"topdown\\-fe\\-bound / {_ALL}"),
    metric("tma_backend_bound", f"topdown\\-be\\-bound / {_ALL}"),
    metric("tma_bad_speculation", "max(1 - (tma_frontend_bound + tma_backend_bound + tma_retiring), 0)"),
    VendorMetric("tma_info_thread_slots", "slots"),
)


def bed_of(*metrics: VendorMetric) -> TopdownBed:
    bed = TopdownBed("sapphire-2s")
    pmu = read_pmu(bed.host, "cpu")
    assert pmu is not None
    tree = tree_of_tables(bed.machine, pmu, tables(*metrics))
    assert tree is not None
    (old,) = bed.counters.branches
    bed.counters.branches = (Branch(tree, "cpu", old.cpus, old.places, old.threads, 0),)
    return bed


@pytest.mark.parametrize("percent", [False, True])
def test_the_vendors_metrics_give_what_the_pipelines_did(percent: bool) -> None:
    metrics = SAPPHIRE if not percent else (
        *(metric(item.name, f"100 * {item.expression}", "1percent of slots") for item in SAPPHIRE[:3]),
        metric("tma_bad_speculation", f"100 * topdown\\-bad\\-spec / {_ALL}", "1percent of slots"), SAPPHIRE[4])
    bed = bed_of(*metrics)
    frame, truth = bed.interval()
    for row in bed.rows(frame, RowLevel.PACKAGE):
        slots = total(truth, row.place.cpus, "slots")
        assert row.slots() == pytest.approx(slots, rel=1e-6)
        assert row.total() == pytest.approx(100.0, abs=0.01)
        assert not row.fault()
        assert len(row.nodes()) == 4
        for node in row.nodes():
            happened = total(truth, row.place.cpus, LEVEL_ONE[node.id])
            assert row.percent(node.id) == pytest.approx(100.0 * happened / slots, abs=0.01), node.id
    (branch,) = bed.counters.branches
    assert "made tables" in branch.tree.title
    assert branch.tree.nodes[0].metric.startswith("tma_")


@pytest.mark.parametrize("past", [False, True])
def test_a_share_past_its_vendors_threshold_is_marked(past: bool) -> None:
    first, *others = SAPPHIRE
    said = f"{first.name} {'>' if past else '<'} 0.001 | {first.name} {'>' if past else '<'} 0.002"
    bed = bed_of(replace(first, threshold=said), *others)
    frame, _truth = bed.interval()
    (row,) = bed.rows(frame, RowLevel.MACHINE)
    table = table_of(bed.counters, RowLevel.MACHINE, (row,))
    marked = {column.id for column in table.columns if table.cell(column, row).outstanding}
    (retiring,) = (column for column in table.columns if node_of(column) == "retiring")
    assert marked == ({retiring.id} if past else set())
    assert any(said in remark for remark in basis(retiring, row).remarks)


def test_slots_are_cycles_where_no_metric_tells_them() -> None:
    bed = bed_of(*SAPPHIRE[:4])
    frame, truth = bed.interval()
    (row,) = bed.rows(frame, RowLevel.MACHINE)
    assert row.slots() == pytest.approx(total(truth, row.place.cpus, "slots") / 6.0, rel=1e-6)


def test_tables_that_say_too_little_give_no_tree() -> None:
    bed = TopdownBed("sapphire-2s")
    pmu = read_pmu(bed.host, "cpu")
    assert pmu is not None
    assert tree_of_tables(bed.machine, pmu, tables(*SAPPHIRE[:2])) is None
    assert tree_of_tables(bed.machine, pmu, tables()) is None
    unknown = metric("tma_retiring", "NOT_AN_EVENT / slots")
    assert tree_of_tables(bed.machine, pmu, tables(unknown, *SAPPHIRE[1:3])) is None
    with pytest.raises(MetricError):
        tree_of_tables(bed.machine, pmu, tables(metric("tma_retiring", "tma_retiring + 1"), *SAPPHIRE[1:3]))


def test_slots_of_a_core_are_no_cpus_own() -> None:
    wide = metric("tma_frontend_bound", f"topdown\\-fe\\-bound / {_ALL} if #SMT_on else 0")
    bed = bed_of(SAPPHIRE[0], wide, SAPPHIRE[2], SAPPHIRE[4])
    frame, _truth = bed.interval()
    assert bed.rows(frame, RowLevel.CPU)[0].refused is not None
    assert bed.rows(frame, RowLevel.CORE)[0].refused is None


def test_no_tables_is_no_tree() -> None:
    bed = TopdownBed("guest")
    bed.host.fail("/proc/cpuinfo", errno.EACCES)
    pmu = read_pmu(TopdownBed("sapphire-2s").host, "cpu")
    assert pmu is not None
    assert vendor_tree(bed.machine, pmu) is None
