"""The view of its machine that a process has: its mounts, and what they hide of /proc and /sys.

Documents: proc_pid_mountinfo(5); kernel Documentation/filesystems/proc.rst, "Configuring procfs"; systemd.exec(5).
The rights and namespaces of the process are in `Privileges`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostKind
from turbotui.machine.small_files import line_of, text_of
from turbotui.machine.uname import own_uname
from turbotui.quantities.plain_numbers import whole_number
from turbotui.quantities.unavailable import Reason, Unavailable

MOUNTS: Final = "/proc/self/mountinfo"
_ESCAPES: Final = {r"\040": " ", r"\011": "\t", r"\012": "\n", r"\134": "\\", r"\043": "#"}
"""The characters that paths of mountinfo have in octal (kernel fs/proc_namespace.c, show_mountinfo)."""
_NO_MOUNT: Final = -1  # the parent of the first mount, which is outside of what the process sees
_PROCESSES: Final = r"/proc/(?:\d+|self|thread-self)(?:/|\Z)"
_INACCESSIBLE: Final = "/systemd/inaccessible/"
"""Part of the roots of mounts by which systemd makes paths inaccessible (systemd.exec(5), InaccessiblePaths=)."""
_LXCFS: Final = "fuse.lxcfs"
_HIDING: Final = frozenset({"1", "2", "4", "noaccess", "invisible", "ptraceable"})
"""Values of the option hidepid with which a process sees little or nothing of other users' processes (proc.rst)."""
SHOW_FILE: Final = (
    "run turbotui on the machine itself, or let the container see it: --security-opt systempaths=unconfined (Docker), "
    "--security-opt unmask=ALL (Podman), procMount: Unmasked (Kubernetes), --privileged, or the path as a volume"
)
_SHOW_SERVICE: Final = "leave the path out of InaccessiblePaths= of the service, or run turbotui outside of it"
_SHOW_PROC: Final = "set ProcSubset=all for the service, or run turbotui outside of it"


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo."""

    # number, parent: its id, and the id of the mount in which it lies
    number: int
    parent: int
    root: str  # the part of the file system that is mounted: "/" for all of it
    point: str
    options: frozenset[str]  # of this mount
    kind: str  # the type of the file system: "cgroup2", "fuse.lxcfs"
    settings: tuple[str, ...] = ()  # the options of the file system: "hidepid=invisible"

    def setting(self, name: str) -> str:
        """The value of an option of the file system; "" without it."""
        return next((value for key, _, value in (word.partition("=") for word in self.settings) if key == name), "")


@dataclass(frozen=True, slots=True)
class Mask:
    """Something that hides a part of /proc or /sys from this process."""

    point: str  # the path from which on it hides everything; "" for all files of /proc that belong to no process
    detail: str  # what hides it, as a sentence
    remedy: str = SHOW_FILE  # what would show it


@dataclass(frozen=True, slots=True)
class View:
    """The mounts that a process sees, in the order of mountinfo; none if it cannot be read."""

    mounts: tuple[Mount, ...] = ()
    renumbered: bool = False  # whether the files number the CPUs otherwise than the kernel (`container_host`)
    # what hides parts of /proc and /sys, by the path from which on it does; almost always nothing
    masks: Mapping[str, Mask] = field(init=False, compare=False, repr=False)
    _inside: Mapping[tuple[int, str], Mount] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Index the mounts, and find the masks among them."""
        known = {mount.number for mount in self.mounts}
        inside = {(mount.parent if mount.parent in known else _NO_MOUNT, mount.point): mount for mount in self.mounts}
        object.__setattr__(self, "_inside", inside)
        object.__setattr__(self, "masks", {mask.point: mask for mask in self._found_masks()})

    def holding(self, path: str) -> Mount | None:
        """The mount in which a path lies: a later mount may hide earlier ones; None if unknown."""
        here: Mount | None = None
        folders = ("/", *(path[:end] for end, letter in enumerate(path) if letter == "/" and end), path)
        for _ in self.mounts:  # a path enters one mount after the other
            number = _NO_MOUNT if here is None else here.number
            inner = next((mount for folder in folders if (mount := self._inside.get((number, folder)))), None)
            if inner is None or inner is here:
                break
            here = inner
        return here

    def hidden(self, *paths: str) -> Unavailable | None:
        """Why a path cannot be seen although it may exist: what hides the first of several; None if nothing does."""
        mask = next((mask for path in paths if (mask := self.mask(path)) is not None), None)
        return None if mask is None else Unavailable(Reason.HIDDEN, mask.detail, mask.remedy)

    def mask(self, path: str) -> Mask | None:
        """The mask that hides a path of /proc or /sys from this process; None if none does."""
        if self.renumbered and is_of_cpu(path, self):
            return _RENUMBERED
        folder = path if self.masks else ""
        while folder:
            if folder in self.masks:
                return self.masks[folder]
            folder = folder.rpartition("/")[0]
        return self.masks.get("") if path.startswith("/proc/") and re.match(_PROCESSES, path) is None else None

    @property
    def own_devices(self) -> bool:
        """Whether /dev is a container's or service's own, in which a device of the machine may be missing."""
        mount = self.holding("/dev/cpu")
        return mount is not None and mount.point != "/" and mount.kind == "tmpfs"

    @property
    def is_lxc(self) -> bool:
        """Whether lxcfs shows a container's own CPUs and times in /proc."""
        return any(mount.kind == _LXCFS for mount in self.mounts)

    @property
    def hides_processes(self) -> bool:
        """Whether /proc shows users no, or next to nothing of, the processes of others (proc.rst, hidepid).

        It shows them to CAP_SYS_PTRACE, and to the group of its option gid.
        """
        proc = self.holding("/proc/self")
        return proc is not None and proc.setting("hidepid") in _HIDING

    def _found_masks(self) -> Iterator[Mask]:
        for mount in self.mounts:
            if mount.point.startswith(("/proc/", "/sys/")) and mount.point not in _ORDINARY:
                mask = _mask_of(mount)
                if mask is not None and self.holding(mount.point) is mount:
                    yield mask
        if (root := self.holding("/sys/devices")) is not None and root.point == "/":
            yield Mask("/sys", "nothing is mounted on /sys here", "mount -t sysfs sysfs /sys")
        elif root is not None and root.point == "/sys" and root.kind == "tmpfs":
            yield Mask("/sys", "the container hides /sys: a tmpfs is mounted over it")
        proc = self.holding("/proc/stat")
        if proc is not None and proc.kind == "proc" and proc.setting("subset") == "pid":
            yield Mask("", "/proc is mounted with subset=pid (ProcSubset=pid of a systemd service): it shows processes "
                           "and no file of the machine", _SHOW_PROC)


