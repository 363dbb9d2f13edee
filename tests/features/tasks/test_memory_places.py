"""Memory of tasks by node: a simulated machine one of whose processes has its memory on the other package."""

from __future__ import annotations

from dataclasses import replace

import pytest
from knownmachines import known_machine
from test_simulated_tasks import passes, watching

from turbotui.features.tasks.columns import SEVERAL, TASK_COLUMNS, TaskInputs, measured
from turbotui.features.tasks.memory_places import MAP_BY_ID, nodes_where_it_ran, place_sentence
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.task_table import task_table
from turbotui.machine.tasks.numa_maps import ONE_NODE, NodeMemory
from turbotui.machine.tasks.proc_facts import ProcFacts, TaskLooks
from turbotui.quantities.tables import RowTable
from turbotui.simulated.threads import process_of
from turbotui.simulated.workloads import MEMORY

NODES = {0: 0, 1: 0, 2: 1, 3: 1}


def table_of(name: str, by: Grouping, *, asked: bool = True) -> RowTable[TaskInputs]:
    with watching(name, whole=True) as (host, found, one):
        passes(host, found, 10)
        report = found.report(one, by)
        facts = ProcFacts(host, known_machine(host).topology if asked else None)
        return task_table(report, by, {}, None, TaskLooks(facts))


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


def test_a_process_that_runs_on_both_nodes_has_nothing_elsewhere() -> None:
    table = table_of("sapphire-2s", Grouping.PROCESS)
    row = next(row for row in table.rows if row.row.pid == process_of(MEMORY))
    assert row.nodes == {0, 1}
    assert measured("Elsewhere%", row).value == 0.0


def test_the_columns_are_there_only_if_asked_for_and_each_unknown_cell_has_a_reason() -> None:
    plain = table_of("sapphire-2s", Grouping.THREAD, asked=False)
    assert MAP_BY_ID.keys().isdisjoint(column.id for column in plain.columns)
    table = table_of("laptop-old", Grouping.PROCESS)
    columns = [column for column in table.columns if column.id in MAP_BY_ID]
    assert len(columns) == len(MAP_BY_ID)
    assert {table.cell(column, row).why for column in columns for row in table.rows} == {ONE_NODE}
    several = TaskInputs(replace(table.rows[0].row, pid=None), 1.0, looks=table.rows[0].looks)
    assert {table.cell(column, several).why for column in columns} == {SEVERAL}


def test_nothing_is_read_for_other_columns() -> None:
    table = table_of("sapphire-2s", Grouping.THREAD)
    row = table.rows[0]
    assert row.row.pid is not None
    for column in TASK_COLUMNS:
        if column.id not in MAP_BY_ID:
            table.cell(column, row)
    assert not isinstance(row.looks.memory_seen(row.row.pid), NodeMemory)
    measured("MemNode", row)
    assert isinstance(row.looks.memory_seen(row.row.pid), NodeMemory)


@pytest.mark.parametrize(("loads", "last", "nodes"), [
    ({0: 100, 1: 50}, 0, {0}), ({0: 100, 2: 100}, 0, {0, 1}), ({0: 95, 3: 5}, 3, {0}), ({}, 2, {1}), ({}, -1, set()),
    ({9: 100}, 9, set()),
])
def test_where_a_row_ran_leaves_out_nodes_that_it_passed_through(loads: dict[int, int], last: int,
                                                                nodes: set[int]) -> None:
    assert nodes_where_it_ran(loads, last, NODES) == nodes


def test_the_explanation_names_the_node_to_move_to_and_commands_to_run_by_hand() -> None:
    memory = NodeMemory({0: 1_000_000_000, 1: 3_000_000_000}, 4_000_000_000)
    assert place_sentence(memory, frozenset({0}), NODES, 7, None) == (
        "memory of process 7, 4 s before, by /proc/7/numa_maps: node 0 1.000 GB, node 1 3.000 GB; it ran on node 0. "
        "75 % of it is elsewhere: it should move to node 1, or the memory to where it runs. By hand, to run it there: "
        "taskset -acp 2-3 7; to move the memory: migratepages 7 1 0")
    assert "taskset -cp 2-3 9; " in place_sentence(memory, frozenset({0}), NODES, 7, 9)
    for nodes in ({1}, {0, 1}, set()):
        assert "move" not in place_sentence(memory, frozenset(nodes), NODES, 7, None)
    without_cpus = place_sentence(NodeMemory({2: 1_000}, 0), frozenset({0}), NODES, 7, None)
    assert "By hand, to move the memory: migratepages 7 2 0" in without_cpus
