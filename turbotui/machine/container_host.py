"""A container whose files number its CPUs anew, while the kernel goes on with the numbers of the machine.

lxcfs shows an LXC container its own CPUs from 0 on in /proc/stat, /proc/cpuinfo and, from version 5 on, in
/sys/devices/system/cpu/online. System calls, perf, registers and every other file have the machine's numbers, and
nothing tells which CPU is which. The numbers of the files then name the CPUs, and nothing else stands beside them.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.delegating_host import DelegatingHost
from turbotui.machine.host import Host, HostError, PerfAttr, Privileges
from turbotui.machine.small_files import cpus_in, text_of
from turbotui.machine.view import CONTAINER_NUMBERS, CPU_FILES, is_of_cpu, read_view
from turbotui.quantities.plain_numbers import numbers_among

_STAT: Final = "/proc/stat"
_CPUS: Final = "/sys/devices/system/cpu"
_LISTS: Final = frozenset({f"{_CPUS}/online", f"{_CPUS}/present", f"{_CPUS}/possible"})
_ROW: Final = r"(?m)^cpu([0-9]{1,9}) "


def in_container(host: Host) -> Host:
    """Return the host, or the container in it if the CPUs of its files are numbered anew."""
    if _is_renumbered(host) and _is_renumbered(host):  # twice: a CPU may have come online between two files
        return ContainerHost(host)
    return host


def _is_renumbered(host: Host) -> bool:
    """Tell whether the CPUs that this process may use are not those that /proc/stat has."""
    usable = host.usable_cpus()
    mount = read_view(host).holding(_STAT) if usable is None else None
    if usable is None and (mount is None or mount.point != _STAT):
        return False  # the file is the kernel's own, and long on a machine of many CPUs
    # lxcfs numbers CPUs from 0 without gaps; the kernel itself shows all online CPUs, of which every affinity and
    # cpuset is a part
    listed = _listed_cpus(host)
    if listed != frozenset(range(len(listed))) or not listed:
        return False
    return (usable is not None and not usable <= listed) or not cpus_in(host, f"{_CPUS}/online") <= listed


def _listed_cpus(host: Host) -> frozenset[int]:
    """Return the CPUs with a row in /proc/stat."""
    return frozenset(numbers_among(re.findall(_ROW, text_of(host, _STAT))))


class ContainerHost(DelegatingHost):
    """A host whose CPUs are those of /proc/stat, and which has nothing that is found by a number of the machine.

    Refusals are EPERM, and name the reason.
    """

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._foreign = frozenset(path for path in CPU_FILES if is_of_cpu(path, read_view(host)))

    @property
    def pins(self) -> bool:
        """False: the numbers of the affinity are the machine's."""
        return False

    def read_text(self, path: str) -> str:
        """The lists of CPUs are those of /proc/stat; may also fail with EPERM."""
        if path in _LISTS:
            return f"{format_cpulist(_listed_cpus(self._host))}\n"
        self._refuse(path)
        return self._host.read_text(path)

    def list_dir(self, path: str) -> tuple[str, ...]:
        """No CPU has a directory; may also fail with EPERM."""
        self._refuse(path)
        names = self._host.list_dir(path)
        return tuple(name for name in names if not re.fullmatch("cpu[0-9]+", name)) if path == _CPUS else names

    def exists(self, path: str) -> bool:
        return not self._is_foreign(path) and self._host.exists(path)

    def open_file(self, path: str) -> int:
        """May also fail with EPERM."""
        self._refuse(path)
        return self._host.open_file(path)

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        """A counter of one CPU fails with EPERM."""
        if cpu >= 0:
            raise _refusal(f"perf_event_open on CPU {cpu}")
        return self._host.perf_event_open(attr, pid, cpu, group)

    def pin_this_thread(self, cpus: Sequence[int]) -> None:
        """Always fail with EPERM, because the numbers are other CPUs'."""
        raise _refusal(f"sched_setaffinity to CPU {format_cpulist(cpus)}")

    def usable_cpus(self, online: str | None = None) -> frozenset[int] | None:  # noqa: ARG002 - needs no list
        """None, because the container's files name the CPUs that it may use."""
        return None

    def privileges(self) -> Privileges:
        return replace(self._host.privileges(), renumbered=True)

    def _is_foreign(self, path: str) -> bool:
        return path in self._foreign or (path not in CPU_FILES and is_of_cpu(path, None))

    def _refuse(self, path: str) -> None:
        if self._is_foreign(path):
            raise _refusal(path)


def _refusal(what: str) -> HostError:
    return HostError(errno.EPERM, f"{what} ({CONTAINER_NUMBERS})")
