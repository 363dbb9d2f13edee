"""A Linux machine under a sysroot: "/" is this machine, another directory a copied or served tree.

A copied tree has only files: its counters cannot be opened, and threads cannot be pinned to its CPUs. A tree that is
served for this machine (by a test bed that replaces some files) is opened with `live=True`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import resource
import stat
import time
from collections.abc import Sequence
from functools import cached_property

from turbotui.errors import MachineError
from turbotui.machine import perf_abi
from turbotui.machine.given_files import REFUSED, unsuitable
from turbotui.machine.host import NOT_GATHERED, PERF_PARANOID, HostError, HostKind, PerfAttr, Privileges
from turbotui.machine.perf_abi import DISABLE, ENABLE, control
from turbotui.machine.rights import own_rights, resource_limit
from turbotui.machine.suspend_clock import suspended_ns
from turbotui.machine.uname import own_uname
from turbotui.machine.usable_cpus import UsableCpus
from turbotui.quantities.plain_numbers import integer
from turbotui.untrusted import decoded, in_cell, one_line, original, visible

_CHUNK = 1 << 16
_LARGEST = 1 << 26  # most bytes of a text; /proc/interrupts of 4,096 CPUs has a quarter
_READ_OFTEN = frozenset({f"/proc/{name}" for name in (
    "interrupts", "loadavg", "meminfo", "pressure/cpu", "pressure/io", "pressure/irq", "pressure/memory", "schedstat",
    "softirqs", "stat", "vmstat")})
"""Files that stay open: to open and close one takes 30 to 60 us with cold caches, a third to a half of reading it.
Read from its beginning, each makes its text anew (kernel Documentation/filesystems/seq_file.rst, "The iterator")."""
_KERNELS = re.compile(r"/(?:proc|sys)/(?!.*(?:\.\.|/fd/|/root/|/cwd/|/map_files/))")
"""The kernel's own files, whose opening has no effect, except the links of proc(5) that lead elsewhere."""
_DEVICES = re.compile(r"/dev/(?:cpu/\d+/(?:msr|cpuid)|msr\d+|cpu_dma_latency)\Z", re.ASCII)
"""The devices that may be opened; opening others may have effects, or wait for ever."""

_DISABLED = 1  # first bit of the flag word of perf_event_attr (uapi linux/perf_event.h)
_SOFTWARE = 1  # PERF_TYPE_SOFTWARE
_CORE_TYPES = (0, 3, 4)  # PERF_TYPE_HARDWARE, HW_CACHE, RAW
_CLOCKS = (0, 1)  # PERF_COUNT_SW_CPU_CLOCK, TASK_CLOCK: PMUs of their own, unlike the other software events
LIMITS_AT_START = resource_limit(resource.RLIMIT_NOFILE)
"""RLIMIT_NOFILE of this process at its start, before `LinuxHost.raise_descriptors`; None if unknown."""


