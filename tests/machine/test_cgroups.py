"""Control groups of both versions, as trees of files."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from prochost import Content, ProcHost

from turbotui.machine.cgroups import (
    CpuUse,
    Hierarchy,
    cpu_use,
    find_groups,
    for_accounting,
    for_cpu_time,
    for_pressure,
    hierarchies,
    own_group,
    read_groups,
    stalls,
)
from turbotui.machine.linux import LinuxHost

V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MOUNTS = """\
24 1 0:21 / /proc rw - proc proc rw
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
"""
PRESSURE = "some avg10=1.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={}\n"
V2: dict[str, Content] = {
    "/proc/self/mountinfo": V2_MOUNT,
    "/proc/self/cgroup": "0::/user.slice/user-1000.slice/session-2.scope\n",
    "/sys/fs/cgroup/cpu.stat": "usage_usec 9000\n",
    "/sys/fs/cgroup/cgroup.procs": "1\n",
    "/sys/fs/cgroup/user.slice/cpu.stat": "usage_usec 500\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
    "/sys/fs/cgroup/user.slice/user-1000.slice/cpu.stat":
        "usage_usec 500\nuser_usec 1\nsystem_usec 2\nnr_periods 40\nnr_throttled 10\nthrottled_usec 700\n",
    "/sys/fs/cgroup/user.slice/user-1000.slice/cpu.max": "150000 100000\n",
    "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope/cpu.stat": "usage_usec 400\n",
    "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope/cpu.max": "max 100000\n",
    "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope/cpu.pressure": PRESSURE.format(1000, 900),
    "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope/memory.pressure": PRESSURE.format(3, 2),
}  # fmt: skip
V1: dict[str, Content] = {
    "/proc/self/mountinfo": V1_MOUNTS,
    "/proc/self/cgroup": "4:cpu,cpuacct:/job\n3:memory:/other\n1:name=systemd:/\n0::/\n",
    "/sys/fs/cgroup/cpu,cpuacct/cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
    "/sys/fs/cgroup/cpu,cpuacct/job/cpu.stat": "nr_periods 20\nnr_throttled 5\nthrottled_time 123456789\n",
    "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "50000\n",
    "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
    "/sys/fs/cgroup/cpu,cpuacct/job/cpuacct.usage": "777\n",
    "/sys/fs/cgroup/cpu,cpuacct/free/cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
    "/sys/fs/cgroup/cpu,cpuacct/free/cpu.cfs_quota_us": "-1\n",
    "/sys/fs/cgroup/cpu,cpuacct/free/cpu.cfs_period_us": "100000\n",
    "/sys/fs/cgroup/unified/cpu.pressure": PRESSURE.format(5, 0),
}
SCOPE = "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope"
SLICE = "/sys/fs/cgroup/user.slice/user-1000.slice"


def tree_of(files: dict[str, Content]) -> tuple[ProcHost, Hierarchy]:
    host = ProcHost(dict(files))
    tree = for_cpu_time(hierarchies(host))
    assert tree is not None
    return host, tree


def test_version_2_has_everything_in_one_tree() -> None:
    host, tree = tree_of(V2)
    assert (tree.version, tree.top, tree.controllers) == (2, "/sys/fs/cgroup", frozenset())
    assert for_pressure(hierarchies(host)) == tree
    assert own_group(host, tree) == SCOPE
    assert list(tree.upwards(SCOPE)) == [SCOPE, SLICE, "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"]
    assert tree.name(SLICE) == "/user.slice/user-1000.slice"
    assert tree.name("/sys/fs/cgroup") == "/"


def test_use_and_quota_of_version_2() -> None:
    host, tree = tree_of(V2)
    assert cpu_use(host, tree, SLICE) == CpuUse(500_000, 40, 10, 700_000, 1.5)
    assert cpu_use(host, tree, SCOPE) == CpuUse(400_000)
    assert stalls(host, SCOPE) == {"cpu.some": 1000, "cpu.full": 900, "memory.some": 3, "memory.full": 2}
    assert stalls(host, SLICE) == {}


def test_version_1_counts_in_trees_of_its_controllers() -> None:
    host, tree = tree_of(V1)
    trees = hierarchies(host)
    assert (tree.version, tree.top) == (1, "/sys/fs/cgroup/cpu,cpuacct")
    assert for_accounting(trees) == tree
    own = own_group(host, tree)
    assert own == "/sys/fs/cgroup/cpu,cpuacct/job"
    assert cpu_use(host, tree, own, tree) == CpuUse(777, 20, 5, 123_456_789, 0.5)
    assert cpu_use(host, tree, "/sys/fs/cgroup/cpu,cpuacct/free").quota is None
    unified = for_pressure(trees)
    assert unified is not None
    assert own_group(host, unified) == "/sys/fs/cgroup/unified"
    assert stalls(host, unified.top)["cpu.some"] == 5


def test_a_container_sees_its_own_group_as_the_mount() -> None:
    """Without a namespace of groups /proc/self/cgroup has the path of the machine, and only a part of it is mounted."""
    files: dict[str, Content] = {
        "/proc/self/mountinfo": "31 30 0:27 /docker/ab\\040c /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
        "/proc/self/cgroup": "4:cpu:/docker/ab c\n",
        "/sys/fs/cgroup/cpu/cpu.stat": "nr_periods 1\n",
    }
    host, tree = tree_of(files)
    assert tree.root == "/docker/ab c"
    assert own_group(host, tree) == "/sys/fs/cgroup/cpu"
    assert tree.directory("/docker/ab c/inner") == "/sys/fs/cgroup/cpu/inner"
    assert tree.directory("/docker/ab cd") == "/sys/fs/cgroup/cpu/docker/ab cd"


@pytest.mark.parametrize("text", ["0::/../../elsewhere\n", "0::/not/there\n", "", "4:cpu:/\n"])
def test_a_group_that_cannot_be_seen_here_is_unknown(text: str) -> None:
    host, tree = tree_of({**V2, "/proc/self/cgroup": text})
    assert own_group(host, tree) is None


def test_a_machine_without_groups() -> None:
    assert hierarchies(ProcHost({})) == ()
    assert hierarchies(ProcHost({"/proc/self/mountinfo": "1 2 0:3 / / rw - ext4 /dev/vda rw\nshort\n"})) == ()
    assert for_cpu_time(()) is None


@pytest.mark.parametrize("text", ["max 100000\n", "100000\n", "1 0\n", "x y\n", ""])
def test_what_is_no_quota_is_none(text: str) -> None:
    host, tree = tree_of({**V2, f"{SLICE}/cpu.max": text})
    assert cpu_use(host, tree, SLICE).quota is None


@pytest.fixture
def tall(tmp_path: Path) -> LinuxHost:
    """500 groups of a tree of files, one of them with a hostile name, another one that is gone before it is read."""
    root = tmp_path / "sys/fs/cgroup"
    for number in range(24):
        for inner in range(20):
            group = root / f"pods.slice/pod{number}.slice/cri-{inner}.scope"
            group.mkdir(parents=True)
            (group / "cpu.stat").write_text(f"usage_usec {number * 20 + inner}\nnr_periods 0\nnr_throttled 0\n")
            (group / "cgroup.procs").write_text("")
    (root / "evil\x1b[2Jname").mkdir()
    (root / "evil\x1b[2Jname/cpu.stat").write_text("usage_usec 1\n")
    (root / "cpu.service").mkdir()
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text(V2_MOUNT)
    return LinuxHost(str(tmp_path))


def test_a_walk_finds_all_groups_and_reads_each(tall: LinuxHost) -> None:
    tree = hierarchies(tall)[0]
    groups = find_groups(tall, tree)
    assert groups.complete
    assert len(groups.directories) == 1 + 1 + 24 + 24 * 20 + 2
    assert groups.directories[0] == "/sys/fs/cgroup"
    uses = {use.name: use.cpu for use in read_groups(tall, groups)}
    assert uses["/pods.slice/pod7.slice/cri-3.scope"].used_ns == 143_000
    assert uses["/"] == CpuUse()


def test_names_of_groups_are_visible_and_lead_back_to_their_files(tall: LinuxHost) -> None:
    tree = hierarchies(tall)[0]
    uses = {use.name: use.cpu for use in read_groups(tall, find_groups(tall, tree))}
    name = next(name for name in uses if "evil" in name)
    assert name.isprintable()
    assert uses[name].used_ns == 1000


def test_a_walk_ends_where_it_was_told_to(tall: LinuxHost) -> None:
    groups = find_groups(tall, hierarchies(tall)[0], 50)
    assert not groups.complete
    assert len(groups.directories) == 50


def test_files_of_groups_are_not_taken_for_groups() -> None:
    host, tree = tree_of(V2)
    listed: list[str] = []
    list_dir = host.list_dir

    def noting(path: str) -> tuple[str, ...]:
        listed.append(path)
        return list_dir(path)

    host.list_dir = noting  # type: ignore[method-assign]
    find_groups(host, tree)
    assert listed == ["/sys/fs/cgroup", "/sys/fs/cgroup/user.slice", SLICE, SCOPE]


def test_the_quota_of_groups_that_never_ran_under_one_is_not_read() -> None:
    for files, unread in ((V2, f"{SCOPE}/cpu.max"), (V1, "/sys/fs/cgroup/cpu,cpuacct/free/cpu.cfs_quota_us")):
        host, tree = tree_of(files)
        uses = {use.name: use.cpu for use in read_groups(host, find_groups(host, tree))}
        limited = "/user.slice/user-1000.slice" if files is V2 else "/job"
        assert uses[limited].quota is not None
        host.files[unread] = _refuse
        assert {use.name: use.cpu for use in read_groups(host, find_groups(host, tree))} == uses


def _refuse() -> str:
    raise AssertionError("this file is not to be read")


def test_a_group_that_says_that_nothing_is_below_it_is_not_listed() -> None:
    host, tree = tree_of({**V2, f"{SLICE}/cgroup.stat": "nr_descendants 0\nnr_dying_descendants 3\n",
                          "/sys/fs/cgroup/cgroup.stat": "nr_descendants 9\n"})
    assert find_groups(host, tree).directories == ("/sys/fs/cgroup", "/sys/fs/cgroup/user.slice", SLICE)


def test_a_group_that_is_gone_has_no_numbers(tall: LinuxHost, tmp_path: Path) -> None:
    groups = find_groups(tall, hierarchies(tall)[0])
    group = tmp_path / "sys/fs/cgroup/pods.slice/pod0.slice/cri-0.scope"
    os.unlink(group / "cpu.stat")
    uses = {use.name: use.cpu for use in read_groups(tall, groups)}
    assert uses["/pods.slice/pod0.slice/cri-0.scope"] == CpuUse()


def test_a_file_that_refuses_is_none() -> None:
    host, tree = tree_of({**V2, f"{SLICE}/cpu.stat": errno.EACCES})
    assert cpu_use(host, tree, SLICE) == CpuUse(quota=1.5)


@pytest.mark.parametrize(("own", "folder"), [("/", "job.slice/c1"), ("/run", "job.slice/c1/run"),
                                             ("/../c2", "job.slice/c2"), ("/../..", "")])
def test_a_namespace_of_groups_with_the_mounts_of_the_machine(own: str, folder: str) -> None:
    """cgroup_namespaces(7): the mount's root is above the namespace's, and the names between them are not told."""
    top = "/sys/fs/cgroup"
    where = f"{top}/{folder}".rstrip("/")
    groups = ("", "job.slice", "job.slice/c0", "job.slice/c1", "job.slice/c1/run", "job.slice/c2", "init.scope")
    files: dict[str, Content] = {f"{top}/{group}/cgroup.procs".replace("//", "/"): "1\n777\n" for group in groups}
    files |= {
        "/proc/self/mountinfo": f"31 30 0:27 /../.. {top} rw - cgroup2 cgroup rw\n",
        "/proc/self/cgroup": f"0::{own}\n", "/proc/self/stat": "4711 (turbotui) R 1\n",
        f"{where}/cgroup.procs": "12\n4711\n", f"{where}/cpu.max": "50000 100000\n",
    }
    host, tree = tree_of(files)
    assert own_group(host, tree) == where
    assert cpu_use(host, tree, where).quota == 0.5


def test_a_group_outside_of_the_namespace_and_its_mounts_is_unknown() -> None:
    for root, own in (("/", "/../other"), ("/../x", "/"), ("/..", "/../..")):
        host, tree = tree_of({"/proc/self/mountinfo": f"31 30 0:27 {root} /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
                              "/proc/self/cgroup": f"0::{own}\n", "/proc/self/stat": "4711 (turbotui) R 1\n",
                              "/sys/fs/cgroup/cgroup.procs": "4711\n"})
        assert own_group(host, tree) is None, (root, own)