_ORDINARY: Final = frozenset({"/sys/fs/cgroup", "/sys/kernel/config", "/sys/kernel/debug", "/sys/kernel/tracing"})
"""Folders of /sys in which a machine itself mounts file systems."""


def _mask_of(mount: Mount) -> Mask | None:
    """The mask that a mount puts over files; None if it has none of the known forms."""
    if _INACCESSIBLE in mount.root:
        return Mask(mount.point, f"{mount.point} is inaccessible to this service", _SHOW_SERVICE)
    if mount.root == "/null" and mount.kind in ("devtmpfs", "tmpfs"):
        return Mask(mount.point, f"the container hides {mount.point}: /dev/null is mounted over it")
    if mount.kind == "tmpfs":
        return Mask(mount.point, f"the container hides {mount.point}: a tmpfs is mounted over it")
    return None


CPU_FILES: Final = ("/proc/interrupts", "/proc/softirqs", "/proc/schedstat")
"""Files whose rows or columns are the machine's CPUs, unless a container has its own mounted over them."""
_OF_CPU: Final = r"/sys/devices/system/(?:cpu/(?:cpu[0-9]+|cpufreq)|node)(?:/|\Z)|/dev/cpu/"
CONTAINER_NUMBERS: Final = "the CPUs have the numbers of this container's files"
CONTAINER_NOTE: Final = (
    f"{CONTAINER_NUMBERS}, not the machine's: what the kernel has by the machine's numbers (perf, registers, files of "
    "sysfs) cannot be shown, and nothing is pinned"
)
_RENUMBERED: Final = Mask(
    "", f"{CONTAINER_NUMBERS}, and here are those of the machine: which CPU is which is not told",
    "run turbotui on the machine itself")


def is_of_cpu(path: str, view: View | None) -> bool:
    """Tell whether a path holds something of single CPUs by the machine's numbers.

    Args:
        view: tells the files of a container from the machine's; None if that is known.
    """
    if path in CPU_FILES:
        mount = None if view is None else view.holding(path)
        return mount is None or mount.point != path
    return re.match(_OF_CPU, path) is not None


NOTHING_HIDDEN: Final = View()
_RELEASE: Final = "/proc/sys/kernel/osrelease"


def kernel_release(host: Host) -> str:
    """The release of the machine's kernel, by its file or else by uname(2); "" if unknown."""
    return line_of(host, _RELEASE) or (own_uname().release if host.kind is HostKind.REAL else "")


def architecture(host: Host) -> str:
    """The architecture of the machine's kernel as uname(2) tells it, "x86_64"; "" of another machine."""
    return own_uname().machine if host.kind is HostKind.REAL else ""


def read_view(host: Host, *, renumbered: bool = False) -> View:
    """Read the mounts that the process sees."""
    return _view_of(text_of(host, MOUNTS), renumbered)


@lru_cache(4)
def _view_of(mounts: str, renumbered: bool) -> View:
    """The view of this text, which a start reads three times and which rarely changes."""
    return View(tuple(_mounts(mounts)), renumbered)


def _mounts(text: str) -> Iterator[Mount]:
    """Parse lines "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue"."""
    for line in text.splitlines():
        place, separator, kind = line.partition(" - ")
        before, behind = place.split(" "), kind.split(" ")
        if not separator or len(before) < 6 or len(behind) < 3:
            continue
        number, parent = whole_number(before[0]), whole_number(before[1])
        if number is not None and parent is not None:
            yield Mount(number, parent, _unescaped(before[3]), _unescaped(before[4]), frozenset(before[5].split(",")),
                        behind[0], tuple(behind[2].split(",")))


def _unescaped(path: str) -> str:
    if "\\" not in path:
        return path
    return re.sub("|".join(map(re.escape, _ESCAPES)), lambda match: _ESCAPES[match[0]], path)
