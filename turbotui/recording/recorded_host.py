"""The host of a recorded machine: its name, privileges, and the few files and registers that were kept."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from dataclasses import field

from turbotui.dataclass import dataclass
from turbotui.machine.host import HostError, HostKind, PerfAttr, Privileges


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """Answers of a recorded host."""

    texts: Mapping[str, str] = field(default_factory=dict)  # path -> content of a file
    folders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # path -> names in it
    # (path of a device, offset) -> the bytes that were read there
    words: Mapping[tuple[str, int], bytes] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)  # path, or description of the attempt -> errno


class RecordedHost:
    """A `machine.host.Host` of kept answers; a file that was not kept gives ENOENT.

    Args:
        was: the machine's kind when it was recorded, REAL or SIMULATED; a simulated machine says so in its name.
        privileges: of the process that recorded.
        now_ns, wall_ns: the clocks when it was recorded.
        kept: what was kept of its files.
        current: whether the recording is written now, so that the machine has its own kind and name; else its kind is
            RECORDED, and its name says that a machine was simulated.
    """

    pins = False  # there are no CPUs to visit

    def __init__(self, name: str, was: HostKind, privileges: Privileges, *, now_ns: int = 0, wall_ns: int = 0,
                 kept: KeptAnswers | None = None, current: bool = False) -> None:
        self.was = was
        self.kind = was if current else HostKind.RECORDED
        self.name = name if current or was is HostKind.REAL else f"{name} ({was.value})"
        self._privileges = privileges
        self._now_ns = now_ns
        self._wall_ns = wall_ns
        self._kept = kept or KeptAnswers()
        self._open: list[str] = []

    def read_text(self, path: str) -> str:
        if path in self._kept.texts:
            return self._kept.texts[path]
        raise self._refusal(path)

    def list_dir(self, path: str) -> tuple[str, ...]:
        if path in self._kept.folders:
            return self._kept.folders[path]
        raise self._refusal(path)

    def exists(self, path: str) -> bool:
        return path in self._kept.texts or path in self._kept.folders

    def open_file(self, path: str) -> int:
        if not any(name == path for name, _offset in self._kept.words):
            raise self._refusal(path)
        self._open.append(path)
        return len(self._open) - 1

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        if not 0 <= descriptor < len(self._open):
            raise HostError(errno.EBADF, "read")
        name = self._open[descriptor]
        if (data := self._kept.words.get((name, offset))) is None:
            raise self._refusal(f"{name} at {offset:#x}", errno.EIO)
        return data[:size]

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:  # noqa: ARG002 - none is opened
        """Refused: a recording counts nothing."""
        raise HostError(errno.ENODEV, f"perf_event_open on the recording of {self.name}, CPU {cpu}")

    def read_counter(self, descriptor: int, size: int) -> bytes:  # noqa: ARG002 - as above
        """Refused: a recording counts nothing."""
        raise HostError(errno.EBADF, f"counter {descriptor} of the recording of {self.name}")

    def close(self, descriptor: int) -> None:
        """Do nothing: a recording opens no descriptors."""

    def pin_this_thread(self, cpus: Sequence[int]) -> None:
        """Do nothing: there are no CPUs to pin to."""

    def usable_cpus(self, online: str | None = None) -> frozenset[int] | None:  # noqa: ARG002 - needs no list
        """Give None: nothing restricts a recorded machine."""
        return None

    def privileges(self) -> Privileges:
        """Privileges of the process that recorded."""
        return self._privileges

    def now_ns(self) -> int:
        """The monotonic clock when it was recorded."""
        return self._now_ns

    def wall_ns(self) -> int:
        """The wall clock when it was recorded."""
        return self._wall_ns

    def _refusal(self, what: str, usual: int = errno.ENOENT) -> HostError:
        return HostError(self._kept.refused.get(what, usual), f"{what} (of the recording)")