class LinuxHost:
    """A `Host` over real files, `/dev/cpu/N/msr`, perf_event_open(2) and thread affinity.

    Args:
        live: whether the tree is this machine's, so that counters and affinity mean the same CPUs. Always true of "/".

    Raises:
        MachineError: the sysroot is not a readable directory.
    """

    def __init__(self, sysroot: str = "/", live: bool = False) -> None:
        self._kept: dict[str, int] = {}  # open files of `_READ_OFTEN` that no thread is reading
        root = os.path.realpath(original(sysroot))
        try:
            os.scandir(root).close()
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise MachineError(
                f"The sysroot {sysroot!r} cannot be read: {reason}; give the directory that holds its proc and sys."
            ) from error
        self._prefix = "" if root == "/" else root
        self._live = live or root == "/"
        self._usable = UsableCpus()
        self._counting: dict[int, tuple[int, int]] = {}  # leaders that count from their opening on, with their PMU

    def __del__(self) -> None:
        while self._kept:
            os.close(self._kept.popitem()[1])

    @property
    def kind(self) -> HostKind:
        """REAL for this machine, RECORDED for a tree of files."""
        return HostKind.REAL if self._live else HostKind.RECORDED

    @property
    def name(self) -> str:
        """The host name; for a tree without one, the directory's name."""
        if self._live and not self._prefix:
            return one_line(decoded(os.fsencode(own_uname().nodename)))
        for path in ("/proc/sys/kernel/hostname", "/etc/hostname"):
            if self.exists(path) and (text := one_line(self.read_text(path))):
                return text
        return one_line(visible(os.path.basename(self._prefix)))

    @cached_property
    def pins(self) -> bool:
        """True for a live machine, whose CPUs are read by a thread each, unless a sandbox forbids to pin threads."""
        return self._live and _may_pin()

    def read_text(self, path: str) -> str:
        """Read a whole text file, made visible.

        Raises:
            HostError: as open(2) and read(2); EFBIG for a file that is too long.
        """
        descriptor = self._kept.pop(path, None)
        was_open = descriptor is not None
        if descriptor is None:
            descriptor = self.open_file(path)
        keeps = not self._prefix and path in _READ_OFTEN
        try:
            if was_open:
                os.lseek(descriptor, 0, os.SEEK_SET)
            parts = []
            left = _LARGEST
            while left >= 0 and (part := os.read(descriptor, _CHUNK)):
                parts.append(part)
                left -= len(part)
        except OSError as error:
            keeps = False
            raise HostError(error.errno or errno.EIO, path) from error
        finally:
            # another thread may have read it meanwhile, and kept its own
            if not keeps or self._kept.setdefault(path, descriptor) != descriptor:
                os.close(descriptor)
        if left < 0:
            raise HostError(errno.EFBIG, path)
        return decoded(b"".join(parts))

    def list_dir(self, path: str) -> tuple[str, ...]:
        """Names in a directory, sorted and made visible.

        Raises:
            HostError: ENOENT, ENOTDIR, EACCES.
        """
        try:
            names = os.listdir(self._path(path))
        except OSError as error:
            raise HostError(error.errno or errno.EIO, path) from error
        together = "".join(names)
        if not (together.isascii() and together.isprintable()):  # nearly never, and /proc is listed again and again
            names = [in_cell(visible(name)) for name in names]
        return tuple(sorted(names))

    def exists(self, path: str) -> bool:
        """Tell whether the path exists; a dangling link does not."""
        return os.path.exists(self._path(path))

    def open_file(self, path: str) -> int:
        """Open a file or directory read-only, closed on exec: no register can be written through an MSR device.

        The user may name any path, and recorded trees may hold anything, so files whose opening could wait are refused.

        Raises:
            HostError: as open(2); ENOTSUP for a FIFO, a socket, and any device that is not a processor's.
        """
        full = self._path(path)
        try:
            if self._prefix or not _KERNELS.match(path):
                self._refuse(os.stat(full), path)  # checked before opening, because opening a device may do something
            # O_NONBLOCK: a FIFO would wait for a writer; O_NOCTTY: a terminal would become this process's
            descriptor = os.open(full, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        except HostError:
            raise
        except (OSError, ValueError) as error:  # ValueError: the name has a NUL
            number = error.errno if isinstance(error, OSError) else errno.EINVAL
            raise HostError(number or errno.EIO, path) from error
        try:
            self._refuse(os.fstat(descriptor), path)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    @staticmethod
    def _refuse(status: os.stat_result, path: str) -> None:
        mode = status.st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or (stat.S_ISCHR(mode) and _DEVICES.match(path)):
            return
        raise HostError(REFUSED, f"{path} ({unsuitable(mode)})")

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        """Read up to `size` bytes at `offset`."""
        try:
            return os.pread(descriptor, size, offset)
        except OSError as error:
            raise HostError(error.errno or errno.EIO, f"pread of {size} bytes at {offset:#x}") from error

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        """Open one counter.

        Raises:
            HostError: as perf_event_open(2); ENODATA for a tree of files.
        """
        if not self._live:
            raise HostError(NOT_GATHERED, "perf_event_open on a tree of files")
        descriptor = perf_abi.perf_event_open(attr, pid, cpu, group)
        if group < 0 and not attr.flags & _DISABLED:
            self._counting[descriptor] = _pmu_of(attr)
        elif self._counting.get(group, _pmu_of(attr)) != _pmu_of(attr):
            # A counter of another PMU than its leader's that joins a counting group is left at 0 by kernels that
            # schedule by PMU [seen on Linux 6.18], and reported as running; off and on again schedules the whole group.
            try:
                control(group, DISABLE, 0, "stopping a group of counters")
                control(group, ENABLE, 0, "starting a group of counters")
            except HostError:
                os.close(descriptor)
                raise
        return descriptor

    def read_counter(self, descriptor: int, size: int) -> bytes:
        """Call read(2) on a counter; empty if a pinned counter could not be scheduled.

        Raises:
            HostError: ENODEV; ENOSPC if `size` is too small for the group.
        """
        try:
            return os.read(descriptor, size)
        except OSError as error:
            raise HostError(error.errno or errno.EIO, "read of a perf counter") from error

    def close(self, descriptor: int) -> None:
        """Close a descriptor of `open_file` or `perf_event_open`.

        Raises:
            HostError: EBADF, an error of the caller.
        """
        self._counting.pop(descriptor, None)
        try:
            os.close(descriptor)
        except OSError as error:
            raise HostError(error.errno or errno.EIO, f"close of descriptor {descriptor}") from error

    def pin_this_thread(self, cpus: Sequence[int]) -> None:
        """Bind the calling thread to these CPUs.

        Raises:
            HostError: EINVAL if none is online and inside the cpuset; ENOSYS for a tree of files.
        """
        what = f"sched_setaffinity to CPU {','.join(map(str, cpus))}"
        if not self._live:
            raise HostError(errno.ENOSYS, what)
        try:
            os.sched_setaffinity(0, cpus)
        except OSError as error:
            raise HostError(error.errno or errno.EINVAL, what) from error
        except (ValueError, OverflowError) as error:  # below 0, or too large for a C int
            raise HostError(errno.EINVAL, what) from error

    def read_tsc(self) -> int:
        """Fails with ENOSYS for a tree of files."""
        if not self._live:
            raise HostError(errno.ENOSYS, "rdtsc")
        from turbotui.machine.code.timestamp import read_timestamp  # noqa: PLC0415 - where nothing else reads it

        return read_timestamp()

    def time_chains(self, cpu: int) -> tuple[int, Sequence[int], int]:  # noqa: ARG002 - the thread is pinned to it
        """Fails with ENOSYS for a tree of files."""
        if not self._live:
            raise HostError(errno.ENOSYS, "chains of instructions")
        from turbotui.machine.code.chains import time_chains  # noqa: PLC0415 - where nothing else times them

        return time_chains()

    def usable_cpus(self, online: str | None = None) -> frozenset[int] | None:
        """Return the CPUs that this process may run on now, by affinity and cpuset, which may both change.

        None if neither restricts the online CPUs, so that CPUs that come online later are included.
        """
        return self._usable.now(online) if self._live else None

    def raise_descriptors(self) -> None:
        """Raise the soft RLIMIT_NOFILE to the hard one, which needs no privilege; a refusal is ignored."""
        soft, hard = resource_limit(resource.RLIMIT_NOFILE) or (0, 0)
        if soft != hard:
            with contextlib.suppress(ValueError, OSError):  # a policy forbids it; the plan then drops columns
                resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def privileges(self) -> Privileges:
        """Return the rights of this process; for a tree of files the recorded sysctl, and no capability."""
        try:
            paranoid = integer(self.read_text(PERF_PARANOID))
        except (HostError, ValueError):
            paranoid = None
        if self._live:
            return own_rights(paranoid)
        return Privileges(os.geteuid(), 0, paranoid, resource_limit(resource.RLIMIT_NOFILE))

    def now_ns(self) -> int:
        """Return CLOCK_MONOTONIC_RAW in ns, which NTP does not slew, so that rates agree with the TSC's."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)

    def suspended_ns(self) -> int:
        return suspended_ns()

    def wall_ns(self) -> int:
        """Return CLOCK_REALTIME in ns since the epoch."""
        return time.time_ns()

    def _path(self, path: str) -> str:
        """Return the real path of a path of the machine, undoing the marks of `list_dir`."""
        return self._prefix + original(path)


def _may_pin() -> bool:
    """Tell whether sched_setaffinity(2) may be called, by a call that changes nothing: no CPU is EINVAL."""
    try:
        os.sched_setaffinity(0, ())
    except OSError as error:
        return error.errno == errno.EINVAL
    return True


def _pmu_of(attr: PerfAttr) -> tuple[int, int]:
    """Return a key of an event's PMU, which generic events of hybrid machines have in their upper half."""
    if attr.type in _CORE_TYPES:
        return 0, attr.config >> 32 if attr.type != _CORE_TYPES[-1] else 0
    if attr.type == _SOFTWARE:
        return _SOFTWARE, attr.config if attr.config in _CLOCKS else -1
    return attr.type, 0
