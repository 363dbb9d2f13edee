"""Command lines for groups: which line fits which group, its cost, and safe quoting for a shell."""

from __future__ import annotations

import shlex
from pathlib import Path

from grouptrees import V1_MOUNTS, V2_MOUNT, GroupTree

from turbotui.features.groups.group_lines import GroupTarget, group_lines, target_of
from turbotui.features.groups.model import CGROUP, CONTROL, MONITOR, Group

TOP = "/sys/fs/cgroup"


def words(path: str, kind: str = CGROUP, directory: str = "", resctrl: str = "", rmids: str = "") -> list[str]:
    target = GroupTarget(kind, path, directory or TOP + path, resctrl, rmids)
    return [line.words for line in group_lines(target)]


def test_a_unit_is_spoken_to_by_its_manager() -> None:
    result = words("/system.slice/db.service")
    assert "systemctl set-property --runtime db.service CPUQuota=50%" in result
    assert 'echo "200000 100000" > /sys/fs/cgroup/system.slice/db.service/cpu.max' in result
    assert "turbotui tasks --cgroup /system.slice/db.service -i 1" in result
    assert "mount -t resctrl resctrl /sys/fs/resctrl" in result


def test_a_part_of_a_unit_is_not_the_unit() -> None:
    assert not any("systemctl" in line for line in words("/system.slice/db.service/worker"))


def test_the_outermost_group_has_no_limit_to_set() -> None:
    assert words("/") == ["mount -t resctrl resctrl /sys/fs/resctrl"]


def test_a_monitor_group_is_made_where_resctrl_is_and_its_cost_is_reported() -> None:
    target = GroupTarget(CGROUP, "/job", f"{TOP}/job", "/mnt/resctrl", "3 of 255")
    line = next(line for line in group_lines(target) if line.words.startswith("mkdir"))
    assert line.words.startswith("mkdir /mnt/resctrl/mon_groups/job && ")
    assert "one RMID (3 of 255 are taken)" in line.meaning
    assert "mount -t" not in "".join(words("/job", resctrl="/mnt/resctrl"))


def test_groups_of_resctrl_are_looked_at_and_removed() -> None:
    result = words("/batch", MONITOR, "/sys/fs/resctrl/mon_groups/batch", "/sys/fs/resctrl")
    assert result == ["cat /sys/fs/resctrl/mon_groups/batch/tasks", "cat /sys/fs/resctrl/mon_groups/batch/schemata",
                      "rmdir /sys/fs/resctrl/mon_groups/batch"]
    outermost = words("/", CONTROL, "/sys/fs/resctrl", "/sys/fs/resctrl", "4 of 256")
    assert not any("rmdir" in line for line in outermost)
    assert "mkdir /sys/fs/resctrl/mon_groups/NAME && echo TID > /sys/fs/resctrl/mon_groups/NAME/tasks" in outermost


def test_version_1_has_lines_of_its_own_files() -> None:
    old = {"cpu": "/sys/fs/cgroup/cpu/job", "memory": "/sys/fs/cgroup/memory/job"}
    result = [line.words for line in group_lines(GroupTarget(CGROUP, "/job", "", old=old))]
    assert "echo 200000 > /sys/fs/cgroup/cpu/job/cpu.cfs_quota_us" in result
    assert "cat /sys/fs/cgroup/cpu/job/cgroup.procs" in result
    assert not any("cpu.max" in line or "memory.high" in line or "cgroup.threads" in line for line in result)
    assert any(line.startswith("mkdir ") and "< /sys/fs/cgroup/cpu/job/tasks" in line for line in result)


def test_counters_of_bandwidth_are_assigned_where_they_are_few() -> None:
    target = GroupTarget(MONITOR, "/mon_groups/web", "/r/mon_groups/web", "/r", "2 of 9", counters="0=30;1=0")
    line = next(line for line in group_lines(target) if line.words.startswith("echo 'mbm_total_bytes"))
    assert line.words == "echo 'mbm_total_bytes:*=e' > /r/mon_groups/web/mbm_L3_assignments"
    assert "free: 0=30;1=0" in line.meaning
    assert not any("mbm_L3" in line for line in words("/batch", MONITOR, "/r/mon_groups/batch", "/r"))


def test_the_target_of_a_row_is_looked_up(tmp_path: Path) -> None:
    tree = GroupTree(tmp_path, V1_MOUNTS + V2_MOUNT)
    tree.used("job", 5)
    tree.write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "5\n")
    target = target_of(tree.host, Group(CGROUP, "/job", "job"))
    assert (target.directory, dict(target.old)) == ("/sys/fs/cgroup/job", {"memory": "/sys/fs/cgroup/memory/job"})


def test_hostile_names_are_quoted_or_have_no_line() -> None:
    assert f'echo max > {shlex.quote(TOP + "/a b;rm -rf $HOME")}/cpu.max' in words("/a b;rm -rf $HOME")
    visible = "/a" + chr(0xE000 + 27) + "b"
    assert all(chr(27) not in line for line in words(visible))
