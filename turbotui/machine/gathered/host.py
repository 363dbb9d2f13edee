"""A gathered machine as a recorded `Host`, which returns what was kept and nothing else."""

from __future__ import annotations

import errno
import itertools
import threading
import time
from collections.abc import Mapping, Sequence

from turbotui.dataclass import dataclass
from turbotui.machine.gathered.documents import read_gathered
from turbotui.machine.gathered.model import Answer, Gathered, OpenAttempt
from turbotui.machine.host import NOT_GATHERED, RECORDED_COUNTER, HostError, HostKind, PerfAttr, Privileges
from turbotui.untrusted import decoded, one_line

_MOST_DESCRIPTORS = 1 << 20


@dataclass(frozen=True, slots=True)
class _Reading:
    path: str


@dataclass(frozen=True, slots=True)
class _Counting:
    """A descriptor on a counter; for a leader with the events of its group so far."""

    events: list[PerfAttr]


class GatheredHost:
    """A gathered machine, with the files and registers of that time, and counters that do not count."""

    def __init__(self, machine: Gathered, name: str) -> None:
        self._machine = machine
        self._name = name
        self._children = _children(machine)
        self._open: dict[int, _Reading | _Counting] = {}
        self._numbers = itertools.count(3)
        self._lock = threading.Lock()

    @property
    def kind(self) -> HostKind:
        """Always RECORDED, whatever the machine's kind was."""
        return HostKind.RECORDED

    @property
    def name(self) -> str:
        """The file's name, with a word about its origin if that was no real machine."""
        origin = self._machine.origin
        return self._name if origin is HostKind.REAL else f"{self._name} ({origin.value})"

    @property
    def pins(self) -> bool:
        """False: there are no CPUs to visit."""
        return False

    def read_text(self, path: str) -> str:
        """Fails with the machine's error, and with ENODATA for paths that were not gathered."""
        if (data := self._machine.files.get(path)) is not None:
            return decoded(data)
        self._refuse(path)
        if path in self._children:
            raise HostError(errno.EISDIR, path)
        if (answer := self._machine.words.get(path, {}).get(0)) is None:
            raise HostError(self._missing(path), path)
        if isinstance(answer, int):
            raise HostError(answer, path)
        return decoded(answer)

    def list_dir(self, path: str) -> tuple[str, ...]:
        if (names := self._machine.folders.get(path)) is not None:
            return names
        self._refuse(path)
        if (children := self._children.get(path.rstrip("/") or "/")) is None:
            raise HostError(errno.ENOTDIR if path in self._machine.files else self._missing(path), path)
        return tuple(sorted(children))

    def exists(self, path: str) -> bool:
        machine = self._machine
        if path in machine.absent:
            return False
        if path in machine.files or path in machine.present or path in machine.errors or path in machine.words:
            return True
        folder, _, name = path.rstrip("/").rpartition("/")
        return path in self._children or name in self._children.get(folder or "/", ())

    def was_asked(self, path: str) -> bool:
        return self.exists(path) or self._missing(path) == errno.ENOENT

    def open_file(self, path: str) -> int:
        machine = self._machine
        if path not in machine.files and path not in machine.words:
            self._refuse(path)
            if path not in machine.present and path not in self._children:
                raise HostError(self._missing(path), path)
        return self._take(_Reading(path))

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        """Fails with the machine's error, and with ENODATA for a word that was not gathered."""
        opened = self._open.get(descriptor)
        if not isinstance(opened, _Reading):
            raise HostError(errno.EBADF, f"descriptor {descriptor}")
        what = f"{opened.path} at {offset:#x}"
        answer: Answer | None = self._machine.words.get(opened.path, {}).get(offset)
        if isinstance(answer, int):
            raise HostError(answer, what)
        if answer is not None:
            return answer[:size]
        if (content := self._machine.files.get(opened.path)) is None:
            raise HostError(errno.EISDIR if opened.path in self._children else NOT_GATHERED, what)
        return content[offset : offset + size]

    def perf_event_open(self, attr: PerfAttr, _pid: int, cpu: int, group: int) -> int:
        """An event that opened alone joins any group that was not tried.

        Fails with the machine's error, and with ENODATA for an event that was not tried there.
        """
        leader = self._open.get(group)
        if group != -1 and not isinstance(leader, _Counting):
            raise HostError(errno.EBADF, f"group descriptor {group}")
        beside = tuple(leader.events) if isinstance(leader, _Counting) else ()
        known = self._machine.counters
        if (answer := known.get(OpenAttempt(attr, beside, cpu))) is None:
            answer = known.get(OpenAttempt(attr, (), cpu), NOT_GATHERED)
        if answer:
            raise HostError(answer, f"perf_event_open(type={attr.type}, config={attr.config:#x})")
        if isinstance(leader, _Counting):
            leader.events.append(attr)
        return self._take(_Counting([attr]))

    def read_counter(self, descriptor: int, _size: int) -> bytes:
        """Always fail with ENODATA, because only a counter's increase means anything, and there is none."""
        if not isinstance(self._open.get(descriptor), _Counting):
            raise HostError(errno.EBADF, f"descriptor {descriptor}")
        raise HostError(NOT_GATHERED, RECORDED_COUNTER)

    def close(self, descriptor: int) -> None:
        if self._open.pop(descriptor, None) is None:
            raise HostError(errno.EBADF, f"descriptor {descriptor}")

    def pin_this_thread(self, cpus: Sequence[int]) -> None:
        """Always fail with ENOSYS."""
        raise HostError(errno.ENOSYS, f"sched_setaffinity to CPU {','.join(map(str, cpus))}")

    def usable_cpus(self, online: str | None = None) -> frozenset[int] | None:  # noqa: ARG002 - needs no list
        """The CPUs that the gathering process was allowed to use."""
        return self._machine.usable

    def privileges(self) -> Privileges:
        """Rights of the process that gathered the machine."""
        return self._machine.rights

    def now_ns(self) -> int:
        """Monotonic time of this machine."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)

    def wall_ns(self) -> int:
        """Wall-clock time of this machine."""
        return time.time_ns()

    def _missing(self, path: str) -> int:
        """Return the errno for a missing path: ENOENT if the machine or a directory's listing said so, else ENODATA."""
        folder, _, name = path.rstrip("/").rpartition("/")
        if path in self._machine.absent or folder in self._machine.absent:
            return errno.ENOENT
        names = self._machine.folders.get(folder or "/")
        return NOT_GATHERED if names is None or name in names else errno.ENOENT

    def _refuse(self, path: str) -> None:
        if (number := self._machine.errors.get(path)) is not None:
            raise HostError(number, path)

    def _take(self, what: _Reading | _Counting) -> int:
        with self._lock:
            if len(self._open) >= _MOST_DESCRIPTORS:
                raise HostError(errno.EMFILE, "a gathered machine")
            descriptor = next(self._numbers)
            self._open[descriptor] = what
        return descriptor


def gathered_host(path: str) -> GatheredHost:
    """Open the machine in a file of `turbotui gather`, named after the file.

    Raises:
        MachineError: the file cannot be read, or is no gathered machine.
    """
    machine, _ = read_gathered(path)
    return GatheredHost(machine, one_line(path.rpartition("/")[2].removesuffix(".tgz").removesuffix(".tar.gz")))


def _children(machine: Gathered) -> Mapping[str, frozenset[str] | set[str]]:
    """Return the names in each directory, listed or not, as far as the machine's paths tell."""
    children: dict[str, set[str]] = {path: set(names) for path, names in machine.folders.items()}
    for path in (*machine.files, *machine.folders, *machine.present, *machine.words):
        parent, _, name = path.rpartition("/")
        while name:
            if (siblings := children.get(parent or "/")) is not None and name in siblings:
                break
            children.setdefault(parent or "/", set()).add(name)
            parent, _, name = parent.rpartition("/")
    return children
