"""A host that keeps everything that is read of another host."""

from __future__ import annotations

import errno
import os
import re
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import TypeVar

from turbotui import __version__
from turbotui.dataclass import dataclass
from turbotui.machine.delegating_host import DelegatingHost
from turbotui.machine.gathered.model import Answer, Gathered, OpenAttempt
from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.untrusted import original

T = TypeVar("T")
_DEVICE = re.compile(r"/dev/")


@dataclass(frozen=True, slots=True)
class _OpenCounter:
    """A counter's leader, and the events of a leader's group so far."""

    leader: int
    events: list[PerfAttr]


class NotingHost(DelegatingHost):
    """A host that delegates to another one and keeps every reading, refused ones with their errno.

    Of several readings of one thing, the last successful one is kept. Any thread may read.

    Values of counters are not kept, because only their increase means anything, and neither is the TSC, which belongs
    to whatever CPU the calling thread is on.
    """

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._lock = threading.Lock()
        self._texts: dict[str, str] = {}
        self._folders: dict[str, tuple[str, ...]] = {}
        self._exists: dict[str, bool] = {}
        self._errors: dict[str, int] = {}
        self._words: defaultdict[str, dict[int, Answer]] = defaultdict(dict)
        self._paths: dict[int, str] = {}
        self._open_counters: dict[int, _OpenCounter] = {}
        self._counters: dict[OpenAttempt, int] = {}

    def gathered(self, time: str) -> Gathered:
        """Return all readings so far, stamped with the time (UTC, ISO 8601)."""
        with self._lock:
            files = {path: os.fsencode(original(text)) for path, text in self._texts.items()}
            words: dict[str, dict[int, Answer]] = {}
            for path, held in self._words.items():
                whole = None if _DEVICE.match(path) else _whole(held)
                if whole is None:
                    words[path] = dict(held)
                else:
                    files.setdefault(path, whole)
            read = files.keys() | self._folders.keys() | words.keys()
            there = {path for path, known in self._exists.items() if known}
            gone = {path for path, number in self._errors.items() if number == errno.ENOENT}
            gone |= {path for path, known in self._exists.items() if not known}
            return Gathered(
                origin=self._host.kind,
                time=time,
                version=__version__,
                rights=self._host.privileges(),
                usable=self._host.usable_cpus(),
                files=files,
                folders=dict(self._folders),
                present=frozenset(there - read),
                absent=frozenset(gone - read - there),
                errors={path: number for path, number in self._errors.items()
                        if number != errno.ENOENT and path not in read},
                words=words,
                counters=dict(self._counters),
            )

    def read_text(self, path: str) -> str:
        text = self._noted(path, lambda: self._host.read_text(path))
        with self._lock:
            self._texts[path] = text
        return text

    def list_dir(self, path: str) -> tuple[str, ...]:
        names = self._noted(path, lambda: self._host.list_dir(path))
        with self._lock:
            self._folders[path] = names
        return names

    def exists(self, path: str) -> bool:
        known = self._host.exists(path)
        with self._lock:
            self._exists[path] = known
        return known

    def open_file(self, path: str) -> int:
        return self._opened(path, lambda: self._host.open_file(path))

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        path = self._paths.get(descriptor, "")
        try:
            data = self._host.read_at(descriptor, size, offset)
        except HostError as error:
            with self._lock:
                self._words[path].setdefault(offset, error.errno or errno.EIO)
            raise
        with self._lock:
            if offset == 0 and len(data) < size and not _DEVICE.match(path):
                self._words[path] = {0: data}  # replace all earlier readings, whose rest would be old
            else:
                self._words[path][offset] = data
        return data

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        with self._lock:
            leader = self._open_counters.get(group)
            attempt = OpenAttempt(attr, () if leader is None else tuple(leader.events), cpu)
        try:
            descriptor = self._host.perf_event_open(attr, pid, cpu, group)
        except HostError as error:
            with self._lock:
                self._counters.setdefault(attempt, error.errno or errno.EIO)
            raise
        with self._lock:
            self._counters[attempt] = 0
            if leader is not None:
                leader.events.append(attr)
            self._open_counters[descriptor] = _OpenCounter(group, [attr])
        return descriptor

    def close(self, descriptor: int) -> None:
        with self._lock:  # before closing, because another thread may get the number at once
            self._paths.pop(descriptor, None)
            self._open_counters.pop(descriptor, None)
        self._host.close(descriptor)

    def _opened(self, path: str, opening: Callable[[], int]) -> int:
        descriptor = self._noted(path, opening)
        with self._lock:
            self._paths[descriptor] = path
            self._words[path]  # opened, whether or not it is read
        return descriptor

    def _noted(self, path: str, ask: Callable[[], T]) -> T:
        """The answer of the host; a refusal is kept with its errno."""
        try:
            return ask()
        except HostError as error:
            with self._lock:
                self._errors.setdefault(path, error.errno or errno.EIO)
            raise


def _whole(words: dict[int, Answer]) -> bytes | None:
    """Return a file's content if it was read from start to end; None for words from its middle."""
    content = b""
    for offset, data in sorted(words.items()):
        if isinstance(data, int) or offset != len(content):
            return None
        content += data
    return content if words else None
