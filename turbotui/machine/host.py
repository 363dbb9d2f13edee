"""The boundary between turbotui and a machine.

Everything that reads files, registers or counters, pins a thread or asks the time does so through a `Host`. Paths are
those of the machine ("/sys/devices/..."), never of a sysroot. Every failure is a `HostError` with the errno; a host
never gives a made-up value.
"""

from __future__ import annotations

import errno as errno_names
import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Final, Protocol, runtime_checkable

from turbotui.dataclass import dataclass


class HostKind(Enum):
    """The kind of a host, which tells whether its numbers were measured; the value is the word for people."""

    REAL = "REAL"
    SIMULATED = "SIMULATED"
    RECORDED = "RECORDED"

    @property
    def measured(self) -> str:
        """The claim that this kind excludes: "measured", or "measured now"."""
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
    config1 is its address and config2 its length. `sample_period` is a frequency in Hz if the flag `freq` is set.
    `sample_type` selects the fields of a sample. `target_flags` are passed to the call: PERF_FLAG_PID_CGROUP means that
    the target is a cgroup's directory and not a thread. `clockid` is the clock of records if the flag `use_clockid` is
    set.
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


NAMESPACES: Final[Mapping[str, int]] = {"cgroup": 0xEFFF_FFFB, "pid": 0xEFFF_FFFC, "user": 0xEFFF_FFFD}
"""Kinds of namespaces, and the inode number of the machine's first (kernel include/linux/proc_ns.h)."""
_USUAL_DESCRIPTORS: Final = 1024  # INR_OPEN_CUR, uapi linux/fs.h


@dataclass(frozen=True, slots=True)
class Privileges:
    """Rights of this process."""

    uid: int  # effective user id
    capabilities: int  # the effective set as a bit mask (/proc/self/status CapEff)
    perf_paranoid: int | None  # kernel.perf_event_paranoid; None if it cannot be read
    descriptors: tuple[int, int] | None  # (soft, hard) RLIMIT_NOFILE; None if a sandbox forbids to ask
    # the inode numbers of its namespaces by kind; without those that cannot be read
    namespaces: Mapping[str, int] = field(default_factory=dict, hash=False)
    outer_uid: int | None = None  # the user that user 0 of its user namespace is outside of it; None if unknown
    seccomp: bool = False  # whether a seccomp filter restricts its system calls
    no_new_privs: bool = False  # whether programs that it runs gain no rights (PR_SET_NO_NEW_PRIVS)
    renumbered: bool = False  # whether the files of its container number the CPUs otherwise than the kernel

    def has(self, capability: int) -> bool:
        """Tell whether a capability number (linux/capability.h) is effective on the machine.

        In a user namespace of its own a process has capabilities over that namespace only (user_namespaces(7)).
        """
        return bool(self.capabilities >> capability & 1) and not self.contained("user")

    def contained(self, kind: str) -> bool:
        """Tell whether the process is in another namespace than the machine's first; False if unknown."""
        return self.namespaces.get(kind, NAMESPACES[kind]) != NAMESPACES[kind]

    @property
    def most_descriptors(self) -> int:
        """The soft limit on descriptors; the kernel's usual one if it is unknown."""
        return _USUAL_DESCRIPTORS if self.descriptors is None else self.descriptors[0]


NOT_GATHERED = errno_names.ENODATA
"""The errno of a recorded machine for a file, register or counter without a record."""
RECORDED_COUNTER = "counter of a recorded machine"
"""The subject of the error of reading a counter that opened but does not count."""
PERF_PARANOID: Final = "/proc/sys/kernel/perf_event_paranoid"
CAP_SYS_RAWIO = 17
CAP_SYS_ADMIN = 21
CAP_PERFMON = 38


def msr_device(cpu: int) -> str:
    """The path of a CPU's MSR device (msr(4))."""
    return f"/dev/cpu/{cpu}/msr"


