"""Memory of tasks by node: a simulated machine one of whose processes has its memory on the other package."""

from __future__ import annotations

from dataclasses import replace

import pytest
from knownmachines import known_machine
from test_simulated_tasks import passes, watching

from turbotui.features.tasks.columns import SEVERAL, TASK_COLUMNS, TaskInputs, measured
from turbotui.features.tasks.memory_places import MAP_BY_ID, MOVE_BY_ID, nodes_where_it_ran, place_sentence
from turbotui.features.tasks.recorded_places import joined_places, places_facts, places_from, read_places
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.task_table import task_table
from turbotui.machine.tasks.numa_balancing import MovedPages
from turbotui.machine.tasks.numa_maps import GONE, ONE_NODE, NodeMemory
from turbotui.machine.tasks.proc_facts import MemoryPlaces, ProcFacts, TaskLooks
from turbotui.quantities.tables import RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, packed, unpacked
from turbotui.simulated.threads import process_of
from turbotui.simulated.workloads import MEMORY

pytestmark = pytest.mark.usefixtures("few_cores")

NODES = {0: 0, 1: 0, 2: 1, 3: 1}


def table_of(name: str, by: Grouping, *, asked: bool = True, seen: bool = True) -> RowTable[TaskInputs]:
    with watching(name, whole=True) as (host, applications, application):
        passes(host, applications, 10)
        report = applications.report(application, by)
        facts = ProcFacts(host, known_machine(host).topology if asked else None)
        return task_table(report, by, {}, None, looked(facts, report) if seen else TaskLooks(facts))


def looked(facts: ProcFacts, report: Report) -> TaskLooks:
    """A look that has the memory of the rows' processes."""
    looks = TaskLooks(facts)
    for row in report.rows:
        if row.pid is not None:
            looks.memory_of(row.pid)
    if facts.memory is not None:
        facts.memory.wait(60)
    return looks


@pytest.mark.usefixtures("all_cores")
def test_threads_whose_memory_is_on_the_other_package_are_told_from_those_beside_it() -> None:
    table = table_of("sapphire-2s", Grouping.THREAD)
    rows = [row for row in table.rows if row.row.pid == process_of(MEMORY)]
    seen = set()
    for row in rows:
        assert measured("MemNode", row).value == 1
        assert measured("MapAge", row).value == pytest.approx(0.0)
        seen.add(row.nodes)
        on = {frozenset({0}): 95.0, frozenset({1}): 5.0, frozenset({0, 1}): 0.0}  # the last: it moved over
        assert measured("Elsewhere%", row).value == pytest.approx(on[row.nodes])
    assert seen >= {frozenset({0}), frozenset({1})}


@pytest.mark.usefixtures("all_cores")
def test_a_process_that_runs_on_both_nodes_has_nothing_elsewhere() -> None:
    table = table_of("sapphire-2s", Grouping.PROCESS)
    row = next(row for row in table.rows if row.row.pid == process_of(MEMORY))
    assert row.nodes == {0, 1}
    assert measured("Elsewhere%", row).value == 0.0


def test_the_columns_are_there_only_if_asked_for_and_each_unknown_cell_has_a_reason() -> None:
    plain = table_of("sapphire-2s", Grouping.THREAD, asked=False)
    assert MAP_BY_ID.keys().isdisjoint(column.id for column in plain.columns)
    table = table_of("laptop-old", Grouping.PROCESS)
    columns = [column for column in table.columns if column.id in MAP_BY_ID | MOVE_BY_ID]
    assert len(columns) == len(MAP_BY_ID) + len(MOVE_BY_ID)
    assert {table.cell(column, row).why for column in columns for row in table.rows} == {ONE_NODE}
    several = TaskInputs(replace(table.rows[0].row, pid=None), 1.0, looks=table.rows[0].looks)
    assert {table.cell(column, several).why for column in columns} == {SEVERAL}


def test_nothing_is_read_for_other_columns() -> None:
    table = table_of("sapphire-2s", Grouping.THREAD, seen=False)
    row = table.rows[0]
    assert row.row.pid is not None
    for column in TASK_COLUMNS:
        if column.id not in MAP_BY_ID and column.id not in MOVE_BY_ID:
            table.cell(column, row)
    assert not row.looks.places.memory
    measured("MemNode", row)
    assert row.looks.places.memory.keys() == {row.row.pid}


@pytest.mark.parametrize(("loads", "last", "nodes"), [
    ({0: 100, 1: 50}, 0, {0}), ({0: 100, 2: 100}, 0, {0, 1}), ({0: 95, 3: 5}, 3, {0}), ({}, 2, {1}), ({}, -1, set()),
    ({9: 100}, 9, set()),
])
def test_where_a_row_ran_leaves_out_nodes_that_it_passed_through(loads: dict[int, int], last: int,
                                                                 nodes: set[int]) -> None:
    assert nodes_where_it_ran(loads, last, NODES) == nodes


def test_the_explanation_names_the_node_to_move_to_and_commands_to_run_by_hand() -> None:
    memory = NodeMemory({0: 2**30, 1: 3 * 2**30}, 4_000_000_000)
    assert place_sentence(memory, frozenset({0}), NODES, 7, None) == (
        "memory of process 7, 4 s before, by /proc/7/numa_maps: node 0 1.000 GiB, node 1 3.000 GiB; it ran on node 0. "
        "75 % of it is elsewhere: it should move to node 1, or the memory to where it runs. By hand, to run it there: "
        "taskset -acp 2-3 7; to move the memory: migratepages 7 1 0")
    assert "taskset -cp 2-3 9; " in place_sentence(memory, frozenset({0}), NODES, 7, 9)
    for nodes in ({1}, {0, 1}, set()):
        assert "move" not in place_sentence(memory, frozenset(nodes), NODES, 7, None)
    without_cpus = place_sentence(NodeMemory({2: 1_000}, 0), frozenset({0}), NODES, 7, None)
    assert "By hand, to move the memory: migratepages 7 2 0" in without_cpus


