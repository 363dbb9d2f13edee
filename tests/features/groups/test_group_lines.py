"""Command lines for groups: what fits which group, what it costs, and that a shell takes names as they are."""

from __future__ import annotations

import shlex

from turbotui.features.groups.group_lines import GroupTarget, group_lines
from turbotui.features.groups.model import CGROUP, CONTROL, MONITOR

TOP = "/sys/fs/cgroup"


def words(path: str, kind: str = CGROUP, directory: str = "", resctrl: str = "", rmids: str = "") -> list[str]:
    target = GroupTarget(kind, path, directory or TOP + path, resctrl, rmids)
    return [line.words for line in group_lines(target)]


def test_a_unit_is_spoken_to_by_its_manager() -> None:
    found = words("/system.slice/db.service")
    assert "systemctl set-property --runtime db.service CPUQuota=50%" in found
    assert 'echo "200000 100000" > /sys/fs/cgroup/system.slice/db.service/cpu.max' in found
    assert "turbotui tasks --cgroup /system.slice/db.service -i 1" in found
    assert "mount -t resctrl resctrl /sys/fs/resctrl" in found


def test_a_part_of_a_unit_is_not_the_unit() -> None:
    assert not any("systemctl" in line for line in words("/system.slice/db.service/worker"))


def test_the_outermost_group_has_no_limit_to_set() -> None:
    assert words("/") == ["mount -t resctrl resctrl /sys/fs/resctrl"]


def test_a_monitor_group_is_made_where_resctrl_is_and_its_cost_is_said() -> None:
    target = GroupTarget(CGROUP, "/job", f"{TOP}/job", "/mnt/resctrl", "3 of 255")
    line = next(line for line in group_lines(target) if line.words.startswith("mkdir"))
    assert line.words.startswith("mkdir /mnt/resctrl/mon_groups/job && ")
    assert "one RMID (3 of 255 are taken)" in line.meaning
    assert "mount -t" not in "".join(words("/job", resctrl="/mnt/resctrl"))


def test_groups_of_resctrl_are_looked_at_and_removed() -> None:
    found = words("/batch", MONITOR, "/sys/fs/resctrl/mon_groups/batch", "/sys/fs/resctrl")
    assert found == ["cat /sys/fs/resctrl/mon_groups/batch/tasks", "cat /sys/fs/resctrl/mon_groups/batch/schemata",
                     "rmdir /sys/fs/resctrl/mon_groups/batch"]
    assert not any("rmdir" in line for line in words("/", CONTROL, "/sys/fs/resctrl", "/sys/fs/resctrl"))


def test_hostile_names_are_quoted_or_have_no_line() -> None:
    assert f'echo max > {shlex.quote(TOP + "/a b;rm -rf $HOME")}/cpu.max' in words("/a b;rm -rf $HOME")
    visible = "/a" + chr(0xE000 + 27) + "b"
    assert all(chr(27) not in line for line in words(visible))
