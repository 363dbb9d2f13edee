"""Control groups: mount points, the group of a process, and the kernel's counts for each group.

Version 2: kernel Documentation/admin-guide/cgroup-v2.rst; version 1: Documentation/admin-guide/cgroup-v1 and
    Documentation/scheduler/sched-bwc.rst. A machine may have both at once ("hybrid"). Names of groups are arbitrary;
    the host makes them visible.
"""

from __future__ import annotations

import errno
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.small_files import names_in, text_of
from turbotui.machine.view import read_view
from turbotui.quantities.plain_numbers import integer, integer_or_none, numbers_by_name

OWN: Final = "/proc/self/cgroup"
MOST_GROUPS: Final = 4_096
"""Maximum number of groups that one walk visits; a machine with more is reported as having more."""
_PRESSURES: Final = ("cpu", "memory", "io")
_TOTAL: Final = re.compile(r"^(some|full) .*\btotal=(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One mounted tree of groups."""

    version: int  # 1 or 2
    top: str  # the directory where it is mounted
    root: str = "/"  # the group that is mounted there, "/" for the whole tree
    controllers: frozenset[str] = frozenset()  # of version 1: "cpu", "cpuacct" ...

    def directory(self, group: str) -> str:
        """The directory of a group that is named as /proc/PID/cgroup names it, whether it is visible here or not."""
        if self.root != "/" and (group == self.root or group.startswith(f"{self.root}/")):
            group = group[len(self.root):]
        return f"{self.top}/{group.strip('/')}".rstrip("/")

    def name(self, directory: str) -> str:
        """The name of a group by its directory: "/" for the mounted one."""
        return directory[len(self.top):] or "/"

    def upwards(self, directory: str) -> Iterator[str]:
        """The directory and its parents up to the mount."""
        while directory.startswith(f"{self.top}/"):
            yield directory
            directory = directory.rpartition("/")[0]
        yield self.top


@dataclass(frozen=True, slots=True)
class CpuUse:
    """CPU time and throttling of a group since it was created; None if not counted for this group."""

    used_ns: int | None = None  # CPU time, all CPUs together
    periods: int | None = None  # periods in which the group wanted to run under a quota
    throttled: int | None = None  # periods in which the quota was used up
    throttled_ns: int | None = None  # time for which its CPUs stood still because of that, summed over CPUs
    quota: float | None = None  # number of CPUs that it may use; None without a quota


@dataclass(frozen=True, slots=True)
class GroupUse:
    """A group and its counts."""

    name: str  # below the mount: "/system.slice/db.service"
    cpu: CpuUse  # its CPU time
    read_ns: int = 0  # monotonic clock in the middle of the reading


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups that a walk found, from the root downwards."""

    hierarchy: Hierarchy
    directories: tuple[str, ...]  # of the groups, the mount itself first
    complete: bool  # whether these are all groups


def hierarchies(host: Host) -> tuple[Hierarchy, ...]:
    """The mounted trees of groups (proc_pid_mountinfo(5)); none if they cannot be read."""
    return tuple(Hierarchy(2, mount.point, mount.root) if mount.kind == "cgroup2"
                 else Hierarchy(1, mount.point, mount.root, frozenset(mount.settings) - {"rw", "ro"})
                 for mount in read_view(host).mounts if mount.kind in ("cgroup", "cgroup2"))


def for_cpu_time(trees: Iterable[Hierarchy]) -> Hierarchy | None:
    """The tree whose groups have CPU quotas: that of version 1's controller, else version 2's."""
    all_of_them = tuple(trees)
    return next((tree for tree in all_of_them if "cpu" in tree.controllers), None) or for_pressure(all_of_them)


def for_pressure(trees: Iterable[Hierarchy]) -> Hierarchy | None:
    """The tree whose groups have pressure files, which is version 2's."""
    return next((tree for tree in trees if tree.version == 2), None)


def for_accounting(trees: Iterable[Hierarchy]) -> Hierarchy | None:
    """The tree of version 1 in which CPU time is counted; None if there is none."""
    return next((tree for tree in trees if "cpuacct" in tree.controllers), None)


def own_group(host: Host, tree: Hierarchy) -> str | None:
    """The directory of this process's group; None if it is unknown or not visible here.

    cgroups(7): lines "number:controllers:path", with number 0 and no controllers for version 2. In a cgroup namespace
    they and the roots of mounts are relative to the namespace's root, with "/.." for each level above it
    (cgroup_namespaces(7)).
    """
    for line in text_of(host, OWN).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        own = number == "0" and not controllers if tree.version == 2 else bool(
            frozenset(controllers.split(",")) & tree.controllers)
        if own:
            above, group = _levels_above(path)
            mounted_above, inside = _levels_above(tree.root)
            if mounted_above and not inside:
                return _below_unnamed(host, tree.top, mounted_above - above, group)
            directory = tree.directory(path)
            inner = path == tree.root or path.startswith(f"{tree.root}/")
            return directory if (inner or not (above or mounted_above)) and host.exists(directory) else None
    return None


def _levels_above(path: str) -> tuple[int, str]:
    """The levels by which a path leads out of the cgroup namespace, and the path from there on."""
    levels = 0
    while path == "/.." or path.startswith("/../"):
        levels, path = levels + 1, path[len("/.."):]
    return levels, path.strip("/")


def _below_unnamed(host: Host, top: str, levels: int, group: str) -> str | None:
    """The directory of this process's group some levels below a mount, where the namespace hides their names.

    It is the group whose processes include this one.
    """
    pid = text_of(host, "/proc/self/stat").partition(" ")[0]
    folders, left = [top], MOST_GROUPS
    for _ in range(levels):
        folders = [f"{folder}/{name}" for folder in folders for name in names_in(host, folder)
                   if not _FILE.match(name)][:left]
        left -= len(folders)
    for folder in folders if pid and levels >= 0 else ():
        directory = f"{folder}/{group}".rstrip("/")
        if pid in text_of(host, f"{directory}/cgroup.procs").split():
            return directory
    return None


def cpu_use(host: Host, tree: Hierarchy, directory: str, accounting: Hierarchy | None = None, *,
            idle_quota: bool = True) -> CpuUse:
    """CPU time, throttling and quota of a group; None for what cannot be read.

    Args:
        accounting: version 1's tree of the controller cpuacct, which counts CPU time.
        idle_quota: whether to read a quota under which no period was counted yet.
    """
    stat = _numbers(host, f"{directory}/cpu.stat")
    limited = idle_quota or bool(stat.get("nr_periods"))
    if tree.version == 2:
        return CpuUse(_times(stat.get("usage_usec"), 1_000), stat.get("nr_periods"), stat.get("nr_throttled"),
            _times(stat.get("throttled_usec"), 1_000), _quota(host, f"{directory}/cpu.max") if limited else None)
    used = None
    if accounting is not None:
        used = integer_or_none(text_of(host, f"{accounting.directory(tree.name(directory))}/cpuacct.usage"))
    if not limited:
        return CpuUse(used, stat.get("nr_periods"), stat.get("nr_throttled"), stat.get("throttled_time"))
    allowed = integer_or_none(text_of(host, f"{directory}/cpu.cfs_quota_us"))
    period = integer_or_none(text_of(host, f"{directory}/cpu.cfs_period_us"))
    quota = allowed / period if allowed is not None and period and allowed > 0 else None  # -1: none
    return CpuUse(used, stat.get("nr_periods"), stat.get("nr_throttled"), stat.get("throttled_time"), quota)


def stalls(host: Host, directory: str) -> Mapping[str, int]:
    """Microseconds for which tasks of a version 2 group waited, by file and line; empty if unknown."""
    return numbers_by_name((f"{name}.{line}", total) for name in _PRESSURES
                           for line, total in _TOTAL.findall(text_of(host, f"{directory}/{name}.pressure")))


def find_groups(host: Host, tree: Hierarchy, most: int = MOST_GROUPS) -> Groups:
    """Walk a tree level by level until a number of groups is found."""
    paths: list[str] = []
    waiting = deque([tree.top])
    while waiting and len(paths) < most:
        directory = waiting.popleft()
        # most groups have no children: one file is read instead of 60 names
        if tree.version == 2 and _numbers(host, f"{directory}/cgroup.stat").get("nr_descendants") == 0:
            paths.append(directory)
            continue
        try:
            names = host.list_dir(directory)
        except HostError as error:
            if error.errno == errno.EACCES:  # it exists, and its contents belong to another user
                paths.append(directory)
            continue  # otherwise it is gone, or it is a file
        paths.append(directory)
        # a name that starts like a controller's file is one: groups should not be named so (cgroup-v2.rst, "Avoid Name
        # Collisions"), except units of systemd
        waiting.extend(f"{directory}/{name}" for name in names if not _FILE.match(name))
    return Groups(tree, tuple(paths), not waiting)


def read_groups(host: Host, groups: Groups) -> tuple[GroupUse, ...]:
    """Counts for each group of a walk; all None for a group that is gone.

    The quota is read only for groups that ran under one, and of version 1 no CPU time, which is in another tree.
    """
    tree, uses, began = groups.hierarchy, list[GroupUse](), host.now_ns()
    for directory in groups.directories:
        cpu = cpu_use(host, tree, directory, idle_quota=False)
        ended = host.now_ns()
        uses.append(GroupUse(tree.name(directory), cpu, (began + ended) >> 1))
        began = ended
    return tuple(uses)


# Files of groups are named after their controller (cgroup-v2.rst, "Core Interface Files" and "Controllers"); what is
# not matched here and is a file costs a refused attempt to list it.
_FILE: Final = re.compile(
    r"(?!.*\.(?:slice|scope|service|mount|socket|swap)\Z)(?:cgroup|cpu|cpuset|cpuacct|memory|io|irq|pids|hugetlb|rdma|misc"
    r"|blkio|devices|freezer|net_cls|net_prio|perf_event|dmem|debug)\.|(?:tasks|notify_on_release|release_agent)\Z"
)


def _numbers(host: Host, path: str) -> Mapping[str, int]:
    """Lines of a name and a number."""
    words = (line.split(" ") for line in text_of(host, path).split("\n"))
    return numbers_by_name((pair[0], pair[1]) for pair in words if len(pair) == 2)


def _quota(host: Host, path: str) -> float | None:
    """CPUs from cpu.max, "200000 100000": microseconds in each period; None for "max" and for a missing file."""
    words = text_of(host, path).split()
    if len(words) != 2 or not all(word.isdecimal() for word in words) or words[1] == "0":
        return None
    return integer(words[0]) / integer(words[1])


def _times(value: int | None, factor: int) -> int | None:
    return None if value is None else value * factor
