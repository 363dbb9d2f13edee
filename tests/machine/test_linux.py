from __future__ import annotations

import errno
import os
import struct
from pathlib import Path

import pytest

from turbotui.errors import MachineError
from turbotui.machine.host import NOT_GATHERED, HostError, HostKind, PerfAttr, msr_device
from turbotui.machine.linux import LinuxHost
from turbotui.machine.usable_cpus import UsableCpus, effective_cpuset


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    cpu = tmp_path / "sys/devices/system/cpu"
    cpu.mkdir(parents=True)
    (cpu / "online").write_text("0-3\n")
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/hostname").write_text("elsewhere\n")
    (tmp_path / "proc/sys/kernel/perf_event_paranoid").write_text("4\n")
    device = tmp_path / "dev/cpu/2"
    device.mkdir(parents=True)
    (device / "msr").write_bytes(bytes(0x10) + (0x1122334455667788).to_bytes(8, "little"))
    return tmp_path


def test_files_are_those_under_the_sysroot(tree: Path) -> None:
    host = LinuxHost(str(tree))
    assert host.kind is HostKind.RECORDED
    assert host.name == "elsewhere"
    assert not host.pins
    assert host.usable_cpus() is None
    assert host.read_text("/sys/devices/system/cpu/online") == "0-3\n"
    assert host.list_dir("/sys/devices/system") == ("cpu",)
    assert host.exists("/dev/cpu/2/msr")
    assert not host.exists("/dev/cpu/0/msr")
    assert host.privileges().perf_paranoid == 4
    assert host.privileges().capabilities == 0


def test_registers_are_read_at_their_address(tree: Path) -> None:
    host = LinuxHost(str(tree))
    descriptor = host.open_file(msr_device(2))
    try:
        assert host.read_at(descriptor, 8, 0x10) == struct.pack("<Q", 0x1122334455667788)
    finally:
        host.close(descriptor)


def test_devices_cannot_be_written_and_do_not_outlive_exec(tree: Path) -> None:
    host = LinuxHost(str(tree))
    descriptor = host.open_file(msr_device(2))
    try:
        assert not os.get_inheritable(descriptor)
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.write(descriptor, b"x")
    finally:
        host.close(descriptor)


def test_bytes_that_are_not_text_are_marked(tree: Path) -> None:
    (tree / "odd").write_bytes(b"a\xffb")
    assert LinuxHost(str(tree)).read_text("/odd") == "a⟪xff⟫b"


def test_a_file_longer_than_one_read_is_whole(tree: Path) -> None:
    (tree / "long").write_text("0123456789" * 20_000)
    assert len(LinuxHost(str(tree)).read_text("/long")) == 200_000


def test_failures_are_host_errors_with_the_errno(tree: Path) -> None:
    host = LinuxHost(str(tree))
    with pytest.raises(HostError) as caught:
        host.read_text("/nowhere")
    assert (caught.value.errno, caught.value.what, caught.value.name) == (errno.ENOENT, "/nowhere", "ENOENT")
    with pytest.raises(HostError) as caught:
        host.read_text("/sys")
    assert caught.value.errno == errno.EISDIR
    with pytest.raises(HostError) as caught:
        host.list_dir("/sys/devices/system/cpu/online")
    assert caught.value.errno == errno.ENOTDIR
    with pytest.raises(HostError) as caught:
        host.open_file(msr_device(0))
    assert caught.value.errno == errno.ENOENT
    with pytest.raises(HostError) as caught:
        host.close(987_654)
    assert caught.value.errno == errno.EBADF


def test_no_descriptor_is_lost_by_a_failed_read(tree: Path) -> None:
    host = LinuxHost(str(tree))
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        with pytest.raises(HostError):
            host.read_text("/sys")
    assert os.listdir("/proc/self/fd") == before


def test_a_tree_of_files_does_not_count_or_pin_on_this_machine(tree: Path) -> None:
    host = LinuxHost(str(tree))
    with pytest.raises(HostError) as caught:
        host.perf_event_open(PerfAttr(1, 3), -1, 0, -1)
    assert caught.value.errno == NOT_GATHERED
    with pytest.raises(HostError) as caught:
        host.pin_this_thread([0])
    assert caught.value.errno == errno.ENOSYS


def test_a_live_tree_counts_and_pins(tree: Path) -> None:
    host = LinuxHost(str(tree), live=True)
    assert host.kind is HostKind.REAL
    assert host.pins
    assert host.read_text("/sys/devices/system/cpu/online") == "0-3\n"


def test_a_missing_sysroot_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        MachineError, match=r"^The sysroot '.*missing' cannot be read: No such file or directory; .*\.$"
    ):
        LinuxHost(str(tmp_path / "missing"))


def test_a_file_is_no_sysroot(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MachineError, match="Not a directory"):
        LinuxHost(str(tmp_path / "file"))


V1 = "9:name=systemd:/\n4:memory:/a/b\n3:cpuset:/box\n0::/a/b\n"


def test_the_nearest_cpuset_wins() -> None:
    files = {
        "/sys/fs/cgroup/a/cpuset.cpus.effective": "2-3\n",
        "/sys/fs/cgroup/cpuset.cpus.effective": "0-7\n",
    }
    assert effective_cpuset("0::/a/b\n", lambda path: files.get(path, "")) == frozenset({2, 3})


def test_the_root_cgroup_is_the_last_resort() -> None:
    files = {"/sys/fs/cgroup/cpuset.cpus.effective": "0-7\n"}
    assert effective_cpuset("0::/../../other\n", lambda path: files.get(path, "")) == frozenset(range(8))


def test_version_1_hierarchies_count_too() -> None:
    files = {"/sys/fs/cgroup/cpuset/box/cpuset.effective_cpus": "5\n"}
    assert effective_cpuset(V1, lambda path: files.get(path, "")) == frozenset({5})


def test_no_cpuset_is_no_restriction() -> None:
    assert effective_cpuset(V1, lambda path: "") is None
    assert effective_cpuset("", lambda path: "0\n") is None


def test_an_unreadable_list_is_no_restriction() -> None:
    assert effective_cpuset("0::/\n", lambda path: "garbage\n") is None


def test_the_files_of_the_cgroup_are_read_again_when_cpus_change_and_after_a_while() -> None:
    selected = sorted(os.sched_getaffinity(os.getpid()))
    files = {"/sys/devices/system/cpu/online": "0-4095\n", "/proc/self/cgroup": "0::/a\n",
             "/sys/fs/cgroup/a/cpuset.cpus.effective": f"{selected[0]}\n"}
    asked: list[str] = []
    now = 0.0

    def read(path: str) -> str:
        asked.append(path)
        return files.get(path, "")

    usable = UsableCpus(read, lambda: now)
    assert usable.now() == frozenset({selected[0]})
    asked.clear()
    assert usable.now() == frozenset({selected[0]})
    assert asked == ["/sys/devices/system/cpu/online"], "nothing changed: one file a look"
    asked.clear()
    assert usable.now("0-4095\n") == frozenset({selected[0]})
    assert asked == [], "who has just read the list spares the look"
    files["/sys/fs/cgroup/a/cpuset.cpus.effective"] = "0-4095\n"
    files["/sys/devices/system/cpu/online"] = "0-4094\n"
    assert usable.now() == frozenset(selected)
    files["/sys/fs/cgroup/a/cpuset.cpus.effective"] = f"{selected[0]}\n"
    now += 60.0
    assert usable.now() == frozenset({selected[0]})