class TestMovedPages:
    @pytest.mark.usefixtures("all_cores")
    def test_they_are_of_the_threads_whose_memory_is_on_another_node(self) -> None:
        with watching("sapphire-2s", whole=True) as (host, applications, application):
            facts = ProcFacts(host, known_machine(host).topology)
            tables = []
            for _ in range(2):
                passes(host, applications, 10)
                report = applications.report(application, Grouping.PROCESS)
                tables.append(task_table(report, Grouping.PROCESS, {}, None, TaskLooks(facts)))
                for row in tables[-1].rows:
                    measured("NumaMigr/s", row)
            first, second = ({row.row.pid: row for row in table.rows} for table in tables)
            why = measured("NumaMigr/s", first[process_of(MEMORY)]).why
            assert why is not None
            assert why.reason is Reason.FIRST_TICK
            moved = second[process_of(MEMORY)]
            assert measured("NumaMigr/s", moved).value == pytest.approx(2_000 * moved.row.run_seconds, rel=0.01)
            assert measured("NumaNode", moved).value == "1"
            other = second[process_of(0)]
            assert measured("NumaMigr/s", other).value == 0.0
            assert measured("NumaNode", other).why is not None


WHY = Unavailable(Reason.NOT_PERMITTED, "no", "run as root")
PLACES = MemoryPlaces({7: NodeMemory({0: 4096, 1: 8192}, 5), 9: WHY, 10: GONE},
                      {(7, None): MovedPages(3, 10, (0, 1), 40), (7, 7): MovedPages(0, 0, (), 0), (9, None): WHY})


def again(places: MemoryPlaces) -> MemoryPlaces:
    return places_from(unpacked(packed({"places": places_facts(places)}), "tasks")["places"])


class TestRecorded:
    def test_what_is_known_and_why_the_rest_is_not_are_the_same_again(self) -> None:
        assert again(PLACES) == PLACES
        assert again(MemoryPlaces()) == MemoryPlaces()
        facts = places_facts(PLACES)
        assert facts["reasons"] == [["not permitted", "no", "run as root"], ["not read", GONE.detail, ""]], "each once"

    @pytest.mark.parametrize(("part", "column", "value"), [
        ("memory", "age", [None, None, None]), ("memory", "why", [None, 2, 1]), ("memory", "why", [None, -1, 1]),
        ("memory", "nodes", [{"0": 0}, {}, {}]), ("memory", "nodes", [{"1024": 1}, {}, {}]),
        ("memory", "nodes", [{"x": 1}, {}, {}]), ("memory", "nodes", [{"0": -1, "1": 9}, {}, {}]),
        ("memory", "pid", [7, 9]), ("moved", "pages", [-1, 0, None]), ("moved", "ns", [-1, 0, None]),
        ("moved", "nodes", [[-1], [], []]), ("moved", "pages", [None, 0, None]), ("moved", "tid", [None, 7]),
    ])
    def test_what_is_none_is_refused(self, part: str, column: str, value: object) -> None:
        facts = places_facts(PLACES)
        columns = facts[part]
        assert isinstance(columns, dict)
        with pytest.raises(DamagedError):
            places_from(JsonValue({**facts, part: {**columns, column: value}}, "tasks"))

    def test_intervals_are_joined(self) -> None:
        later = MemoryPlaces({9: NodeMemory({0: 1}, 1), 7: GONE},
                             {(7, None): MovedPages(4, 20, (1,), 44), (8, None): WHY})
        joined = joined_places(PLACES, later, 100)
        assert joined is not None
        assert joined.memory == {7: NodeMemory({0: 4096, 1: 8192}, 105), 9: NodeMemory({0: 1}, 1), 10: GONE}
        assert joined.moved == {(7, None): MovedPages(7, 30, (1,), 44), (7, 7): MovedPages(0, 0, (), 0),
                                (9, None): WHY, (8, None): WHY}
        assert joined_places(None, later, 100) == later
        assert joined_places(None, None, 100) is None

    def test_cells_of_a_recording_are_those_of_then(self) -> None:
        with watching("sapphire-2s", whole=True) as (host, applications, application):
            topology = known_machine(host).topology
            passes(host, applications, 10)
            report = applications.report(application, Grouping.THREAD)
            looks = looked(ProcFacts(host, topology), report)
            places = read_places(looks, [(process_of(kind), None) for kind in range(4)] + [
                (row.pid, row.tid) for row in report.rows if row.pid is not None])
            node_of = {cpu: place.node for cpu, place in topology.places.items()}
            then = TaskLooks(None, places=replace(again(places), node_of=node_of))
            tables = [task_table(report, Grouping.THREAD, {}, None, of) for of in (looks, then)]
            columns = [column for column in tables[0].columns if column.id in MAP_BY_ID | MOVE_BY_ID]
            assert len(columns) == 5
            for was, now in zip(*(table.rows for table in tables), strict=True):
                assert [tables[1].cell(column, now) for column in columns] == [
                    tables[0].cell(column, was) for column in columns]
