"""Readers of samples of threads: the kernel's counters on a real machine, the model on a simulated one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, runtime_checkable

from turbotui.errors import MachineError
from turbotui.machine.host import Elsewhere, Host, HostKind
from turbotui.machine.tasks.draining import Taken
from turbotui.machine.tasks.sets import TaskSampling
from turbotui.machine.tasks.tracer import Closing, TaskTracer
from turbotui.machine.tasks.waiting import Waiting


class SampleReader(Protocol):
    """Opened counters of threads that are sampled; `TaskTracer` documents each part."""

    @property
    def choice(self) -> TaskSampling:
        """How the threads are sampled."""

    @property
    def roots(self) -> Mapping[int, int]:
        """The thread whose counters took a sample, by the event id that the sample carries. Grows."""

    @property
    def followed(self) -> frozenset[int]:
        """Threads with sets of their own."""

    @property
    def damaged(self) -> int:
        """Records that could not be understood."""

    @property
    def pause(self) -> float:
        """Seconds that may pass before the next `take`."""

    def add_process(self, pid: int, *, on_exec: bool = False) -> int:
        """Follow the threads of a process; returns how many were new.

        Raises:
            MachineError: there is no such process, or it may not be watched.
        """

    def add_cpus(self, cgroup: str | None = None) -> None:
        """Watch all switches on the CPUs; with the folder of a cgroup only those of its threads.

        Raises:
            MachineError: not permitted, or there are not enough descriptors or memory.
        """

    def find_threads(self, pids: Iterable[int]) -> frozenset[int]:
        """Find threads that came since the last call, where counters are not inherited; returns ended processes."""

    def take(self) -> Iterator[list[Taken]]:
        """Records that came since the last time, in batches in the order of time; to be asked for all of them."""

    def rest(self) -> None:
        """Count nothing until `wake`; what was counted stays. From the start, if nothing was added yet."""

    def wake(self) -> None:
        """Go on counting."""

    def stop(self) -> None:
        """Stop counting; what was counted stays readable."""

    def final_readings(self) -> list[Closing]:
        """The last read of every set."""

    def close(self) -> None:
        """Give every descriptor back."""


@runtime_checkable
class TaskHost(Protocol):
    """A host that serves samples of its own tasks."""

    def follow_tasks(self, choice: TaskSampling) -> SampleReader:
        """A sample reader of its tasks."""


def open_sample_reader(
    host: Host, choice: TaskSampling, cpus: tuple[int, ...], waiting: Waiting, pages: int | None = None
) -> SampleReader:
    """Open a sample reader that traces nothing yet.

    Args:
        host: the machine.
        choice: what `sets.choose` found.
        cpus: online CPUs.
        waiting: ends its wait when there is something to take.
        pages: of each ring; None for the default.

    Raises:
        MachineError: the machine is a recorded one: its tasks are not there any more.
    """
    refuse_recorded(host)
    if isinstance(host, TaskHost):
        return host.follow_tasks(choice)
    return TaskTracer(host, choice, cpus, pages, waiting)


def refuse_recorded(host: Host) -> None:
    """Say so where a machine has files but no tasks.

    Raises:
        MachineError: it is a recorded one, or its readings are sent by another process.
    """
    if isinstance(host, Elsewhere):
        raise MachineError(f"{host.read_by}, which sends no tasks: run turbotui there")
    if host.kind is HostKind.RECORDED:
        raise MachineError(f"{host.name} is a recorded machine: its tasks ran elsewhere and cannot be sampled; "
                           "watch this machine (without --sysroot) or a simulated one (--machine NAME)")
