"""Threads, names and control groups, by /proc (proc(5)) and the cgroup mounts."""

from __future__ import annotations

import errno

from turbotui.errors import MachineError
from turbotui.machine.host import Host, HostError
from turbotui.machine.small_files import line_of, text_of


def threads_of(host: Host, pid: int) -> frozenset[int]:
    """Ids of the threads of a process now; empty when it has ended."""
    try:
        names = host.list_dir(f"/proc/{pid}/task")
    except HostError as error:
        if error.errno in (errno.ENOENT, errno.ESRCH):
            return frozenset()
        raise
    return frozenset(int(name) for name in names if name.isdigit())


def has_ended(host: Host, pid: int) -> bool:
    """Whether a process is over; one that nobody has waited for yet is."""
    if len(threads_of(host, pid)) > 1:
        return False
    state = text_of(host, f"/proc/{pid}/stat").rpartition(") ")[2][:1]  # proc(5): it follows the name
    return state in ("Z", "X", "")


def processes(host: Host) -> tuple[int, ...]:
    """Ids of all processes that this user can see."""
    return tuple(int(name) for name in host.list_dir("/proc") if name.isdigit())


def name_of(host: Host, pid: int, tid: int) -> str:
    """The name of a thread, at most 15 characters; "" when it has ended."""
    return line_of(host, f"/proc/{pid}/task/{tid}/comm")


def cpu_time(host: Host, pid: int, tid: int) -> int | None:
    """CPU time of a thread in ns, as the scheduler accounts for it; None where it cannot be had.

    The first word of /proc/PID/task/TID/schedstat is se.sum_exec_runtime, up to now (fs/proc/base.c); 0 where the
    kernel keeps no such statistics. A process that nobody has waited for still has it.
    """
    try:
        return int(host.read_text(f"/proc/{pid}/task/{tid}/schedstat").split()[0]) or None
    except (HostError, ValueError, IndexError):
        return None


def run_delay(host: Host, pid: int, tid: int) -> tuple[int, int] | None:
    """For how many ns a thread waited on run queues since it was made, and how often it got a CPU; None: unknown.

    The second and third word of /proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst). A wait that
    goes on is not in them yet.
    """
    try:
        words = host.read_text(f"/proc/{pid}/task/{tid}/schedstat").split()
        return int(words[1]), int(words[2])
    except (HostError, ValueError, IndexError):
        return None


def cgroup_folder(host: Host, path: str) -> str:
    """The directory of a control group that perf can count.

    Args:
        host: the machine.
        path: of the directory, or as /proc/PID/cgroup names it.

    Raises:
        MachineError: there is none in a cgroup2 or perf_event hierarchy.
    """
    mounts = []
    for line in host.read_text("/proc/self/mounts").splitlines():
        words = line.split(" ")
        if words[2] == "cgroup2" or (words[2] == "cgroup" and "perf_event" in words[3].split(",")):
            mounts.append(words[1].replace("\\040", " "))
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
        "(cgroup2, or a cgroup hierarchy with perf_event)"
    )
