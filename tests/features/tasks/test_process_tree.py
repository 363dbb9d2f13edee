"""Merged rows of processes: in a tree, and by container, job and unit."""

from __future__ import annotations

from collections.abc import Hashable

from knownmachines import known_machine

from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.columns import TASK_COLUMNS, TaskColumn, TaskInputs
from turbotui.features.tasks.live import SnapshotRequest, TaskSnapshot
from turbotui.features.tasks.merging import NO_GROUP, Lineage, by_group, merged
from turbotui.features.tasks.process_tree import Ancestry, own_key, sum_key
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.screen_rows import PastTasks, TaskContent, TaskRows, content_of
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.features.tasks.thread_totals import RUN
from turbotui.features.tasks.watched_applications import WatchedApplications
from turbotui.machine.tasks.group_names import group_name
from turbotui.machine.tasks.proc_facts import ProcFacts
from turbotui.machine.topology import CpuPlace, topology_of
from turbotui.quantities.filters import Filter, parse_filter
from turbotui.sampling.energy import Energy
from turbotui.simulated import simulated_host
from turbotui.simulated.clock import ManualClock
from turbotui.widgets.table_view import TableView

SHELL, MAKE, CC, OTHER = 10, 20, 30, 40


def row(pid: int, name: str, run: int, *, cpu: int = 0, **counts: int) -> TaskRow:
    return TaskRow(pid=pid, tid=None, name=name, threads=1, cpus=(cpu,), last_cpu=cpu,
                   counts={RUN: run, "switches": 1, **counts}, migrations=1, loads={cpu: run}, whole_run=2 * run,
                   incomplete=False)


ROWS = (row(OTHER, "sshd", 500_000_000), row(MAKE, "make", 100_000_000), row(CC, "cc1", 900_000_000, cpu=1))
BORN = Ancestry({CC: MAKE, MAKE: SHELL, SHELL: 1, OTHER: 1}, {SHELL: "bash", MAKE: "make", 1: "init"})


def content(folded: tuple[str, ...] = (), cpu: int | None = None) -> TaskContent:
    report = Report(Application("all", everything=True), rows=ROWS, seconds=1.0, names=(RUN, "switches"))
    snapshot = TaskSnapshot(SnapshotRequest(Grouping.PROCESS, tree=True), (report,), ancestry=BORN)
    topology = topology_of(CpuPlace(item, package=0, die=0, l3=0, node=0, module=item, core=item) for item in (0, 1))
    return content_of(PastTasks(snapshot, Energy({}, {}), 1), topology, folded, cpu)


def column(name: str) -> TaskColumn:
    return next(item for item in TASK_COLUMNS if item.id == name)


def lines(task_content: TaskContent, **view: object) -> list[tuple[int, str, bool | None]]:
    """Depth, name and whether it is open, from top to bottom."""
    rows = TaskRows()
    shown: TableView[TaskColumn, Hashable] = TableView(sort=column("CPU%"), reverse=True, **view)  # type: ignore[arg-type]
    rows.update(task_content, shown)
    names = [(line.depth, task_content.get(line.row), line.open) for line in rows.lines]
    return [(depth, inputs.row.name, is_open) for depth, inputs, is_open in names if inputs is not None]


def key(value: TaskContent, name: str) -> str:
    return next(str(item) for item in value.rows if (inputs := value.get(item)) is not None and inputs.row.name == name)


def test_processes_stand_below_those_that_made_them_the_busiest_branch_first() -> None:
    assert lines(content()) == [
        (0, "init", True), (1, "bash", True), (2, "make", True), (3, "cc1", None), (1, "sshd", None)]


def test_a_folded_process_stands_for_all_that_it_made() -> None:
    first = content()
    folded = key(first, "bash")
    value = content((folded,))
    assert lines(value, folded=frozenset((folded,))) == [(0, "init", True), (1, "bash", False), (1, "sshd", None)]
    share = value.value(column("CPU%"), sum_key(folded))
    assert share == 100.0
    assert value.value(column("Thr"), sum_key(folded)) == 3
    assert value.value(column("CPU%"), folded) == 0.0
    assert own_key(sum_key(folded)) == folded


