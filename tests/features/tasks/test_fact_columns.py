"""Columns of /proc facts about tasks: in tables of every kind of row, with a reason if there is no value."""

from __future__ import annotations

from dataclasses import replace

from knownmachines import known_machine

from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.columns import SEVERAL, TASK_COLUMNS, TaskInputs
from turbotui.features.tasks.fact_columns import FIRST_FACTS, LAST_FACTS
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.task_table import task_table
from turbotui.features.tasks.watched_applications import WatchedApplications
from turbotui.machine.tasks.proc_facts import ENDED, ProcFacts, TaskLooks
from turbotui.quantities.tables import RowTable
from turbotui.simulated import simulated_host
from turbotui.simulated.clock import ManualClock


def table_of(by: Grouping, *, seen: bool = True) -> RowTable[TaskInputs]:
    clock = ManualClock()
    host = simulated_host("laptop-old", clock)
    watching = WatchedApplications(known_machine(host))
    application = watching.add(Application("", everything=True))
    clock.advance(1)
    watching.round(0)
    table = task_table(watching.report(application, by), by, {}, None, TaskLooks(ProcFacts(host) if seen else None))
    watching.close()
    return table


def texts(table: RowTable[TaskInputs], name: str) -> dict[object, object]:
    column = next(item for item in table.columns if item.id == name)
    return {row.row.name: table.cell(column, row).value for row in table.rows}


def test_threads_and_processes_say_who_runs_them_and_with_which_words() -> None:
    for by in (Grouping.THREAD, Grouping.PROCESS):
        table = table_of(by)
        assert texts(table, "User")["compiling"] == "build"
        assert texts(table, "Args")["background"] == "/usr/sbin/collectd -f"
        assert texts(table, "Group")["compiling"] == "session-3.scope"
        assert texts(table, "Nice")["compiling"] == 10
        assert set(texts(table, "S").values()) == {"R"}


def test_a_row_of_several_processes_has_a_reason_instead() -> None:
    table = table_of(Grouping.COMMAND)
    column = next(item for item in table.columns if item.id == "User")
    row = TaskInputs(table.rows[0].row, 1.0, looks=table.rows[0].looks)
    assert table.cell(column, row).value is not None
    several = TaskInputs(replace(row.row, pid=None), 1.0, looks=row.looks)
    assert table.cell(column, several).why is SEVERAL


def test_columns_of_which_no_row_has_anything_are_left_out_and_a_cell_says_why() -> None:
    table = table_of(Grouping.PROCESS, seen=False)
    names = {fact.id for fact in (*FIRST_FACTS, *LAST_FACTS)}
    assert names.isdisjoint(column.id for column in table.columns)
    row = table.rows[0]
    gone = TaskInputs(replace(row.row, pid=77), 1.0, looks=TaskLooks(ProcFacts(simulated_host("laptop-old"))))
    user = next(column for column in TASK_COLUMNS if column.id == "User")
    assert table.cell(user, gone).why is ENDED
