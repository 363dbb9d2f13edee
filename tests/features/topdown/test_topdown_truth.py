"""Shares of every core type, compared with the model's slots: level 1 adds up, and deeper levels are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from topdown_bed import TopdownBed, total

from turbotui.features.topdown.engine import PART_OF_CORE
from turbotui.features.topdown.places import RowLevel
from turbotui.features.topdown.tables import basis, node_of, table_of
from turbotui.features.topdown.trees import trees
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame
from turbotui.simulated.pmus_core import core_events

LEVEL_ONE = {"retiring": "slots-retiring", "bad_speculation": "slots-bad", "frontend": "slots-front",
             "backend": "slots-back", "contention": "slots-sibling"}
LEVEL_TWO = {"mispredicts": "slots-mispredicted", "clears": "slots-clears", "fetch_latency": "slots-latency",
             "fetch_bandwidth": "slots-bandwidth", "memory_bound": "slots-memory", "core_bound": "slots-core",
             "heavy": "slots-heavy", "microcode": "slots-microcode"}
DEEPER = {
    "l1_bound": "l1-cycles", "l2_bound": "l2-cycles", "l3_bound": "l3-cycles", "dram_bound": "dram-cycles",
    "store_bound": "store-cycles", "memory_bandwidth": "bandwidth-cycles", "divider": "divider-cycles",
    "serializing": "serial-cycles", "ports_1": "port-1-cycles", "ports_2": "port-2-cycles", "ports_3": "port-3-cycles",
    "icache": "icache-cycles", "itlb": "itlb-cycles", "resteers": "resteers-cycles", "switches": "switches-cycles",
}
"""Nodes of levels 3 and 4: cycles, or as many slots."""
ONE_CAUSE = {"decode": "slots-bandwidth", "fast_nuke": "slots-clears"}
"""Nodes of level 3 to which the model gives all slots of their parent; their siblings have none."""
MACHINES = ("sapphire-2s", "icelake-2s", "turin-2s", "genoa-1s", "forest-1s", "grace-2s", "vera-2s", "laptop",
            "laptop-arrow")


@pytest.mark.parametrize("name", MACHINES)
def test_level_one_is_what_the_pipelines_did(name: str) -> None:
    bed = TopdownBed(name)
    frame, truth = bed.interval()
    for level in (RowLevel.MACHINE, RowLevel.PACKAGE, RowLevel.KIND):
        for row in bed.rows(frame, level):
            slots = total(truth, row.place.cpus, "slots")
            assert row.slots() == pytest.approx(slots, rel=1e-6)
            assert row.total() == pytest.approx(100.0, abs=0.01)
            assert not row.fault()
            for node in row.nodes():
                happened = total(truth, row.place.cpus, LEVEL_ONE[node.id])
                assert row.percent(node.id) == pytest.approx(100.0 * happened / slots, abs=0.01), (row.place, node.id)


@pytest.mark.parametrize(("name", "limits"), [
    ("sapphire-2s", {"retiring": 70, "bad_speculation": 15, "frontend": 15, "backend": 20}),
    ("forest-1s", {"retiring": 75, "bad_speculation": 15, "frontend": 20, "backend": 10}),
    ("turin-2s", {}),
    ("grace-2s", {}),
])
def test_shares_past_the_thresholds_of_intel_are_marked(name: str, limits: dict[str, float]) -> None:
    bed = TopdownBed(name)
    frame, truth = bed.interval()
    rows = bed.rows(frame, RowLevel.CPU)
    table = table_of(bed.counters, RowLevel.CPU, rows)
    seen = set()
    for row in rows:
        for column in table.columns:
            node = node_of(column)
            if node not in LEVEL_ONE or row.percent(node) is None:
                continue
            happened = 100.0 * total(truth, row.place.cpus, LEVEL_ONE[node]) / total(truth, row.place.cpus, "slots")
            past = node in limits and happened > limits[node]
            assert table.cell(column, row).outstanding is past, (row.place, node, happened)
            seen.add(past)
            source = "-metrics.json, MetricThreshold" if limits else "no threshold of its vendor is known"
            assert any(source in remark for remark in basis(column, row).remarks)
    assert seen == ({False, True} if limits else {False})


def test_a_deep_share_is_marked_only_where_those_above_it_are() -> None:
    bed = TopdownBed("sapphire-2s", 2)
    frame, _truth = bed.interval()
    seen = set()
    for row in bed.rows(frame, RowLevel.CPU):
        memory, backend = row.percent("memory_bound"), row.percent("backend")
        assert row.stands_out("memory_bound") is (memory is not None and backend is not None
                                                  and memory > 20 and backend > 20)
        seen.add(row.stands_out("memory_bound"))
    assert seen == {False, True}


@pytest.mark.parametrize(("offline", "cpus", "whole"), [
    (7, None, (0, 4, 1, 5, 2, 6)), (None, frozenset({0, 1, 4}), (0, 4)), (None, frozenset({0, 1}), ()),
])
def test_a_core_has_its_slots_only_with_all_of_its_threads(offline: int | None, cpus: frozenset[int] | None,
                                                           whole: tuple[int, ...]) -> None:
    """Skylake counts the slots of a core and what each of its threads retires."""
    bed = TopdownBed("laptop-old", offline=offline, cpus=cpus)
    frame, truth = bed.interval()
    cores = {cpu: 4.0 * truth[cpu]["core-cycles-of-all"] / 2 for cpu in whole}
    for row in (*bed.rows(frame, RowLevel.MACHINE), *bed.rows(frame, RowLevel.CORE)):
        inside = [cpu for cpu in row.place.cpus if cpu in whole]
        table = table_of(bed.counters, row.place.level, [row])
        for node in row.nodes():
            cell = table.cell(next(column for column in table.columns if node_of(column) == node.id), row)
            assert cell.partial is (0 < len(inside) < len(row.place.cpus))
            if not inside:
                assert cell.value is None
                assert cell.why is PART_OF_CORE
        if inside:
            assert row.slots() == pytest.approx(sum(cores[cpu] for cpu in inside), rel=1e-6)
            retired = total(truth, inside, "slots-retiring")
            assert row.percent("retiring") == pytest.approx(100.0 * retired / (row.slots() or 0.0), abs=0.01)
            assert not row.fault()
    assert all(row.percent("retiring") is None for row in bed.rows(frame, RowLevel.CPU))


def test_deeper_shares_have_the_marks_of_the_counts_of_level_one() -> None:
    """Level 2 of a slots counter is counted in the group of level 1."""
    bed = TopdownBed("sapphire-2s", 2)
    frame, _truth = bed.interval()
    (group,) = bed.counters.first_groups()
    slots = group.signal("slots")
    older = frame.older
    assert older is not None

    def changed(values: dict[str, Sequence[int | str | None]]) -> Frame:
        newer = replace(frame.newer, values={**frame.newer.values, **values})
        return Frame(older, newer, frame.capabilities)

    def marks(seen: Frame) -> set[tuple[int, bool, bool]]:
        (row,) = bed.rows(seen, RowLevel.MACHINE)
        table = table_of(bed.counters, RowLevel.MACHINE, [row], 2)
        cells = {node_of(column): table.cell(column, row) for column in table.columns if node_of(column)}
        return {(bed.counters.branches[0].tree.by_id[name].level, cell.partial, cell.estimated)
                for name, cell in cells.items()}

    assert marks(frame) == {(1, False, False), (2, False, False)}
    assert marks(changed({slots: [None, *frame.newer.values[slots][1:]]})) == {(1, True, False), (2, True, False)}
    half: dict[str, Sequence[int | str | None]] = {}
    for running in (f"{group.signal(name)}.running" for name in group.names):
        half[running] = [old + (new - old) // 2 if isinstance(old, int) and isinstance(new, int) else None
                         for old, new in zip(older.values[running], frame.newer.values[running], strict=True)]
    assert marks(changed(half)) == {(1, False, True), (2, False, True)}


def test_a_mesh_is_no_core_and_stalled_cycles_add_up() -> None:
    bed = TopdownBed("neoverse-2s")
    assert [branch.pmu for branch in bed.counters.branches] == ["armv8_pmuv3_0"]
    frame, _truth = bed.interval()
    for row in bed.rows(frame, RowLevel.PACKAGE):
        assert row.total() == pytest.approx(100.0, abs=0.01)
        assert all((row.percent(node.id) or 0.0) > 1.0 for node in row.nodes())


@pytest.mark.parametrize("name", ["sapphire-2s", "grace-2s", "laptop"])
def test_every_cpu_has_its_own(name: str) -> None:
    bed = TopdownBed(name)
    frame, truth = bed.interval()
    rows = bed.rows(frame, RowLevel.CPU)
    assert [row.place.cpu for row in rows] == list(bed.machine.topology.cpus)
    seen = set()
    for row in rows:
        slots = total(truth, row.place.cpus, "slots")
        if slots < 1e6:
            continue
        for node in row.nodes():
            happened = total(truth, row.place.cpus, LEVEL_ONE[node.id])
            assert row.percent(node.id) == pytest.approx(100.0 * happened / slots, abs=0.05), (row.place, node.id)
        seen.add(round(row.percent("retiring") or 0.0))
    assert len(seen) > 2


def test_slots_of_skylake_are_those_of_the_core() -> None:
    bed = TopdownBed("laptop-old", 2)
    frame, truth = bed.interval()
    for row in bed.rows(frame, RowLevel.CORE):
        slots = 4.0 * truth[row.place.cpus[0]]["core-cycles-of-all"]
        assert row.slots() == pytest.approx(slots, rel=1e-6)
        assert row.total() == pytest.approx(100.0, abs=0.01)
        for node, form in (("retiring", "slots-retiring"), ("frontend", "slots-front"),
                           ("bad_speculation", "slots-bad"), ("heavy", "slots-heavy"),
                           ("fetch_latency", "slots-latency")):
            happened = total(truth, row.place.cpus, form)
            assert row.percent(node) == pytest.approx(100.0 * happened / slots, abs=0.05), node
    (cpu, *_others) = bed.rows(frame, RowLevel.CPU)
    assert cpu.percent("retiring") is None
    assert "belong to a core" in cpu.why("retiring").detail


@pytest.mark.parametrize("name", ["sapphire-2s", "turin-2s", "genoa-1s", "icelake-2s"])
def test_level_two_is_what_the_pipelines_did(name: str) -> None:
    bed = TopdownBed(name, 2)
    frame, truth = bed.interval()
    (row,) = bed.rows(frame, RowLevel.MACHINE)
    slots = total(truth, row.place.cpus, "slots")
    text = 0
    for parent in row.nodes():
        for node in row.nodes(parent.id):
            if node.id in LEVEL_TWO:
                happened = total(truth, row.place.cpus, LEVEL_TWO[node.id])
                assert row.percent(node.id) == pytest.approx(100.0 * happened / slots, abs=0.5), node.id
                text += 1
        assert not row.fault(parent.id)
    assert text >= 6


@pytest.mark.parametrize(("name", "told"), [
    ("sapphire-2s", 15), ("icelake-2s", 12), ("laptop-arrow", 21), ("forest-1s", 3),
])
def test_levels_three_and_four_are_what_the_pipelines_did(name: str, told: int) -> None:
    bed = TopdownBed(name, 4)
    frame, truth = bed.interval()
    compared = 0
    for row in bed.rows(frame, RowLevel.KIND):
        (branch,) = row.branches
        shape = bed.host.model.shape
        kind = shape.core_types[bed.host.model.layout.places[row.place.cpus[0]].type]
        cycles = total(truth, row.place.cpus, "slots") / core_events(kind.events).slots
        for node in branch.tree.nodes:
            if node.id in DEEPER and not (name == "icelake-2s" and node.id.startswith("ports_")):
                # the model's Ice Lake has one-port cycles such that memory bound, which divides by them, is right
                happened = total(truth, row.place.cpus, DEEPER[node.id])
                assert row.percent(node.id) == pytest.approx(100.0 * happened / cycles, abs=0.5), (row.place, node.id)
                compared += 1
    assert compared == told


@pytest.mark.parametrize(("name", "widest"), [("sapphire-2s", "fp_vector_512b"), ("laptop", "fp_vector_256b"),
                                              ("laptop-arrow", "fp_vector_256b"), ("icelake-2s", "fp_vector_512b")])
def test_levels_five_and_six_divide_what_the_levels_above_them_found(name: str, widest: str) -> None:
    bed = TopdownBed(name, 6)
    frame, truth = bed.interval()
    row = bed.rows(frame, RowLevel.KIND)[0]
    tree = row.branches[0].tree
    assert tree.deepest >= 5

    def parts(*nodes: str) -> float:
        return sum(row.percent(node) or 0.0 for node in nodes)

    assert (row.percent("fp_vector") or 0.0) > 1.0
    assert row.percent(widest) == pytest.approx(row.percent("fp_vector"), rel=0.05)
    assert row.percent("fp_arith") == pytest.approx(parts("x87", "fp_scalar", "fp_vector"), rel=0.05)
    assert row.percent("divider") == pytest.approx(parts("fp_divider", "int_divider"), rel=0.05)
    assert row.percent("resteers") == pytest.approx(
        parts("mispredicts_resteers", "clears_resteers", "unknown_branches"), rel=0.05)
    wrong, bad = (total(truth, row.place.cpus, form) for form in ("slots-mispredicted", "slots-bad"))
    assert parts("mispredicts_resteers") == pytest.approx(parts("resteers") * wrong / bad, rel=0.05)
    unknown = [node.id for node in tree.nodes if row.percent(node.id) is None]
    assert not unknown, [row.why(node).sentence() for node in unknown]


def test_loads_are_divided_by_where_they_hit_at_the_clock_of_the_core() -> None:
    bed = TopdownBed("sapphire-2s", 5)
    frame, _truth = bed.interval()
    (row,) = bed.rows(frame, RowLevel.MACHINE)
    (branch,) = row.branches
    hits, cycles, reference = (row.count(branch, "l3_bound", name) for name in (
        "mem_load_retired_l3_hit", "cycles", "reference"))
    assert hits is not None and cycles is not None and reference is not None  # noqa: PT018 - for the type checker
    assert branch.tsc == pytest.approx(bed.host.model.shape.tsc_hz / 1e9)
    assert row.percent("l3_hit_latency") == pytest.approx(
        100.0 * 32.6 * (cycles / reference * bed.host.model.shape.tsc_hz / 1e9) * hits / cycles, rel=1e-6)


def test_a_clock_that_is_not_reported_is_the_reason_of_what_needs_it() -> None:
    bed = TopdownBed("sapphire-2s", 4)
    frame, _truth = bed.interval()
    why = Unavailable(Reason.NO_HARDWARE, "CPUID 0x15: the TSC clock is not told")
    bed.counters.branches = tuple(replace(branch, tsc=why) for branch in bed.counters.branches)
    (row,) = bed.rows(frame, RowLevel.MACHINE)
    assert row.percent("l3_hit_latency") is None
    assert row.why("l3_hit_latency") == why
    assert row.percent("sq_full") is not None
    assert row.percent("port_0") is None
    assert row.why("port_0").reason is Reason.NOT_READ


def test_every_metric_of_a_performance_core_has_its_vendors_threshold() -> None:
    for name in ("golden-cove", "golden-cove-server", "redwood-cove", "redwood-cove-server",
                 "lion-cove", "sunny-cove", "sunny-cove-server", "willow-cove"):
        tree = trees()[name]
        assert not [node.id for node in tree.nodes if not node.metric or node.rule is None]
        unknown = {part for node in tree.nodes if node.rule for part in node.rule.names} - tree.by_id.keys()
        assert not unknown, name


@pytest.mark.parametrize("name", ["forest-1s", "laptop", "laptop-arrow"])
def test_the_parts_of_an_efficient_cores_front_end_and_clears_add_up(name: str) -> None:
    bed = TopdownBed(name, 3)
    frame, truth = bed.interval()
    rows = [row for row in bed.rows(frame, RowLevel.KIND) if row.branches[0].tree.by_id.get("decode")]
    assert rows
    for row in rows:
        slots = total(truth, row.place.cpus, "slots")
        for node, form in ONE_CAUSE.items():
            happened = 100.0 * total(truth, row.place.cpus, form) / slots
            assert row.percent(node) == pytest.approx(happened, abs=0.5), node
        for parent in ("fetch_bandwidth", "clears"):
            parts = sum(share for _node, share in row.shares(parent))
            assert len(row.shares(parent)) == len(row.nodes(parent)) > 1
            assert parts == pytest.approx(row.percent(parent), abs=0.5), parent


@pytest.mark.parametrize(("name", "path"), [
    ("server-psu+memory-bound", ["backend", "memory_bound", "dram_bound"]),
    ("server-psu+front-end-bound", ["frontend", "fetch_latency", "icache"]),
    ("server-psu+core-bound", ["backend", "core_bound", "ports"]),
    ("laptop-arrow+mispredicting", ["bad_speculation", "mispredicts"]),
])
def test_what_bounds_an_application_is_its_hottest_path(name: str, path: list[str]) -> None:
    bed = TopdownBed(name, 3)
    frame, _truth = bed.interval()
    row = bed.rows(frame, RowLevel.KIND)[0]
    assert [node.id for node in row.hottest_path()][: len(path)] == path


def test_a_node_without_a_share_is_on_no_hottest_path() -> None:
    bed = TopdownBed("laptop-arrow", 4)
    frame, _truth = bed.interval()
    ended = []
    for row in bed.rows(frame, RowLevel.CPU):
        path = row.hottest_path()
        assert all(row.percent(node.id) for node in path)
        ended += [node.id for node in path[-1:] if row.nodes(node.id)]
    assert ended  # rows whose last node has children, all of them 0


def test_places_of_memory_are_shares_of_the_cycles() -> None:
    bed = TopdownBed("server-psu", 3)
    frame, truth = bed.interval()
    (row,) = bed.rows(frame, RowLevel.MACHINE)
    cycles = total(truth, row.place.cpus, "slots") / 6.0
    for node, form in (("l1_bound", "l1-cycles"), ("l2_bound", "l2-cycles"), ("l3_bound", "l3-cycles"),
                       ("dram_bound", "dram-cycles"), ("store_bound", "store-cycles")):
        happened = total(truth, row.place.cpus, form)
        assert row.percent(node) == pytest.approx(100.0 * happened / cycles, abs=0.5), node
    assert all(0.0 < share <= 1.0 for share in row.ran.values())
    assert min(row.ran.values()) < 1.0  # more events than counters
    assert row.ran["cpu", ""] == 1.0  # level 1 and 2 take no turns
