"""Command lines that a person may run for a task. Nothing here runs one; turbotui only shows and copies them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.tasks.columns import cpu_ranges
from turbotui.features.tasks.tables import TaskRow
from turbotui.machine.tasks.group_names import GroupName
from turbotui.widgets.command_lines import CommandLine, CommandRow, lines_for, quoted, unit_commands


@dataclass(frozen=True, slots=True)
class CommandTarget:
    """The thing that a command line acts on: a task, a process or a unit."""

    pid: int | None  # the process; None for a row of several
    tid: int | None  # the thread; None for a whole process
    kernel: bool  # whether it is a thread of the kernel
    cpus: tuple[int, ...]  # where it ran
    group: GroupName | None  # its container, pod, job or unit; None where nobody knows

    @property
    def number(self) -> int | None:
        """The thread's kernel id, or the process's where the target is a whole process."""
        return self.tid if self.tid is not None else self.pid


def _of_task(text: str, *, kernel: bool = True) -> Callable[[CommandTarget], str | None]:
    """A line with {n}, the thread or process, and {pid}; `kernel`: for threads of the kernel, too."""
    def line(target: CommandTarget) -> str | None:
        if target.pid is None or (target.kernel and not kernel):
            return None
        return text.format(n=target.number, pid=target.pid)

    return line


def _signal(name: str) -> Callable[[CommandTarget], str | None]:
    """A line that sends a signal to a process; none for init, which gets only those it asked for (kill(2))."""
    def line(target: CommandTarget) -> str | None:
        return None if target.pid in (None, 1) or target.kernel else f"kill -{name} {target.pid}"

    return line


def _affinity(target: CommandTarget) -> str | None:
    if target.pid is None or not target.cpus:
        return None
    every = "" if target.tid is not None and target.tid != target.pid else "a"
    return f"taskset -{every}cp {cpu_ranges(target.cpus)} {target.number}"


def _samples(target: CommandTarget) -> str | None:
    if target.pid is None:
        return None
    what = f"-t {target.tid}" if target.tid is not None else f"-p {target.pid}"
    return f"perf record -g {what} -- sleep 10"


def _of_container(kind: str, text: str) -> Callable[[CommandTarget], str | None]:
    def line(target: CommandTarget) -> str | None:
        group = target.group
        return None if group is None or group.kind != kind else text.format(id=group.container[:12])

    return line


def _of_job(target: CommandTarget) -> str | None:
    group = target.group
    name = None if group is None or group.kind != "slurm" else quoted(group.name)
    return None if name is None else f"scancel {name}"


_SHARE: Final = "Its share of the CPUs"
_PLACE: Final = "Where it runs"
_END: Final = "Hold it or end it"
_GROUP: Final = "Its container, job or unit"
_LOOK: Final = "Look at it"
_ACTS: Final[tuple[CommandRow[CommandTarget], ...]] = (
    CommandRow(_SHARE, _of_task("renice -n 10 -p {n}"),
               "Others go first: nice 10 gets a tenth of what nice 0 gets. To go back below 0 or to less takes root."),
    CommandRow(_SHARE, _of_task("chrt -i -p 0 {n}"), "It runs only where a CPU would be idle (SCHED_IDLE)."),
    CommandRow(_SHARE, _of_task("chrt -b -p 0 {n}"), "A batch job: it is not favoured when it wakes (SCHED_BATCH)."),
    CommandRow(_SHARE, _of_task("chrt -o -p 0 {n}"), "Back to the usual policy (SCHED_OTHER)."),
    CommandRow(_SHARE, _of_task("ionice -c 3 -p {n}", kernel=False),
               "Its requests to disks wait until nobody else has any; needs a scheduler of the disk that knows it "
               "(bfq)."),
    CommandRow(_PLACE, _affinity, "Keeps it on the CPUs where it ran in this interval; put in the list that you want."),
    CommandRow(_PLACE, _of_task("taskset -cp {n}"), "Prints on which CPUs it may run."),
    CommandRow(_END, _signal("TERM"), "Asks the process to end; it may tidy up first."),
    CommandRow(_END, _signal("STOP"), "Holds the process where it is."),
    CommandRow(_END, _signal("CONT"), "Lets a held process go on."),
    CommandRow(_END, _signal("KILL"), "Ends the process at once: it cannot save anything."),
    *unit_commands(lambda target: target.group, _GROUP, _GROUP),
    CommandRow(_GROUP, _of_container("docker", "docker update --cpus 0.5 {id}"), "Half a CPU for the container."),
    CommandRow(_GROUP, _of_container("docker", "docker inspect {id}"), "Prints what the container is."),
    CommandRow(_GROUP, _of_container("podman", "podman update --cpus 0.5 {id}"), "Half a CPU for the container."),
    CommandRow(_GROUP, _of_container("podman", "podman inspect {id}"), "Prints what the container is."),
    CommandRow(_GROUP, _of_container("cri-containerd", "crictl inspect {id}"),
               "Prints what the container and its pod are."),
    CommandRow(_GROUP, _of_container("crio", "crictl inspect {id}"), "Prints what the container and its pod are."),
    CommandRow(_GROUP, _of_job, "Ends the step of the job."),
    CommandRow(_LOOK, _samples, "Samples its call chains for ten seconds; perf report shows them."),
    CommandRow(_LOOK, _of_task("gdb -p {pid} -batch -ex 'thread apply all bt'", kernel=False),
               "Prints where each of its threads is; the process stands still meanwhile."),
    CommandRow(_LOOK, _of_task("cat /proc/{pid}/task/{n}/stack"), "Where it is in the kernel (root only)."),
    CommandRow(_LOOK, _of_task("strace -f -c -p {pid}", kernel=False),
               "Counts its system calls until ctrl+c; slows the process down much meanwhile."),
    CommandRow(_LOOK, _of_task("turbotui tasks --pid {pid} -i 1", kernel=False),
               "Its threads alone, a table a second."),
)


def command_lines(target: CommandTarget) -> tuple[CommandLine, ...]:
    """The command lines offered for a task or a unit."""
    return lines_for(_ACTS, target)


def target_of(row: TaskRow, group: GroupName | None, *, kernel: bool) -> CommandTarget:
    """The target that a table row stands for."""
    return CommandTarget(row.pid, row.tid, kernel, tuple(sorted(row.loads)) or row.cpus, row.group or group)
