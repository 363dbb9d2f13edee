"""The CPUs that this process may run on now: by its affinity, and by the cpuset of its cgroup."""

from __future__ import annotations

import os
import posixpath
import time
from collections.abc import Callable

from turbotui.dataclass import dataclass
from turbotui.machine.cpulist import parse_cpulist
from turbotui.untrusted import decoded, original

_CHUNK = 1 << 16
_ONLINE = "/sys/devices/system/cpu/online"
_CPUSET_SECONDS = 5.0  # seconds between two readings of the cgroup's files while neither CPUs nor affinity change
_CGROUP_ROOTS = (
    # (controller in /proc/self/cgroup, mount point, file): v2 has an empty controller list (cgroups(7)).
    ("", "/sys/fs/cgroup", "cpuset.cpus.effective"),
    ("", "/sys/fs/cgroup/unified", "cpuset.cpus.effective"),
    ("cpuset", "/sys/fs/cgroup/cpuset", "cpuset.effective_cpus"),
)


@dataclass(frozen=True, slots=True)
class _UsableCpus:
    """A cached answer, and the state for which it is valid."""

    online: str  # the text of the online CPUs
    affinity: frozenset[int] | None  # the first thread's affinity; None if it may not be read
    until: float  # the monotonic time in s after which the cgroup's files are read again
    cpus: frozenset[int] | None  # the CPUs; None if nothing restricts the process


class UsableCpus:
    """The CPUs that this process may run on, read periodically.

    Args:
        read: returns a file's text; "" if it cannot be read.
    """

    def __init__(self, read: Callable[[str], str] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read or read_or_empty
        self._clock = clock
        self._kept: _UsableCpus | None = None

    def now(self, online: str | None = None) -> frozenset[int] | None:
        """Return the CPUs that this process may use; None if neither affinity nor cpuset excludes an online one.

        Args:
            online: the text of the list of online CPUs if it was just read; None reads it.
        """
        online, affinity, now = self._read(_ONLINE) if online is None else online, _affinity(), self._clock()
        usable = self._kept
        # the kernel narrows and widens the affinity of every task with its cpuset (cpuset(7), "Warnings"): the cgroup's
        # files are read when affinity or online CPUs have changed, and every few seconds
        if usable is None or (usable.online, usable.affinity) != (online, affinity) or now >= usable.until:
            there = _cpus_or_none(online) or frozenset()
            cpuset = effective_cpuset(self._read("/proc/self/cgroup"), self._read)
            sets = [cpus for cpus in (affinity, cpuset) if cpus is not None and not cpus >= there]
            cpus = frozenset.intersection(*sets) if sets else None
            usable = self._kept = _UsableCpus(online, affinity, now + _CPUSET_SECONDS, cpus)
        return usable.cpus


def _affinity() -> frozenset[int] | None:
    """The affinity of the process's first thread: what taskset, a batch system or a cpuset gave and may change.

    No thread of ours is told apart from it: those that are pinned to a CPU to read there are never the first one.
    """
    try:
        return frozenset(os.sched_getaffinity(os.getpid()))  # a process's number is that of its first thread
    except OSError:  # a sandbox may forbid the call; then only sysfs and the cpuset decide
        return None


def effective_cpuset(memberships: str, read: Callable[[str], str]) -> frozenset[int] | None:
    """Return the CPUs of the nearest cgroup with a cpuset, from this process's upwards; None if there is none.

    Args:
        memberships: the text of /proc/self/cgroup, "hierarchy:controllers:path" lines (cgroups(7)).
    """
    for line in memberships.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller, mount, file in _CGROUP_ROOTS:
            if controller not in controllers.split(","):
                continue
            # A namespace's view may start with "/..", which ends at the root. Two leading slashes would stay two.
            here = posixpath.normpath("/" + path.lstrip("/"))
            while True:
                text = read(f"{mount}{here.rstrip('/')}/{file}")
                if text.strip():
                    return _cpus_or_none(text)
                if here == "/":
                    break
                here = posixpath.dirname(here)
    return None


def _cpus_or_none(text: str) -> frozenset[int] | None:
    try:
        return parse_cpulist(text) or None
    except ValueError:
        return None


def read_or_empty(path: str) -> str:
    """Read a file of this machine; "" if it cannot be read, which means the same as an empty file here."""
    try:
        # not open(), which makes five more system calls and costs twice as much
        descriptor = os.open(original(path), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return decoded(b"".join(iter(lambda: os.read(descriptor, _CHUNK), b"")))
    except OSError:
        return ""
    finally:
        os.close(descriptor)
