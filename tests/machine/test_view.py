"""What a process may see: mounts over mounts, and the masks of container runtimes and systemd."""

from __future__ import annotations

import pytest
from treehost import TreeHost

from turbotui.machine.view import MOUNTS, View, read_view

DOCKER = """\
583 474 0:53 / / rw,relatime - overlay overlay rw,lowerdir=/a
584 583 0:56 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
585 583 0:57 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
588 583 0:60 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro
589 588 0:27 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate
480 584 0:57 /null /proc/interrupts rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
481 584 0:62 / /proc/acpi ro,relatime - tmpfs tmpfs ro,inode64
483 588 0:64 / /sys/devices/virtual/powercap ro,relatime - tmpfs tmpfs ro,inode64
484 588 0:65 / /sys/devices/system/cpu/cpu1/thermal_throttle ro,relatime - tmpfs tmpfs ro
"""


def view(text: str) -> View:
    return read_view(TreeHost({MOUNTS: text}))


def test_masks_of_a_container_hide_files_and_what_lies_in_folders() -> None:
    seen = view(DOCKER)
    hidden = ("/proc/interrupts", "/proc/acpi/wakeup", "/sys/devices/virtual/powercap/intel-rapl/energy_uj",
              "/sys/devices/system/cpu/cpu1/thermal_throttle")
    for path in hidden:
        mask = seen.mask(path)
        assert mask is not None, path
        assert path.startswith(mask.point)
        assert mask.point in mask.detail
        assert "Docker" in mask.remedy
    for path in ("/proc/stat", "/proc/interruptsx", "/sys/fs/cgroup/cpu.max", "/sys/devices/system/cpu/cpu0",
                 "/sys/devices/system/cpu/cpu10/thermal_throttle", "/dev/null"):
        assert seen.mask(path) is None, path


def test_a_tmpfs_over_sys_or_a_part_of_it_hides_files_though_it_may_be_written() -> None:
    base = "1 0 0:1 / / rw - overlay overlay rw\n2 1 0:2 / /sys rw - sysfs sysfs rw\n"
    over = view(f"{base}3 2 0:3 / /sys rw - tmpfs tmpfs rw\n").mask("/sys/devices/system/cpu/cpuidle")
    assert over is not None
    assert "tmpfs is mounted over it" in over.detail
    part = view(f"{base}3 2 0:3 / /sys/devices/system/cpu rw - tmpfs tmpfs rw\n")
    assert part.mask("/sys/devices/system/cpu/cpu0/cpufreq") is not None
    assert part.mask("/sys/class/hwmon") is None


def test_a_sys_of_folders_that_are_mounted_one_by_one_hides_none_of_them() -> None:
    """systemd-nspawn does so in a user namespace."""
    seen = view("1 0 0:1 / / rw - overlay overlay rw\n2 1 0:2 / /sys ro - tmpfs tmpfs rw\n"
                "3 2 0:3 /devices /sys/devices ro - sysfs sysfs rw\n4 2 0:3 /class /sys/class ro - sysfs sysfs rw\n")
    assert not seen.masks


def test_what_a_machine_mounts_itself_is_no_mask() -> None:
    """tmpfs over /sys/fs/cgroup holds the trees of version 1, and systemd makes it read-only."""
    assert not view("1 0 0:1 / / rw - ext4 /dev/vda rw\n2 1 0:2 / /sys rw - sysfs sysfs rw\n"
                    "3 2 0:3 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
                    "4 3 0:4 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n").masks


def test_only_the_uppermost_mount_counts() -> None:
    """A mask that another mount covers hides nothing, and neither does one inside a folder that is covered."""
    base = "1 0 0:1 / / rw - ext4 /dev/vda rw\n2 1 0:2 / /sys rw - sysfs sysfs rw\n"
    mask = "3 2 0:3 / /sys/class/powercap ro - tmpfs tmpfs ro\n"
    assert view(base + mask).mask("/sys/class/powercap/x") is not None
    again = view(f"{base}{mask}4 3 0:2 /class/powercap /sys/class/powercap rw - sysfs sysfs rw\n")
    assert again.mask("/sys/class/powercap/x") is None
    below = view(f"{base}{mask}5 2 0:2 /class /sys/class rw - sysfs sysfs rw\n")
    assert below.mask("/sys/class/powercap/x") is None
    holding = below.holding("/sys/class/powercap/x")
    assert holding is not None
    assert holding.number == 5


def test_a_service_without_the_files_of_proc() -> None:
    seen = view("1 0 0:1 / / rw - ext4 /dev/vda rw\n2 1 0:2 / /proc rw - proc proc rw,hidepid=invisible,subset=pid\n"
                "3 1 0:3 / /sys rw - sysfs sysfs rw\n")
    assert seen.hides_processes
    mask = seen.mask("/proc/interrupts")
    assert mask is not None
    assert "ProcSubset" in mask.remedy
    assert all(seen.mask(path) is None for path in ("/proc/self/stat", "/proc/12/status", "/sys/class/hwmon"))
    assert view("1 0 0:1 / / rw - ext4 /dev/vda rw\n2 1 0:2 / /proc rw - proc proc rw\n").mask("/sys/class") is not None
    plain = view("1 0 0:1 / / rw - ext4 /dev/vda rw\n2 1 0:2 / /proc rw - proc proc rw,hidepid=off\n")
    assert not plain.hides_processes
    assert plain.mask("/proc/stat") is None


def test_paths_that_a_service_may_not_reach() -> None:
    seen = view("1 0 0:1 / / rw - ext4 /dev/vda rw\n2 1 0:2 / /sys rw - sysfs sysfs rw\n"
                "3 2 0:9 /systemd/inaccessible/dir /sys/class/hwmon ro,nosuid - tmpfs tmpfs rw,mode=755\n")
    mask = seen.mask("/sys/class/hwmon/hwmon0/name")
    assert mask is not None
    assert "InaccessiblePaths" in mask.remedy


@pytest.mark.parametrize("text", ["", "nonsense\n", "1 0 0:1 / /\n", "x y 0:1 / / rw - ext4 a rw\n",
                                  "5 6 0:1 / /sys rw - sysfs s rw\n6 5 0:1 / /sys rw - sysfs s rw\n",
                                  "5 5 0:1 / / rw - ext4 s rw\n"])
def test_odd_lines_and_circles_end(text: str) -> None:
    seen = view(text)
    assert not seen.masks
    seen.holding("/sys/class")