def test_what_passes_the_filter_keeps_what_is_above_it() -> None:
    shown: Filter[TaskColumn] = parse_filter("cc1", lambda _name: None)
    assert lines(content(), filter=shown) == [(0, "init", True), (1, "bash", True), (2, "make", True), (3, "cc1", None)]


def test_of_a_cpu_only_what_ran_there_is_shown() -> None:
    names = [inputs.row.name for item in content(cpu=1).rows if (inputs := content(cpu=1).get(item)) is not None]
    assert "cc1" in names
    assert "sshd" not in names


def test_a_ring_of_numbers_that_were_used_again_has_a_root() -> None:
    report = Report(Application("all", everything=True), rows=ROWS[:2], seconds=1.0, names=(RUN, "switches"))
    ring = Ancestry({OTHER: MAKE, MAKE: OTHER})
    snapshot = TaskSnapshot(SnapshotRequest(Grouping.PROCESS, tree=True), (report,), ancestry=ring)
    topology = topology_of([CpuPlace(0, package=0, die=0, l3=0, node=0, module=0, core=0)])
    task_content = content_of(PastTasks(snapshot, Energy({}, {}), 1), topology)
    assert sorted(name for _, name, _ in lines(task_content)) == ["make", "sshd"]


def test_a_sum_has_every_count_and_what_one_row_cannot_know_it_cannot_either() -> None:
    both = merged([row(1, "a", 10, cpu=0, cycles=5), row(2, "b", 30, cpu=1)])
    assert (both.name, both.threads, both.cpus, both.last_cpu) == ("a", 2, (0, 1), 1)
    assert both.counts == {RUN: 40, "switches": 2}
    assert (both.loads, both.migrations, both.whole_run) == ({0: 10, 1: 30}, 2, 80)


def test_rows_of_groups_add_up_their_processes() -> None:
    sshd = group_name(["/system.slice/ssh.service"])
    rows = by_group(ROWS, lambda pid: sshd if pid != OTHER else None)
    assert [(task_row.name, task_row.cpu_ns, task_row.threads, task_row.pid) for task_row in rows] == [
        ("ssh.service", 1_000_000_000, 2, None), (NO_GROUP, 500_000_000, 1, None)]
    assert rows[0].group is sshd
    assert rows[0].key != rows[1].key


def test_a_process_that_nobody_saw_alive_is_in_the_group_of_who_made_it() -> None:
    facts = ProcFacts(simulated_host("laptop-old"))
    family = Lineage(facts, {777: 778, 778: 9_005})
    assert family.ancestors(777) == [778, 9_005, 9_004, 1]
    group = family.group(777)
    assert group is not None
    assert group.text == "session-3.scope"
    assert family.group(99) is None


def test_tasks_of_a_simulated_machine_are_in_groups() -> None:
    clock = ManualClock()
    watching = WatchedApplications(known_machine(simulated_host("laptop-old", clock)))
    application = watching.add(Application("", everything=True))
    clock.advance(2)
    watching.round(0)
    report = watching.report(application, Grouping.UNIT)
    names = {task_row.name for task_row in report.rows}
    assert {"session-3.scope", "collectd.service"} <= names
    processes = watching.report(application, Grouping.PROCESS, again=True)
    assert sum(task_row.cpu_ns for task_row in report.rows) == sum(task_row.cpu_ns for task_row in processes.rows)
    watching.close()


def test_a_row_of_a_group_computes_every_column() -> None:
    [task_row] = by_group(ROWS, lambda _pid: group_name(["/system.slice/ssh.service"]))
    inputs = TaskInputs(task_row, 1.0)
    assert column("Unit").compute(inputs) == "ssh.service"
    assert column("CPU%").compute(inputs) == 150.0
    assert column("CPUs").compute(inputs) == "0-1"