class Host(Protocol):
    """The interface to a machine; descriptors are small integers of the host's own numbering."""

    @property
    def kind(self) -> HostKind:
        """Whether its numbers were measured here, recorded elsewhere, or computed."""

    @property
    def name(self) -> str:
        """The visible name for titles: the host name, or the simulated machine's name."""

    def read_text(self, path: str) -> str:
        """Read a whole text file, made visible (`turbotui.untrusted`) except TABs and line breaks.

        Raises:
            HostError: ENOENT, EACCES, ENODEV, EIO ...
        """

    def list_dir(self, path: str) -> tuple[str, ...]:
        """Return the visible names in a directory, sorted; paths given to a host may consist of such names.

        Raises:
            HostError: ENOENT, ENOTDIR, EACCES ...
        """

    def exists(self, path: str) -> bool:
        """Tell whether a file or directory of that path exists."""

    def open_file(self, path: str) -> int:
        """Open a file read-only to be read again and again with `read_at`.

        A register is `read_at(descriptor, 8, address)` of a CPU's `msr_device`, little endian.

        Raises:
            HostError: as read_text, and EMFILE; for the MSR device ENOENT (no driver), EPERM (no CAP_SYS_RAWIO), ENXIO
                (CPU offline).
        """

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        """pread: up to `size` bytes at `offset` of an open file or MSR device.

        Raises:
            HostError: EIO for a register that does not exist, ENXIO or ENODEV for a CPU that went away.
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
        """Close a descriptor."""

    def pin_this_thread(self, cpus: Sequence[int]) -> None:
        """Bind the calling thread to these CPUs.

        Raises:
            HostError: EINVAL if none of them is usable (offline, or outside the cpuset).
        """

    @property
    def pins(self) -> bool:
        """Whether each CPU is read by a thread of its own, pinned to it, as on a real machine.

        A simulated one has no CPUs to pin to: one worker reads them all.
        """

    def usable_cpus(self, online: str | None = None) -> frozenset[int] | None:
        """Return the CPUs of this process's present cpuset and affinity; None if unrestricted or unknown.

        Args:
            online: the text of the list of online CPUs if the caller has just read it; None reads it.
        """

    def privileges(self) -> Privileges:
        """Return the rights of this process on the machine."""

    def now_ns(self) -> int:
        """Return monotonic time in ns, not slewed if the kernel offers that (CLOCK_MONOTONIC_RAW)."""

    def wall_ns(self) -> int:
        """Return wall-clock time in ns since the epoch."""


@runtime_checkable
class TimestampHost(Protocol):
    """A host whose CPUs this process runs on, so that it can execute instructions there."""

    def read_tsc(self) -> int:
        """Read the time-stamp counter of the calling thread's CPU.

        Raises:
            HostError: ENOSYS without such an instruction, EPERM or EACCES if it is not allowed.
        """


@runtime_checkable
class ChainHost(Host, Protocol):
    """A host whose CPUs execute chains of dependent instructions (`machine/code/chains.py`)."""

    def time_chains(self, cpu: int) -> tuple[int, Sequence[int], int]:
        """Time the chains on a CPU, which has to be the calling thread's on a real machine.

        Returns:
            The CPU before, the times in ns, the CPU after.

        Raises:
            HostError: ENOSYS where there are no chains, EACCES if the system refuses executable memory.
        """


@runtime_checkable
class SuspendableHost(Protocol):
    """A host whose machine may be suspended while it is watched."""

    def suspended_ns(self) -> int:
        """Return the ns for which the machine has been suspended since its start; `now_ns` pauses meanwhile."""


@runtime_checkable
class KnownPathsHost(Protocol):
    """A recorded host whose ENOENT is the machine's own answer."""

    def was_asked(self, path: str) -> bool:
        """Tell whether a path was gathered; any other path is refused with `NOT_GATHERED`."""


def is_bare_copy(host: Host) -> bool:
    """Tell whether a host is a mere copy of files, whose missing files may have existed."""
    return host.kind is HostKind.RECORDED and not isinstance(host, KnownPathsHost)


@runtime_checkable
class ForwardedHost(Protocol):
    """A host whose readings are sent by another process, so that nothing else of it can be read here."""

    read_by: str  # a sentence about the process that reads it
