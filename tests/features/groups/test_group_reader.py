"""Reading control groups, also while groups come, go, and refuse."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest
from grouptrees import PRESSURE, V1_MOUNTS, GroupTree, SteppedHost

from turbotui.features.groups.files import FILES, files_for
from turbotui.features.groups.model import GroupMoment, GroupRow, rows_between
from turbotui.features.groups.reader import CgroupReader
from turbotui.machine.host import HostError
from turbotui.machine.linux import LinuxHost
from turbotui.machine.open_files import GoneError, OpenFiles
from turbotui.quantities.unavailable import Reason


def rows(older: GroupMoment, newer: GroupMoment) -> dict[str, GroupRow]:
    return {row.group.path: row for row in rows_between(older, newer)}


@pytest.fixture
def tree(tmp_path: Path) -> GroupTree:
    tree = GroupTree(tmp_path)
    tree.used("", 9_000_000)
    tree.used("a.slice", 1_000, "nr_periods 10\nnr_throttled 2\nthrottled_usec 5\n")
    tree.group("a.slice", cpu_max="150000 100000\n", cpu_pressure=PRESSURE.format(10, 1), memory_max="max\n",
               memory_current="4096\n", pids_events="max 2\n",
               memory_stat="anon 3072\nfile 1024\npgfault 900\npgmajfault 40\n",
               io_stat="8:0 rbytes=1 wbytes=2 rios=3 wios=4\n8:16 rbytes=10 wbytes=20\n")
    tree.used("a.slice/web.service", 500)
    return tree


def test_counters_have_increases_and_gauges_their_value(tree: GroupTree) -> None:
    reader = CgroupReader(tree.host)
    older = reader.read()
    tree.used("a.slice", 301_000, "nr_periods 20\nnr_throttled 7\nthrottled_usec 105\n")
    tree.group("a.slice", cpu_pressure=PRESSURE.format(110, 31), memory_current="8192\n", pids_events="max 5\n",
               memory_stat="anon 3072\nfile 5120\npgfault 950\npgmajfault 52\n")
    row = rows(older, reader.read())["/a.slice"]
    assert row.increases["cpu_usec"] == 300_000
    assert (row.increases["periods"], row.increases["throttled"], row.increases["throttled_usec"]) == (10, 5, 100)
    assert (row.increases["stalled_cpu_some_usec"], row.increases["stalled_cpu_full_usec"]) == (100, 30)
    assert (row.values["quota_usec"], row.values["period_usec"]) == (150_000, 100_000)
    assert row.values["memory_bytes"] == 8192
    assert row.increases["read_bytes"] == 0
    assert row.increases["refused"] == 3
    assert (row.values["anon_bytes"], row.values["file_bytes"], row.increases["major_faults"]) == (3072, 5120, 12)
    assert row.absent["memory_max"].reason is Reason.NOT_SET
    assert row.absent["pids"].reason is Reason.NO_DRIVER, "no file of that name"
    rate = row.rate("cpu_usec")
    assert rate is not None
    assert rate == pytest.approx(300_000 / row.spans["Δt cpu.stat"])
    reader.close()


def test_groups_that_lack_the_same_file_share_the_reason(tree: GroupTree) -> None:
    tree.used("b.slice", 1)
    reader = CgroupReader(tree.host)
    absent = [sample.absent["memory.peak"] for sample in reader.read().samples.values()]
    reader.close()
    assert len(absent) == 4
    assert {why.detail for why in absent} == {"the group has no memory.peak"}


@pytest.mark.parametrize(("quantity", "files"), [
    ("read_bytes", {"io_stat": f"8:0 rbytes={2**63} wbytes=2 rios=3 wios=4\n"}),
    ("writes", {"io_stat": f"8:0 rbytes=1 wbytes=2 rios=3 wios={2**63}\n"}),
    ("stalled_cpu_some_usec", {"cpu_pressure": PRESSURE.format(2**62, 1)}),
    ("major_faults", {"memory_stat": f"pgmajfault {2**63}\n"}),
    ("memory_bytes", {"memory_current": f"{2**63}\n"}),
    ("pids", {"pids_current": f"{2**63}\n"}),
])
def test_what_no_machine_can_have_is_unknown(tree: GroupTree, quantity: str, files: dict[str, str]) -> None:
    tree.group("a.slice", pids_current="3\n")
    reader = CgroupReader(tree.host)
    older = reader.read()
    tree.used("a.slice", 301_000)
    tree.group("a.slice", **files)
    newer = reader.read()
    reader.close()
    row = rows(older, newer)["/a.slice"]
    assert quantity not in {**row.increases, **row.values}
    assert row.absent[quantity].reason is Reason.OUT_OF_RANGE
    assert row.increases["cpu_usec"] == 300_000


def test_rows_stand_as_the_tree_does(tree: GroupTree) -> None:
    tree.used("a-b", 1)  # "-" sorts before "/": a-b must not come between a.slice and what is in it
    tree.used("a.slice.x", 1)
    samples = CgroupReader(tree.host).read().samples
    assert list(samples) == ["/", "/a-b", "/a.slice", "/a.slice/web.service", "/a.slice.x"]
    assert [sample.group.parent for sample in samples.values()] == [None, "/", "/", "/a.slice", "/"]


def test_only_files_of_what_is_wanted_are_open(tree: GroupTree) -> None:
    reader = CgroupReader(tree.host, {"cpu_usec"})
    sample = reader.read().samples["/a.slice"]
    assert set(sample.readings) == {"cpu.stat"}
    assert reader.open_files == 1 + 3, "cgroup.stat of the mount, and cpu.stat of three groups"
    reader.want({"memory_bytes"})
    assert set(reader.read().samples["/a.slice"].readings) == {"memory.current"}
    reader.close()
    assert not reader.open_files


def test_a_sleeping_group_is_read_seldom_and_wakes_at_once(tree: GroupTree) -> None:
    read: list[str] = []

    class Noting(SteppedHost):
        def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
            read.append(os.readlink(f"/proc/self/fd/{descriptor}").rpartition("/cgroup/")[2])
            return super().read_at(descriptor, size, offset)

    reader = CgroupReader(Noting(str(tree.root)), {"cpu_usec", "stalled_cpu_some_usec", "read_bytes", "memory_bytes"})
    older = reader.read()
    for _ in range(2):
        older = reader.read()
    read.clear()
    for _ in range(10):
        before, older = older, reader.read()
        assert rows(before, older)["/a.slice"].increases["stalled_cpu_some_usec"] == 0
        assert rows(before, older)["/a.slice"].values["memory_bytes"] == 4096
    assert [read.count(f"a.slice/{name}") for name in ("cpu.stat", "io.stat", "cpu.pressure")] == [10, 10, 2]
    tree.used("a.slice", 2_000)
    tree.group("a.slice", cpu_pressure=PRESSURE.format(50, 1))
    assert rows(older, reader.read())["/a.slice"].increases["stalled_cpu_some_usec"] == 40


class Aging(LinuxHost):
    """A host on which a second passes between readings, and which notes what is read."""

    rounds = 0

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.read: list[str] = []

    def now_ns(self) -> int:
        return 1_000_000_000 * (1 + self.rounds)

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        self.read.append(os.readlink(f"/proc/self/fd/{descriptor}").rpartition("/cgroup/")[2])
        return super().read_at(descriptor, size, offset)


def aged(tree: GroupTree, *wanted: str) -> tuple[Aging, CgroupReader, GroupMoment]:
    """A reader of groups of which nothing moved for two minutes."""
    host = Aging(str(tree.root))
    reader = CgroupReader(host, wanted)
    moment = reader.read()
    for host.rounds in range(1, 120):
        moment = reader.read()
    host.read.clear()
    return host, reader, moment


def test_what_is_in_a_resting_group_is_not_read_and_its_row_has_the_interval(tree: GroupTree) -> None:
    host, reader, older = aged(tree, "cpu_usec", "read_bytes", "memory_bytes")
    for host.rounds in range(120, 140):
        before, older = older, reader.read()
        for row in rows(before, older).values():
            assert row.increases["cpu_usec"] == 0
            assert row.span("cpu_usec") == pytest.approx(1.0)
        assert rows(before, older)["/a.slice"].values["memory_bytes"] == 4096
    assert [host.read.count(f"a.slice/{name}") for name in ("cpu.stat", "io.stat", "memory.current")] == [20, 2, 2]
    assert host.read.count("a.slice/web.service/cpu.stat") == 2
    tree.used("a.slice", 1_700)
    tree.used("a.slice/web.service", 1_200)
    tree.group("a.slice", io_stat="8:0 rbytes=1 wbytes=4002 rios=3 wios=4\n8:16 rbytes=10 wbytes=20\n")
    host.rounds = 140
    group_rows = rows(older, reader.read())
    assert group_rows["/a.slice"].rate("cpu_usec") == pytest.approx(700)
    assert group_rows["/a.slice"].rate("read_bytes") == 0
    assert group_rows["/a.slice/web.service"].rate("cpu_usec") == pytest.approx(700)


def test_what_was_written_is_seen_while_a_group_has_slept_for_less_than_a_minute(tree: GroupTree) -> None:
    host = Aging(str(tree.root))
    reader = CgroupReader(host, {"cpu_usec", "written_bytes"})
    older = reader.read()
    for host.rounds in range(1, 40):
        older = reader.read()
    tree.group("a.slice", io_stat="8:0 rbytes=1 wbytes=5022 rios=3 wios=4\n")
    host.rounds = 40
    assert rows(older, reader.read())["/a.slice"].rate("written_bytes") == pytest.approx(5_000)


def test_a_counter_that_went_back_has_no_increase(tree: GroupTree) -> None:
    reader = CgroupReader(tree.host, {"cpu_usec"})
    older = reader.read()
    tree.used("a.slice", 10)
    row = rows(older, reader.read())["/a.slice"]
    assert "cpu_usec" not in row.increases
    assert row.absent["cpu_usec"].reason is Reason.WENT_BACK


def test_a_group_that_came_is_found_by_the_count_of_the_mount(tree: GroupTree) -> None:
    reader = CgroupReader(tree.host, {"cpu_usec"})
    older = reader.read()
    tree.used("new.scope", 7)
    tree.count(3)
    moment = _until(reader, "/new.scope")
    row = rows(older, moment)["/new.scope"]
    assert row.absent["cpu_usec"].reason is Reason.FIRST_TICK
    assert "cpu_usec" not in row.increases


def _until(reader: CgroupReader, path: str) -> GroupMoment:
    """Groups are listed anew only after a while, however often they change."""
    while path not in (moment := reader.read()).samples:
        pass
    return moment


def test_a_group_that_is_gone_has_no_row(tree: GroupTree) -> None:
    reader = CgroupReader(tree.host, {"cpu_usec"})
    reader.read()
    shutil.rmtree(tree.root / "sys/fs/cgroup/a.slice/web.service")
    tree.count(5)
    while "/a.slice/web.service" in reader.read().samples:
        pass
    assert reader.open_files == 3


class Removing(SteppedHost):
    """A kernel that answers ENODEV on files of groups that were removed."""

    gone: frozenset[int] = frozenset()

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        if descriptor in self.gone:
            raise HostError(errno.ENODEV, "a removed group")
        return super().read_at(descriptor, size, offset)


def test_a_group_that_was_made_again_begins_again(tree: GroupTree) -> None:
    host = Removing(str(tree.root))
    reader = CgroupReader(host, {"cpu_usec"})
    older = reader.read()
    opened = {os.readlink(f"/proc/self/fd/{item}"): item for item in map(int, os.listdir("/proc/self/fd"))
              if os.path.exists(f"/proc/self/fd/{item}")}
    host.gone = frozenset({opened[str(tree.root / "sys/fs/cgroup/a.slice/cpu.stat")]})
    assert "/a.slice" not in reader.read().samples, "it vanished between listing and reading"
    host.gone = frozenset()
    tree.used("a.slice", 999_999)
    row = rows(older, _until(reader, "/a.slice"))["/a.slice"]
    assert "made again" in row.absent["cpu_usec"].detail
    assert not row.increases


def test_a_refused_file_is_a_reason_and_is_not_tried_at_every_tick(tree: GroupTree,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    class Refusing(SteppedHost):
        def open_file(self, path: str) -> int:
            if path.endswith("memory.current"):
                tried.append(path)
                raise HostError(errno.EACCES, path)
            return super().open_file(path)

    reader = CgroupReader(Refusing(str(tree.root)), {"memory_bytes"})
    older = reader.read()
    row = rows(older, reader.read())["/a.slice"]
    assert row.absent["memory_bytes"].reason is Reason.NOT_PERMITTED
    assert row.absent["memory_bytes"].remedy == "run as root"
    assert len(tried) == len(set(tried))


def test_a_file_that_says_nonsense_is_a_reason(tree: GroupTree) -> None:
    tree.group("a.slice", memory_current="\x1b[2Jlots\n", cpu_max="7\n", cpu_pressure="some\n")
    row = rows(reading := CgroupReader(tree.host).read(), reading)["/a.slice"]
    for quantity in ("memory_bytes", "quota_usec", "stalled_cpu_some_usec"):
        assert row.absent[quantity].reason is Reason.FAILED
        assert "\x1b" not in row.absent[quantity].detail


def test_more_files_than_descriptors_are_read_all_the_same(tree: GroupTree) -> None:
    files = OpenFiles(tree.host)
    files._most = 1
    paths = [f"/sys/fs/cgroup/{name}/cpu.stat" for name in ("a.slice", "a.slice/web.service", ".")]
    result = [files.read(path, lambda content: {"cpu_usec": int(content.split()[1])}) for path in paths * 2]
    assert len(files) == 1
    assert [item.values["cpu_usec"] for item in result] == [1_000, 500, 9_000_000] * 2  # type: ignore[union-attr]


def test_a_file_that_was_open_and_is_gone_is_distinguished_from_one_that_never_was(tree: GroupTree) -> None:
    host = Removing(str(tree.root))
    files = OpenFiles(host)
    path = "/sys/fs/cgroup/a.slice/cpu.stat"
    files.read(path, lambda _content: {})
    host.gone = frozenset(range(1_000))
    with pytest.raises(GoneError):
        files.read(path, lambda _content: {})
    assert files.read("/sys/fs/cgroup/none", lambda _content: {}).reason is Reason.NO_DRIVER  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["new\nline", "\x1b[31mred", "tab\there", "a=b,c", "[bold]", "\udcff"])
def test_hostile_names_are_visible_and_open(tmp_path: Path, name: str) -> None:
    tree = GroupTree(tmp_path)
    tree.used("", 5)
    tree.used(name, 3)
    sample = next(item for path, item in CgroupReader(tree.host, {"cpu_usec"}).read().samples.items() if path != "/")
    assert sample.readings["cpu.stat"].values["cpu_usec"] == 3
    assert not any(ord(sign) < 32 or 0xD800 <= ord(sign) < 0xE000 for sign in sample.group.path + sample.group.name)


def test_a_very_deep_tree(tmp_path: Path) -> None:
    tree = GroupTree(tmp_path)
    path = ""
    for depth in range(60):
        path += f"/d{depth}"
        tree.used(path, depth)
    samples = CgroupReader(tree.host, {"cpu_usec"}).read().samples
    assert len(samples) == 61
    assert list(samples)[-1] == path


def test_five_thousand_groups(tmp_path: Path) -> None:
    tree = GroupTree(tmp_path)
    for number in range(5_000):
        tree.used(f"g{number}", number)
    reader = CgroupReader(tree.host, {"cpu_usec"})
    moment = reader.read()
    assert len(moment.samples) == 5_001
    assert moment.complete
    assert reader.open_files <= tree.host.privileges().most_descriptors
    reader.close()


def test_version_1_and_hybrid(tmp_path: Path) -> None:
    tree = GroupTree(tmp_path, V1_MOUNTS + V2_MOUNT_UNIFIED)
    tree.write("/sys/fs/cgroup/cpuacct/job/cpuacct.usage", "5000000\n")
    tree.write("/sys/fs/cgroup/cpu/job/cpu.stat", "nr_periods 4\nnr_throttled 1\nthrottled_time 2000\nwait_sum 9000\n")
    tree.write("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n")
    tree.write("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n")
    tree.write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n")
    tree.write("/sys/fs/cgroup/memory/other/memory.usage_in_bytes", "77\n")
    tree.write("/sys/fs/cgroup/memory/other/memory.stat", "pgmajfault 1\ntotal_rss 8\ntotal_pgmajfault 3\n")
    tree.write("/sys/fs/cgroup/unified/job/cpu.pressure", PRESSURE.format(0, 0))
    reader = CgroupReader(tree.host)
    older = reader.read()
    tree.write("/sys/fs/cgroup/cpuacct/job/cpuacct.usage", "9000000\n")
    tree.write("/sys/fs/cgroup/cpu/job/cpu.stat", "nr_periods 8\nnr_throttled 3\nthrottled_time 6000\nwait_sum 9500\n")
    tree.write("/sys/fs/cgroup/memory/other/memory.stat", "pgmajfault 1\ntotal_rss 8\ntotal_pgmajfault 8\n")
    tree.write("/sys/fs/cgroup/unified/job/cpu.pressure", PRESSURE.format(40, 0))
    group_rows = rows(older, reader.read())
    row = group_rows["/job"]
    assert row.increases["cpu_usec"] == pytest.approx(4_000)
    assert (row.increases["throttled"], row.increases["throttled_usec"]) == (2, 4)
    assert row.increases["waited_usec"] == pytest.approx(0.5)
    assert row.increases["stalled_cpu_some_usec"] == 40, "pressure is version 2's"
    assert row.absent["quota_usec"].reason is Reason.NOT_SET
    assert row.absent["memory_max"].reason is Reason.NOT_SET
    assert group_rows["/other"].values["memory_bytes"] == 77
    assert (group_rows["/other"].values["anon_bytes"], group_rows["/other"].increases["major_faults"]) == (8, 5)
    assert "cpu_usec" not in group_rows["/other"].files, "it is in the tree of memory alone"


V2_MOUNT_UNIFIED = "34 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"


def test_every_quantity_is_given_once() -> None:
    controllers = frozenset(file.controller for file in FILES)
    for trees in (frozenset({""}), controllers):
        files = files_for(frozenset({"cpu_usec", "throttled"}), trees)
        assert sum("cpu_usec" in file.gives for file in files[:1]) == 1
    assert [file.id for file in files_for(frozenset({"cpu_usec", "throttled"}), frozenset({""}))] == ["cpu.stat"]


def test_no_tree_is_a_reason(tmp_path: Path) -> None:
    tree = GroupTree(tmp_path, "24 1 0:21 / /proc rw - proc proc rw\n")
    why = CgroupReader(tree.host).why_none
    assert why is not None
    assert why.reason is Reason.NO_DRIVER


def test_two_readings_at_one_time_have_no_rate(tree: GroupTree) -> None:
    _host, _reader, older = aged(tree, "cpu_usec")
    assert older.samples["/a.slice"].still is not None
    row = rows(older, older)["/a.slice"]
    assert row.rate("cpu_usec") is None
    assert row.why("cpu_usec") is not None


def test_this_machine_s_own_groups() -> None:
    reader = CgroupReader(LinuxHost())
    if reader.why_none is not None:
        pytest.skip("no control groups are mounted here")
    older = reader.read()
    newer = reader.read()
    assert newer.samples.keys() & older.samples.keys()
    for row in rows_between(older, newer):
        assert all(count >= 0 for count in row.increases.values())
    reader.close()
