"""Which of its machine's tasks a process can see, and how much the others ran: pid namespaces and hidepid.

Documents: pid_namespaces(7); kernel Documentation/filesystems/proc.rst, "Configuring procfs"; proc_stat(5). perf gives
tasks the numbers of the pid namespace in which a counter was opened, and 0 to those outside, as to the idle task
(perf_event_pid(), kernel/events/core.c).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostKind
from turbotui.machine.small_files import text_of
from turbotui.machine.view import read_view
from turbotui.quantities.plain_numbers import numbers_among
from turbotui.quantities.unavailable import Reason, Unavailable

_CAP_SYS_PTRACE: Final = 19
_STATUS: Final = "/proc/self/status"
_STAT: Final = "/proc/stat"
_TICK_NS: Final = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_BUSY: Final = slice(0, 3)  # user, nice and system: guests are in the first two (proc_stat(5))
_IDLE: Final = slice(3, 5)  # idle and iowait

OUTSIDE: Final = Unavailable(
    Reason.HIDDEN, "this process is in a pid namespace of its own (a container), in which other tasks of the "
    "machine have no number",
    "run turbotui on the machine itself, or with its pid namespace: --pid=host (Docker, Podman), hostPID: true "
    "(Kubernetes)")
_HIDDEN: Final = Unavailable(
    Reason.HIDDEN, "/proc shows this user no processes of others (it is mounted with hidepid)",
    "run as root or with CAP_SYS_PTRACE, join the group of the option gid=, or: mount -o remount,hidepid=0 /proc; of a "
    "systemd service: ProtectProc=default")
FOREIGN: Final = Unavailable(
    Reason.HIDDEN, "/proc has the numbers of another pid namespace than this process, so nothing in it can be "
    "found by a number from perf",
    "mount the /proc of this namespace: unshare --mount-proc, or mount -t proc proc /proc")


@dataclass(frozen=True, slots=True)
class TaskSight:
    """What a process can see of its machine's tasks."""

    unseen: Unavailable | None = None  # why /proc lists only some of the tasks; None if it lists all
    # whether the process is in a pid namespace of its own, so that perf has no numbers for tasks outside
    nested: bool = False
    foreign: bool = False  # whether /proc has the numbers of another pid namespace
    times: bool = True  # whether /proc/stat counts the machine's times, and not those of a container

    @property
    def why(self) -> Unavailable | None:
        """Why perf or /proc has only some of the tasks; None if both have all."""
        return FOREIGN if self.foreign else OUTSIDE if self.nested else self.unseen


def task_sight(host: Host) -> TaskSight:
    """Find out what this process can see of a machine's tasks; of one that is simulated or recorded, all there is."""
    if host.kind is not HostKind.REAL:
        return TaskSight()
    view, rights = read_view(host), host.privileges()
    status = dict(line.split(":", 1) for line in text_of(host, _STATUS).splitlines() if ":" in line)
    nested = rights.contained("pid")
    foreign = nested and len(status.get("NSpid", "").split()) > 1  # a number for /proc's namespace, and one for ours
    proc = view.holding(_STATUS)
    member = proc is not None and proc.setting("gid") in status.get("Groups", "").split()
    hidden = view.hides_processes and not member and not rights.has(_CAP_SYS_PTRACE)
    unseen = OUTSIDE if nested and not foreign else _HIDDEN if hidden else None
    return TaskSight(unseen, nested, foreign, times=not view.is_lxc)


@dataclass(frozen=True, slots=True)
class MachineTimes:
    """What /proc/stat says of CPUs since they came online, in ns, in steps of a clock tick."""

    busy: int  # in which CPUs ran tasks
    idle: int  # in which they did not


def machine_times(host: Host, cpus: Iterable[int] | None = None) -> MachineTimes | None:
    """Read how long these CPUs, or all together, ran tasks and idled; None if /proc/stat does not say it."""
    names = {"cpu"} if cpus is None else {f"cpu{cpu}" for cpu in cpus}
    lines = (line.split() for line in text_of(host, _STAT).splitlines() if line.startswith("cpu"))
    ticks = [numbers_among(words[1:]) for words in lines if words[0] in names]
    if not any(map(any, ticks)):  # absent, or of a sandbox that counts nothing
        return None
    busy, idle = (sum(sum(tick[part]) for tick in ticks) * _TICK_NS for part in (_BUSY, _IDLE))
    return MachineTimes(busy, idle)
