"""Files of the processes of a simulated machine: /proc/PID (proc(5)) and the users that they run as."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.cpulist import format_cpulist
from turbotui.simulated import basis as b
from turbotui.simulated.threads import process_of
from turbotui.simulated.tree import File, Folder, Node, fixed, folder
from turbotui.simulated.workloads import MEMORY, WORKLOADS

if TYPE_CHECKING:
    from turbotui.simulated.model import Model

_CONTAINER: Final = "4f1b2a9c0d3e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8"
_TICKS: Final = 100
"""Clock ticks in a second (sysconf _SC_CLK_TCK)."""
_PAGES: Final = 50_000
"""Pages of memory that each process holds."""
Ran: TypeAlias = Callable[[int, float], Sequence[float]]
"""A function that returns the seconds for which a kind of work ran on each CPU until a machine time."""

USERS: Final = """root:x:0:0:root:/root:/bin/sh
ada:x:1000:1000::/home/ada:/bin/sh
build:x:1001:1001::/home/build:/bin/sh
"""


@dataclass(frozen=True, slots=True)
class _Process:
    # pid, parent, uid: numbers
    pid: int
    parent: int
    uid: int
    name: str  # as the kernel has it
    arguments: tuple[str, ...]  # its command line
    group: str  # path of its control group
    state: str = "S"  # see proc(5)
    nice: int = 0  # -20 to 19


_SCOPE: Final = f"/system.slice/docker-{_CONTAINER}.scope"
_SESSION: Final = "/user.slice/user-1001.slice/session-3.scope"
_JOB: Final = "/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0"
_WORK: Final = (
    (9_001, 1000, ("./solver", "--mesh", "wing.msh", "--order", "4"), _JOB, 0),
    (9_003, 1000, ("stream", "--array-size", "80000000"), _SCOPE, 0),
    (9_005, 1001, ("cc1", "-O2", "-quiet", "kernel/sched/core.c"), _SESSION, 10),
    (1, 0, ("/usr/sbin/collectd", "-f"), "/system.slice/collectd.service", 0),
)
"""Parent, user, command line, control group and nice value of the process of each kind of work."""
_OTHERS: Final = (
    _Process(1, 0, 0, "systemd", ("/sbin/init",), "/init.scope"),
    _Process(9_000, 1, 0, "slurmd", ("/usr/sbin/slurmd", "-D"), "/system.slice/slurmd.service"),
    _Process(9_001, 9_000, 0, "slurmstepd", ("slurmstepd: [4711.0]",), _JOB.removesuffix("/user/task_0") + "/slurm"),
    _Process(9_002, 1, 0, "dockerd", ("/usr/bin/dockerd", "-H", "fd://"), "/system.slice/docker.service"),
    _Process(9_003, 9_002, 0, "containerd-shim", ("containerd-shim-runc-v2", "-id", _CONTAINER), _SCOPE),
    _Process(9_004, 1, 1001, "bash", ("-bash",), _SESSION),
    _Process(9_005, 9_004, 1001, "make", ("make", "-j", "all"), _SESSION),
)


_WAITING: Final = 2
"""The kind of work whose process waits for memory and storage."""
_TIMING: Final = 3
"""The kind whose process arms the timers of a storm, and sleeps until they expire."""


@dataclass(frozen=True, slots=True)
class TaskWaits:
    """What processes of a simulated machine wait for beyond their work, by the strain on it."""

    model: Model  # the machine

    def state(self, kind: int) -> str:
        """The letter of a process's main thread."""
        return "D" if kind == _WAITING and self.model.strain.blocked else "R"

    def faults(self, kind: int, now: float) -> int:
        """Major page faults."""
        return int(self.model.system.at(b.SYS_MAJOR_FAULTS, now)) if kind == _WAITING else 0

    def delays(self, kind: int, now: float) -> float:
        """Seconds of waiting for storage."""
        return self.model.system.at(b.SYS_STALLED_IO, now) if kind == _WAITING else 0.0

    def sleeps(self, kind: int, now: float) -> int:
        """Times that the main thread slept until a timer expired."""
        return int(self.model.shape.timer_storm * (self.model.uptime + now)) if kind == _TIMING else 0


def user_of(kind: int) -> int:
    """Return the user of a kind of work's process."""
    return _WORK[kind][1]


def task_files(ran: Ran, waits: TaskWaits) -> dict[str, Node]:
    """Return the directories of processes below /proc, by their number."""
    work = [_Process(process_of(kind), parent, uid, WORKLOADS[kind].name, arguments, group, "R", nice)
            for kind, (parent, uid, arguments, group, nice) in enumerate(_WORK)]
    nodes, cpus = len(waits.model.layout.node_cpus), len(waits.model.layout.places)
    files: dict[str, Node] = {str(process.pid): folder({
        **_files(process, cpus), "stat": fixed(_stat(process, [])), "numa_maps": fixed(numa_maps([_PAGES])),
    }) for process in _OTHERS}
    for kind, process in enumerate(work):
        files[str(process.pid)] = folder({
            **_files(process, cpus), "stat": File(partial(_stat_now, process, partial(ran, kind), kind, waits)),
            "status": File(partial(_status_now, process, kind, waits)),
            "numa_maps": fixed(numa_maps(pages_on(kind, nodes))),
            "task": Folder(partial(_threads, process, partial(ran, kind),
                                   nodes - 1 if kind == MEMORY and nodes > 1 else None)),
        })
    return files


