"""Trees of control groups as files, whose numbers a test moves on."""

from __future__ import annotations

from pathlib import Path

from turbotui.machine.linux import LinuxHost

V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
V1_MOUNTS = """\
31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
32 30 0:28 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct
33 30 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
"""
PRESSURE = "some avg10=1.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={}\n"


class SteppedHost(LinuxHost):
    """A clock that is a second later at each reading, whose time the readers ask for once, and stands within it."""

    steps = 0

    def wall_ns(self) -> int:
        self.steps += 1
        return super().wall_ns()

    def now_ns(self) -> int:
        return (1_000 + self.steps) * 10**9


class GroupTree:
    """Files below a folder, read as a machine's.

    Args:
        root: an empty folder.
        mounts: the text of /proc/self/mountinfo.
    """

    def __init__(self, root: Path, mounts: str = V2_MOUNT) -> None:
        self.root = root
        self.write("/proc/self/mountinfo", mounts)
        self.count(1)
        self.host = SteppedHost(str(root))

    def write(self, path: str, text: str) -> None:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def group(self, path: str, **files: str) -> None:
        """Write files of a group of version 2: `cpu_stat` stands for cpu.stat."""
        for name, text in files.items():
            self.write(f"/sys/fs/cgroup/{path.strip('/')}/{name.replace('_', '.', 1)}", text)

    def used(self, path: str, usec: int, more: str = "") -> None:
        self.group(path, cpu_stat=f"usage_usec {usec}\nuser_usec {usec}\nsystem_usec 0\n{more}")

    def count(self, groups: int) -> None:
        self.write("/sys/fs/cgroup/cgroup.stat", f"nr_descendants {groups}\n")
