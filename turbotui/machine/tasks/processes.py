"""Threads, names and control groups, by /proc (proc(5)) and the cgroup mounts."""

from __future__ import annotations

import errno

from turbotui.errors import MachineError
from turbotui.machine.cgroups import hierarchies
from turbotui.machine.host import Host, HostError
from turbotui.machine.small_files import line_of, names_in, text_of
from turbotui.quantities.plain_numbers import numbers_among


def threads_of(host: Host, pid: int) -> frozenset[int]:
    """Return the ids of a process's present threads; empty if it has ended."""
    try:
        names = host.list_dir(f"/proc/{pid}/task")
    except HostError as error:
        if error.errno in (errno.ENOENT, errno.ESRCH):
            return frozenset()
        raise
    return frozenset(numbers_among(names))


def has_ended(host: Host, pid: int) -> bool:
    """Tell whether a process has ended, including zombies."""
    if len(threads_of(host, pid)) > 1:
        return False
    state = text_of(host, f"/proc/{pid}/stat").rpartition(") ")[2][:1]  # proc(5): it follows the name
    return state in ("Z", "X", "")


def running_threads(host: Host, pid: int) -> frozenset[int]:
    """Return the ids of a process's present threads; empty if it has ended, or is hidden (hidepid)."""
    return frozenset(numbers_among(names_in(host, f"/proc/{pid}/task")))


def processes(host: Host) -> tuple[int, ...]:
    """Return the ids of all processes that this user can see; none if /proc cannot be listed."""
    return numbers_among(names_in(host, "/proc"))


def name_of(host: Host, pid: int, tid: int) -> str:
    """Return the name of a thread, at most 15 characters; "" if it has ended."""
    return line_of(host, f"/proc/{pid}/task/{tid}/comm")


def cpu_time(host: Host, pid: int, tid: int) -> int | None:
    """Return a thread's CPU time in ns, as the scheduler accounts for it; None if unknown.

    The first word of /proc/PID/task/TID/schedstat is se.sum_exec_runtime, up to now (fs/proc/base.c); 0 where the
    kernel keeps no such statistics. Zombies still have it.
    """
    return next(iter(_schedstat(host, pid, tid)), None) or None


def run_delay(host: Host, pid: int, tid: int) -> tuple[int, int] | None:
    """Return the ns for which a thread waited on run queues, and its number of time slices; None if unknown.

    The second and third word of /proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst). A wait that
    continues is not included yet.
    """
    numbers = _schedstat(host, pid, tid)
    return (numbers[1], numbers[2]) if len(numbers) > 2 else None


def _schedstat(host: Host, pid: int, tid: int) -> tuple[int, ...]:
    return numbers_among(text_of(host, f"/proc/{pid}/task/{tid}/schedstat").split())


def cgroup_folder(host: Host, path: str) -> str:
    """Return the directory of a control group that perf can count.

    Args:
        path: the path of the directory, or of the group as in /proc/PID/cgroup.

    Raises:
        MachineError: no cgroup2 or perf_event hierarchy has the group.
    """
    mounts = [tree.top for tree in hierarchies(host) if tree.version == 2 or "perf_event" in tree.controllers]
    if any(path == mount or path.startswith(mount + "/") for mount in mounts):
        if host.exists(path):
            return path
    else:
        for mount in mounts:
            folder = f"{mount}/{path.strip('/')}".rstrip("/")
            if host.exists(folder):
                return folder
    raise MachineError(
        f"there is no control group {path} that perf can count: looked below {', '.join(mounts) or 'no mount at all'} "
        "(cgroup2, or a cgroup hierarchy with perf_event)")