def pages_on(kind: int, nodes: int) -> list[int]:
    """Return the pages of a kind of work's process on each node: evenly, or of work on memory 95 % on the last node."""
    if kind == MEMORY and nodes > 1:
        return [_PAGES // 20, *[0] * (nodes - 2), _PAGES - _PAGES // 20]
    return [_PAGES // nodes + (node < _PAGES % nodes) for node in range(nodes)]


def numa_maps(pages: Sequence[int]) -> str:
    """Return /proc/PID/numa_maps of a process with some pages of 4 KiB on each node (proc(5))."""
    words = " ".join(f"N{node}={count}" for node, count in enumerate(pages) if count)
    total = sum(pages)
    return (f"555500000000 default file=/usr/bin/work\n7f0000000000 default anon={total} dirty={total} {words} "
            "kernelpagesize_kB=4\n7fff00000000 default stack")


_MOVED: Final = 2_000
"""Pages that balancing moves for a second of CPU time of a thread whose memory is on another node."""


def _sched(process: _Process, cpu: int, ran: float, node: int | None) -> str:
    """Return the lines of /proc/PID/task/TID/sched that tell of balancing (kernel/sched/debug.c)."""
    return (f"{process.name} ({process.pid + cpu}, #threads: 1)\n{'-' * 67}\n"
            f"{'se.sum_exec_runtime':45}:{1e3 * ran:21.6f}\n"
            f"{'numa_pages_migrated':45}:{int(0 if node is None else _MOVED * ran):21d}\n"
            f"{'numa_preferred_nid':45}:{-1 if node is None else node:21d}\n")


def _threads(process: _Process, ran: Callable[[float], Sequence[float]], moved: int | None) -> Mapping[str, Node]:
    """Make a directory for each thread, by the CPU that it began on, with the process's CPU time there.

    Args:
        moved: the node to which balancing moves it; None if it does not.
    """
    return {
        str(process.pid + cpu): folder({
            "comm": fixed(process.name),
            "stat": File(lambda now, cpu=cpu: _stat(replace(process, pid=process.pid + cpu), [ran(now)[cpu]], cpu,  # type: ignore[misc]
                                                    threads=len(ran(now)))),
            "status": fixed(_status(replace(process, pid=process.pid + cpu), len(ran(0.0)))),
            "schedstat": File(lambda now, cpu=cpu: f"{int(ran(now)[cpu] * 1e9)} 0 1\n"),  # type: ignore[misc]
            "sched": File(lambda now, cpu=cpu: _sched(process, cpu, ran(now)[cpu], moved)),  # type: ignore[misc]
        })
        for cpu in range(len(ran(0.0)))
    }


def _stat_now(process: _Process, ran: Callable[[float], Sequence[float]], kind: int, waits: TaskWaits,
              now: float) -> str:
    return _stat(replace(process, state=waits.state(kind)), ran(now), faults=waits.faults(kind, now),
                 delayed=waits.delays(kind, now))


def _status_now(process: _Process, kind: int, waits: TaskWaits, now: float) -> str:
    status = _status(replace(process, state=waits.state(kind)), len(waits.model.layout.places))
    return f"{status}\nvoluntary_ctxt_switches:\t{waits.sleeps(kind, now)}\n"


def _stat(process: _Process, ran: Sequence[float], cpu: int | None = None, faults: int = 0, delayed: float = 0.0,
          *, threads: int = 0) -> str:
    """Return the line of /proc/PID/stat, with one thread for each CPU, by default that of the longest run."""
    words = ["0"] * 50  # from the fourth of proc(5) on
    words[0] = str(process.parent)
    words[8], words[38] = str(faults), str(int(delayed * _TICKS))
    words[10] = str(int(sum(ran) * _TICKS))
    words[14], words[15] = str(20 + process.nice), str(process.nice)
    words[16] = str(threads or max(1, len(ran)))
    words[18], words[20] = str(_TICKS), str(_PAGES)
    words[35] = str(max(range(len(ran)), key=ran.__getitem__, default=0) if cpu is None else cpu)
    return f"{process.pid} ({process.name}) {process.state} {' '.join(words[:49])}\n"


def _files(process: _Process, cpus: int) -> Mapping[str, Node]:
    arguments = b"".join(word.encode() + b"\0" for word in process.arguments)
    return {"cmdline": File(lambda _now: arguments), "comm": fixed(process.name),
            "cgroup": fixed(f"0::{process.group}"),
            "status": fixed(_status(process, cpus))}


def _status(process: _Process, cpus: int) -> str:
    uids = "\t".join([str(process.uid)] * 4)
    return (f"Name:\t{process.name}\nState:\t{process.state}\nPid:\t{process.pid}\nPPid:\t{process.parent}\n"
            f"Uid:\t{uids}\nCpus_allowed_list:\t{format_cpulist(range(cpus))}")
