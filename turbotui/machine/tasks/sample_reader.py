"""Readers of samples of threads: the kernel's counters on a real machine, the model on a simulated one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, Self, runtime_checkable

from turbotui.errors import MachineError
from turbotui.machine.host import ForwardedHost, Host, HostKind
from turbotui.machine.tasks.draining import RingRecords
from turbotui.machine.tasks.proc_reader import ProcReader
from turbotui.machine.tasks.sets import Mode, TaskSampling
from turbotui.machine.tasks.tracer import Closing, TaskTracer
from turbotui.machine.tasks.wait_set import WaitSet


class SampleReader(Protocol):
    """The interface to opened sampling counters of threads; `TaskTracer` documents each method."""

    @property
    def choice(self) -> TaskSampling:
        """The sampling of the threads."""

    @property
    def roots(self) -> Mapping[int, int]:
        """The thread of each event id in samples; the mapping grows."""

    @property
    def followed(self) -> frozenset[int]:
        """Threads with sets of their own."""

    @property
    def damaged(self) -> int:
        """The number of records that could not be parsed."""

    @property
    def merged(self) -> int:
        """The number of slices that were merged with others because there were too many to read each."""

    def want_slices(self, wanted: bool) -> None:
        """Say whether each slice is wanted."""

    @property
    def pause(self) -> float:
        """Seconds that may pass before the next `take`."""

    def add_process(self, pid: int, *, on_exec: bool = False) -> int:
        """Add the threads of a process, and return how many were new.

        Raises:
            MachineError: there is no such process, or it may not be watched.
        """

    def add_cpus(self, cgroup: str | None = None) -> None:
        """Watch all switches on the CPUs; with the folder of a cgroup only those of its threads.

        Raises:
            MachineError: this is not permitted, or descriptors or memory do not suffice.
        """

    @property
    def counted_ns(self) -> int:
        """For how long the CPUs have been counted, by the host's clock, while the reader does not rest."""

    def find_threads(self, pids: Iterable[int]) -> frozenset[int]:
        """Find new threads if counters are not inherited, and return ended processes."""

    def take(self) -> Iterator[list[RingRecords]]:
        """Yield the records since the last call, in batches in order of time; the caller must consume all."""

    def rest(self) -> None:
        """Count nothing until `take_over`, keeping the counts; before anything was added."""

    def take_over(self, before: Self) -> None:
        """Count from now on in place of another reader of the same host, which rests."""

    def stop(self) -> None:
        """Stop counting; the counts stay readable."""

    def final_readings(self) -> list[Closing]:
        """Return the last reading of every set."""

    def close(self) -> None:
        """Close every descriptor."""


@runtime_checkable
class TaskHost(Protocol):
    """A host that provides samples of its own tasks."""

    def follow_tasks(self, choice: TaskSampling) -> SampleReader:
        """Return a sample reader of the host's tasks."""


def open_sample_reader(host: Host, choice: TaskSampling, cpus: tuple[int, ...], waiting: WaitSet,
                       pages: int | None = None) -> SampleReader:
    """Open a sample reader that traces nothing yet.

    Args:
        choice: the result of `sets.choose`.
        waiting: a wait that ends when there are records.
        pages: of each ring; None for the default.

    Raises:
        MachineError: the machine is recorded, and its tasks are gone.
    """
    refuse_recorded(host)
    if isinstance(host, TaskHost):
        return host.follow_tasks(choice)
    if choice.mode is Mode.PROC:
        return ProcReader(host, choice)
    return TaskTracer(host, choice, cpus, pages, waiting)


def refuse_recorded(host: Host) -> None:
    """Refuse a machine without tasks of its own.

    Raises:
        MachineError: the machine is recorded, or its readings are sent by another process.
    """
    if isinstance(host, ForwardedHost):
        raise MachineError(f"{host.read_by}, which sends no tasks: turbotui tasks --host, or run there, has them")
    if host.kind is HostKind.RECORDED:
        raise MachineError(f"{host.name} is a recorded machine: its tasks ran elsewhere and cannot be sampled; "
                           "watch this machine (without --sysroot) or a simulated one (--machine NAME)")
