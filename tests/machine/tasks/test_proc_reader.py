"""CPU time of threads by /proc alone, for users whom perf refuses."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping

import pytest
from prochost import Content, ProcHost, machine_of

from turbotui.errors import MachineError
from turbotui.features.tasks.applications import EVERYTHING, Application
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.features.tasks.task_table import task_table
from turbotui.features.tasks.totals_table import IDLE_PART, MEANWHILE_PART, OUTSIDE_PART
from turbotui.features.tasks.watched_applications import WatchedApplications
from turbotui.machine.host import HostError, HostKind, PerfAttr
from turbotui.machine.tasks.proc_facts import TaskLooks
from turbotui.quantities.unavailable import Reason

SECOND = 1_000_000_000


class RefusingHost(ProcHost):
    """A machine whose perf refuses this user."""

    refusal = errno.EACCES

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        raise HostError(self.refusal, "perf_event_open")


class Watched:
    """Processes by the CPU time of their threads, watched by one application."""

    def __init__(self, application: Application = EVERYTHING[0], *, ns: bool = True,
                 files: Mapping[str, Content] | None = None) -> None:
        made, self.machine = machine_of({})
        self.host = RefusingHost(made.files, HostKind.REAL)
        self.machine = type(self.machine)(self.host, self.machine.topology, self.machine.model, self.machine.platform,
                                          self.machine.privileges)
        self.ns = ns
        self.host.files.update(files or {})
        self.application = application

    def run(self, pid: int, **threads: tuple[float, int]) -> None:
        """Set the seconds and the CPU of each thread; a thread is named by its number behind a letter."""
        self.host.remove(f"/proc/{pid}/")
        for name, (seconds, cpu) in threads.items():
            tid = int(name[1:])
            for place, ran in ((f"/proc/{pid}/task/{tid}", seconds), *(
                    [(f"/proc/{pid}", sum(item for item, _ in threads.values()))] if tid == pid else [])):
                words = ["0"] * 49
                words[0], words[11], words[17], words[19], words[36] = (
                    "S", str(round(ran * 100)), str(len(threads)), str(pid), str(cpu))
                self.host.files[f"{place}/stat"] = f"{tid} (task {tid}) {' '.join(words)}\n"
                self.host.files[f"{place}/comm"] = f"task {tid}\n"
                if self.ns:
                    self.host.files[f"{place}/schedstat"] = f"{round(ran * SECOND)} 0 1\n"

    def stat(self, busy: float, idle: float) -> None:
        """Set what /proc/stat says of both CPUs, in seconds of each."""
        self.host.files["/proc/stat"] = "".join(
            f"{name} {round(busy * 100)} 0 0 {round(idle * 100)} 0 0 0 0 0 0\n" for name in ("cpu", "cpu0", "cpu1"))

    def begin(self) -> None:
        self.watching = WatchedApplications(self.machine)
        self.one = self.watching.add(self.application)

    def report(self, seconds: float, *, whole: bool = False) -> Report:
        self.host.clock_ns += round(seconds * SECOND)
        self.watching.round(0.0)
        return self.watching.report(self.one, Grouping.THREAD, whole=whole)


@pytest.fixture(params=[True, False], ids=["schedstat", "ticks"])
def watched(request: pytest.FixtureRequest) -> Iterator[Watched]:
    result = Watched(ns=request.param)
    result.run(7, t7=(5.0, 0), t8=(1.0, 1))
    result.run(9, t9=(3.0, 1))
    result.stat(10.0, 20.0)
    result.begin()
    yield result
    result.watching.close()


def ran(rows: tuple[TaskRow, ...]) -> dict[int | None, float]:
    return {row.tid: row.run_seconds for row in rows}


def test_threads_have_what_they_ran_in_each_interval(watched: Watched) -> None:
    watched.run(7, t7=(5.5, 0), t8=(1.25, 1))
    first = watched.report(1.0)
    assert ran(first.rows) == {7: 0.5, 8: 0.25}
    assert {row.tid: (row.name, row.last_cpu, row.pid) for row in first.rows} == {
        7: ("task 7", 0, 7), 8: ("task 8", 1, 7)}
    watched.run(9, t9=(3.5, 1))
    assert ran(watched.report(1.0).rows) == {9: 0.5}
    watched.run(12, t12=(0.25, 0))  # began meanwhile
    watched.host.remove("/proc/9/")
    second = watched.report(1.0)
    assert ran(second.rows) == {12: 0.25}
    whole = watched.report(0.1, whole=True)
    assert ran(whole.rows) == {7: 0.5, 8: 0.25, 9: 0.5, 12: 0.25}
    assert {row.tid for row in whole.rows if row.ended} == {9}


def test_another_process_with_the_same_number_begins_at_zero(watched: Watched) -> None:
    watched.run(9, t9=(3.5, 1))
    watched.report(1.0)
    watched.run(9, t9=(0.25, 1))
    assert ran(watched.report(1.0).rows) == {9: 0.25}
    assert sorted(row.run_seconds for row in watched.report(1.0, whole=True).rows) == [0.25, 0.5]


def test_rows_idle_time_and_the_rest_are_all_of_the_cpus_time(watched: Watched) -> None:
    watched.run(9, t9=(3.5, 1))
    watched.stat(10.75, 20.25)  # of each CPU
    report = watched.report(1.0)
    assert {what: part.counts["run"] / SECOND for what, part in report.apart.items()} == {
        IDLE_PART: 0.5, MEANWHILE_PART: 1.0}
    assert report.unseen is None
    loads = [row.loads for row in report.rows] + [part.loads for part in report.apart.values()]
    assert sum(sum(load.values()) for load in loads) == 2 * SECOND


def test_what_hidepid_hides_is_named() -> None:
    watched = Watched(files={"/proc/self/mountinfo": (
        "23 20 0:21 / / rw - ext4 /dev/root rw\n24 23 0:22 / /proc rw - proc proc rw,hidepid=2\n")})
    watched.run(9, t9=(3.0, 1))
    watched.stat(10.0, 20.0)
    watched.begin()
    watched.stat(11.0, 20.0)
    report = watched.report(1.0)
    assert report.apart[OUTSIDE_PART].counts["run"] == 2 * SECOND
    assert "100% of the CPUs' time" in report.unseen_note()
    assert "hidepid" in report.unseen_note()
    watched.watching.close()


def test_columns_that_perf_alone_gives_have_its_refusal_as_their_reason(watched: Watched) -> None:
    report = watched.report(1.0)
    table = task_table(report, Grouping.THREAD, {}, None, TaskLooks(None))
    names = {column.id for column in table.columns}
    assert {"CPU%", "Run_s", "CPU", "Time_s"} <= names
    assert not {"IPC", "Switch/s", "Fault/s"} & names
    assert report.numerics.refused is not None
    assert report.numerics.refused.reason is Reason.NOT_PERMITTED
    assert "/proc" in report.numerics.refused.detail


def test_a_process_of_somebody_else_is_watched_by_number() -> None:
    watched = Watched(Application("9", pids=(9,)))
    watched.run(9, t9=(3.0, 1), t10=(1.0, 0))
    watched.begin()
    watched.run(9, t9=(3.25, 1), t10=(1.5, 0), t11=(0.125, 0))
    assert ran(watched.report(1.0).rows) == {9: 0.25, 10: 0.5, 11: 0.125}
    assert not watched.report(1.0).apart
    watched.watching.close()


def test_what_proc_cannot_show_stays_refused() -> None:
    for application in (Application("all", everything=True, events="cycles"), Application("/g", cgroup="/g")):
        watched = Watched(application)
        with pytest.raises(MachineError):
            watched.begin()
        watched.watching.close()
    watched = Watched()
    watched.host.refusal = errno.EMFILE  # no refusal, but a want
    with pytest.raises(MachineError, match="descriptor"):
        watched.begin()
    watched.watching.close()
