"""The one boundary between turbotui and a machine.

Everything that reads files, registers or counters, pins a thread or asks the time does so through a `Host`. Paths are
those of the machine ("/sys/devices/..."), never of a sysroot. Every failure is a `HostError` with the errno; a host
never gives a made-up value.
"""

from __future__ import annotations

import errno as errno_names
import os
from collections.abc import Sequence
from enum import Enum
from typing import Protocol, runtime_checkable

from turbotui.dataclass import dataclass


class HostKind(Enum):
    """The kind of a host, which says what its numbers are worth. The value is the word shown to people."""

    REAL = "REAL"
    SIMULATED = "SIMULATED"
    RECORDED = "RECORDED"

    @property
    def measured(self) -> str:
        """The claim that this kind excludes: "measured" at all, or "measured now"."""
        return "measured now" if self is HostKind.RECORDED else "measured"


class HostError(OSError):
    """A refused or failed access: errno, what was attempted, and on what."""

    def __init__(self, number: int, what: str) -> None:
        super().__init__(number, os.strerror(number), what)
        self.what = what

    @property
    def name(self) -> str:
        """The errno's symbol, "EACCES"."""
        return errno_names.errorcode.get(self.errno or 0, str(self.errno))

    def __str__(self) -> str:
        return f"{self.what}: {os.strerror(self.errno or 0)} ({self.name})"


@dataclass(frozen=True, slots=True)
class PerfAttr:
    """The fields of perf_event_attr that counting needs (uapi linux/perf_event.h).

    `read_format` is always GROUP | TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING for what turbotui opens. For a breakpoint
    config1 is its address and config2 its length. `sample_period` is a frequency in Hz where the flag `freq` is set.
    `sample_type` says what a sample carries. `target_flags` go to the call itself: PERF_FLAG_PID_CGROUP says that the
    target is a cgroup's directory instead of a thread. `clockid` is what records carry as time where the flag
    `use_clockid` is set.
    """

    type: int
    config: int
    config1: int = 0
    config2: int = 0
    config3: int = 0
    flags: int = 0
    read_format: int = 0b1011  # GROUP | ENABLED | RUNNING
    config4: int = 0
    sample_period: int = 0
    bp_type: int = 0
    branch_sample_type: int = 0
    sample_max_stack: int = 0
    aux_sample_size: int = 0
    sample_type: int = 0
    target_flags: int = 0
    clockid: int = 0


@dataclass(frozen=True, slots=True)
class Privileges:
    """Rights of this process.

    Attributes:
        uid: effective user id.
        capabilities: the effective set as a bit mask (/proc/self/status CapEff).
        perf_paranoid: kernel.perf_event_paranoid, None where it cannot be read.
        descriptors: (soft, hard) RLIMIT_NOFILE.
    """

    uid: int
    capabilities: int
    perf_paranoid: int | None
    descriptors: tuple[int, int]

    def has(self, capability: int) -> bool:
        """Whether a capability number (linux/capability.h) is effective."""
        return bool(self.capabilities >> capability & 1)


NOT_GATHERED = errno_names.ENODATA
"""errno of a recorded machine for a file, register or counter of which it has no record."""
RECORDED_COUNTER = "counter of a recorded machine"
"""What the reading of a counter that opened and does not count is said to be of."""
CAP_SYS_RAWIO = 17
CAP_SYS_ADMIN = 21
CAP_PERFMON = 38


class Host(Protocol):
    """A machine, as far as it can be read. Descriptors are small integers of the host's own numbering."""

    @property
    def kind(self) -> HostKind:
        """Whether its numbers were measured here, recorded elsewhere, or computed."""

    @property
    def name(self) -> str:
        """A word for the title line, made visible: the host name, or the simulated machine's name."""

    def read_text(self, path: str) -> str:
        """The whole of a text file, made visible (`turbotui.untrusted`); TABs and line breaks stay.

        Raises:
            HostError: ENOENT, EACCES, ENODEV, EIO ...
        """

    def list_dir(self, path: str) -> tuple[str, ...]:
        """Names in a directory, sorted and made visible; every path that is given to a host may be made of such names.

        Raises:
            HostError: ENOENT, ENOTDIR, EACCES ...
        """

    def exists(self, path: str) -> bool:
        """Whether there is a file or directory of that name."""

    def open_file(self, path: str) -> int:
        """Open a file read-only to be read again and again with `read_at`.

        Raises:
            HostError: as read_text, and EMFILE.
        """

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        """pread: up to `size` bytes at `offset` of an open file or MSR device.

        Raises:
            HostError: EIO for a register that does not exist, ENXIO or ENODEV for a CPU that went away.
        """

    def open_msr(self, cpu: int) -> int:
        """Open the MSR device of one CPU read-only. A register is then `read_at(fd, 8, address)`, little endian.

        Raises:
            HostError: ENOENT (no driver), EACCES, EPERM, ENXIO (CPU offline).
        """

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        """Open one counter; `group` is the leader's descriptor or -1.

        Raises:
            HostError: as perf_event_open(2).
        """

    def read_counter(self, descriptor: int, size: int) -> bytes:
        """read(2) on a perf descriptor.

        Raises:
            HostError: ENODEV, ENOSPC, EIO.
        """

    def close(self, descriptor: int) -> None:
        """Give a descriptor back."""

    def pin_this_thread(self, cpus: Sequence[int]) -> None:
        """Bind the calling thread to these CPUs.

        Raises:
            HostError: EINVAL when none of them is usable (offline, or outside the cpuset).
        """

    @property
    def pins(self) -> bool:
        """Whether each CPU is read by a thread of its own, pinned to it, as on a real machine.

        A simulated one has no CPUs to pin to: one worker reads them all.
        """

    def usable_cpus(self) -> frozenset[int] | None:
        """CPUs of this process's cpuset and affinity as they are now, None if unrestricted or unknown."""

    def privileges(self) -> Privileges:
        """Rights of this process on the machine."""

    def now_ns(self) -> int:
        """Monotonic time in ns, not slewed where the kernel offers it (CLOCK_MONOTONIC_RAW)."""

    def wall_ns(self) -> int:
        """Wall-clock time in ns since the epoch."""


@runtime_checkable
class TimeStamped(Protocol):
    """A host whose CPUs this process runs on, so that it can execute instructions there."""

    def read_tsc(self) -> int:
        """The time-stamp counter of the CPU that the calling thread runs on.

        Raises:
            HostError: ENOSYS where there is no such instruction, EPERM or EACCES where it is not allowed.
        """


@runtime_checkable
class Suspends(Protocol):
    """A host whose machine may be suspended while it is watched."""

    def suspended_ns(self) -> int:
        """Time in ns for which the machine has been suspended since it was started; `now_ns` stands still meanwhile."""


@runtime_checkable
class KnowsAbsence(Protocol):
    """A recorded host on which ENOENT is what the machine answered."""

    def was_asked(self, path: str) -> bool:
        """Whether a path was asked for while the machine was there; any other is refused with `NOT_GATHERED`."""


def is_bare_copy(host: Host) -> bool:
    """Whether a host is a mere copy of files: what it has not may have been there, and was not copied."""
    return host.kind is HostKind.RECORDED and not isinstance(host, KnowsAbsence)


@runtime_checkable
class Elsewhere(Protocol):
    """A host whose readings are sent by another process, so that nothing else of it can be read or counted from here.

    Attributes:
        read_by: a sentence that says so.
    """

    read_by: str
