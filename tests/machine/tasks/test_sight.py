"""What a process can see of its machine's tasks, by its namespaces, the mount of /proc, and its rights."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from prochost import Content, ProcHost

from turbotui.machine.host import NAMESPACES, HostKind, Privileges
from turbotui.machine.tasks.sight import FOREIGN, OUTSIDE, MachineTimes, TaskSight, machine_times, task_sight

MOUNTS = "23 20 0:21 / / rw - ext4 /dev/root rw\n24 23 0:22 / /proc rw,relatime - proc proc rw{}\n"
OWN = {**NAMESPACES, "pid": 4026532210}
PTRACE = 1 << 19


@dataclass
class SeeingHost(ProcHost):
    rights: Privileges = field(kw_only=True)

    def privileges(self) -> Privileges:
        return self.rights


def sight(options: str = "", *, namespaces: dict[str, int] | None = None, capabilities: int = 0, status: str = "",
          more: str = "", kind: HostKind = HostKind.REAL) -> TaskSight:
    files: dict[str, Content] = {"/proc/self/mountinfo": MOUNTS.format(options) + more,
                                 "/proc/self/status": f"Groups:\t4 27 \n{status}"}
    return task_sight(SeeingHost(files, kind, rights=Privileges(1000, capabilities, 2, None, namespaces or NAMESPACES)))


def test_on_the_machine_itself_everything_is_seen() -> None:
    assert sight(status="NSpid:\t77\n") == TaskSight()
    assert sight().why is None


def test_a_namespace_hides_what_is_outside_from_perf_and_its_own_proc() -> None:
    own = sight(namespaces=OWN, status="NSpid:\t1\n")
    assert own == TaskSight(OUTSIDE, nested=True)
    assert own.why is OUTSIDE
    assert "--pid=host" in OUTSIDE.remedy


def test_the_proc_of_another_namespace_shows_all_tasks_by_other_numbers() -> None:
    foreign = sight(namespaces=OWN, status="NSpid:\t4711\t1\n")
    assert foreign == TaskSight(None, nested=True, foreign=True)
    assert foreign.why is FOREIGN


@pytest.mark.parametrize("value", ["1", "2", "4", "noaccess", "invisible", "ptraceable"])
def test_hidepid_hides_unless_a_right_or_a_group_shows(value: str) -> None:
    hidden = sight(f",hidepid={value}")
    assert hidden.unseen is not None
    assert "hidepid" in hidden.unseen.detail
    assert not hidden.nested
    assert sight(f",gid=5,hidepid={value}").unseen is not None
    assert sight(f",gid=27,hidepid={value}").unseen is None
    assert sight(f",hidepid={value}", capabilities=PTRACE).unseen is None
    assert sight(f",hidepid={value}", capabilities=PTRACE, namespaces={**NAMESPACES, "user": 1}).unseen is not None


def test_lxcfs_shows_times_of_its_container() -> None:
    lxcfs = "30 24 0:40 /proc/stat /proc/stat rw - fuse.lxcfs lxcfs rw\n"
    assert not sight(namespaces=OWN, more=lxcfs).times


def test_simulated_and_recorded_machines_hide_nothing() -> None:
    for kind in (HostKind.SIMULATED, HostKind.RECORDED):
        assert sight(",hidepid=2", namespaces=OWN, kind=kind) == TaskSight()


def test_times_are_those_of_the_cpus_asked_about() -> None:
    stat = "cpu  10 2 30 400 50 6 7 8 9 0\ncpu0 4 1 10 100 20 0 0 0 0 0\ncpu1 6 1 20 300 30 0 0 0 0 0\nctxt 5\n"
    host = ProcHost({"/proc/stat": stat})
    tick = 10_000_000
    assert machine_times(host) == MachineTimes(42 * tick, 450 * tick)
    assert machine_times(host, [1]) == MachineTimes(27 * tick, 330 * tick)
    assert machine_times(host, [7]) is None
    assert machine_times(ProcHost({"/proc/stat": "cpu 0 0 0 0 0\n"})) is None  # a sandbox that counts nothing
    assert machine_times(ProcHost({})) is None
