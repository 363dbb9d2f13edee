"""The time-stamp counter by the instruction itself, executed by the thread that is pinned to the CPU.

turbostat reads it so. perf and the msr device come first: they read it at one moment with the counters beside it.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence

from turbotui.machine.host import HostError, HostKind, TimestampHost
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import of_container
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import NothingToClose, PerCpuSource
from turbotui.sources.source import Probe, Reader

_TSC: SignalId = "tsc"
_FLAG = "tsc"  # CPUID 1 EDX[4]
_SIGNAL = Signal(
    _TSC, Scope.CPU, Unit.CYCLE, Behavior.COUNTER, Reduce.MEAN,
    origin="instruction rdtsc on CPU {cpu}", document="Intel SDM vol. 2, RDTSC; AMD APM vol. 3, RDTSC",
)


class _TimestampReader(NothingToClose):
    """Executes the instruction at every read."""

    signals: tuple[SignalId, ...] = (_TSC,)

    def __init__(self, host: TimestampHost) -> None:
        self._read = host.read_tsc

    def read(self) -> Sequence[Raw]:
        try:
            return (self._read(),)
        except HostError:
            return (None,)


class Timestamp(PerCpuSource):
    """The `Source` of the instruction rdtsc."""

    id = "rdtsc"

    def probe(self, machine: Machine) -> Probe:
        """Execute RDTSC once."""
        return Probe({_TSC: _probed(machine)})

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:  # noqa: ARG002 - the contract's
        """Make a reader for the worker's thread, which is pinned to the CPU."""
        if not isinstance(machine.host, TimestampHost):
            raise HostError(errno.ENOSYS, "rdtsc")
        return _TimestampReader(machine.host)


def unpinned(machine: Machine, what: str) -> Unavailable:
    """Why no thread can execute instructions on a CPU that it names."""
    if machine.privileges.renumbered:
        return of_container(what)
    return Unavailable(
        Reason.NOT_PERMITTED, f"{what}: sched_setaffinity is refused, so that no thread can choose its CPU",
        "allow sched_setaffinity in the service's SystemCallFilter= (@resources) or in the container's seccomp profile")


def refused(error: HostError) -> Unavailable:
    """Why this process cannot execute instructions, by the error of the attempt."""
    return Unavailable(Reason.NO_HARDWARE if error.errno == errno.ENOSYS else Reason.NOT_PERMITTED, str(error))


def _probed(machine: Machine) -> Signal | Unavailable:
    host = machine.host
    if not machine.model.x86 or _FLAG not in machine.model.flags:
        return Unavailable(Reason.NO_HARDWARE, "rdtsc: this processor has no such instruction")
    if host.kind is HostKind.RECORDED:
        return Unavailable(Reason.RECORDED, "rdtsc: nothing can be executed on a copy of a machine's files")
    if isinstance(host, TimestampHost) and not host.pins and host.kind is HostKind.REAL:
        return unpinned(machine, "rdtsc")
    if not isinstance(host, TimestampHost) or not host.pins:
        return Unavailable(Reason.NO_HARDWARE, "rdtsc: nothing is executed on a machine elsewhere")
    try:
        host.read_tsc()
    except HostError as error:
        return refused(error)
    return _SIGNAL
