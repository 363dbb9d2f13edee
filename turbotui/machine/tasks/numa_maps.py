"""Memory of processes by NUMA node: /proc/PID/numa_maps (proc(5), numa(7); kernel Documentation/filesystems/proc.rst).

A read walks the page tables of the whole process: 0.5 ms for 14 MiB, 37 ms for 1 GiB in small pages. So it is read only
for those who ask, at most every ten seconds for a process, and for 1 % of the time at most.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Mapping
from functools import cached_property
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.reading import closing
from turbotui.machine.small_files import bytes_of, names_in
from turbotui.machine.tasks.process_stats import process_stat
from turbotui.machine.topology import Topology
from turbotui.quantities.plain_numbers import integer_or_none
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.threads import NamedThread

FRESH_NS: Final = 10_000_000_000
"""The least time from one read of a process's file to the next."""
_REST: Final = 99  # times that what a read took, nothing is read after it
_LARGEST: Final = 1 << 20  # bytes of a file: some 10,000 mappings
_CHUNK: Final = 1 << 16
_STAT: Final = 2048  # bytes of a stat file
_WAITING: Final = 8  # processes that wait to be read
_KEPT: Final = 1_024  # processes whose memory is kept
MOST_NODES: Final = 1_024  # MAX_NUMNODES, include/linux/numa.h with the largest CONFIG_NODES_SHIFT
_MOST_BYTES: Final = 1 << 57  # five levels of page tables

ONE_NODE: Final = Unavailable(Reason.NO_HARDWARE, "one NUMA node: none of its memory is elsewhere")
GONE: Final = Unavailable(Reason.NOT_READ, "the process had ended before its numa_maps was read")
NO_FILE: Final = Unavailable(Reason.NO_DRIVER, "the kernel has no /proc/PID/numa_maps: it was built without "
                             "CONFIG_NUMA or CONFIG_PROC_PAGE_MONITOR")
EMPTY: Final = Unavailable(Reason.NOT_READ, "numa_maps of the process has no memory: a thread of the kernel, or it is "
                           "ending")
TOO_LONG: Final = Unavailable(Reason.OUT_OF_RANGE, f"numa_maps of the process has more than {_LARGEST >> 20} MiB, of "
                              "which none is used: a part of the mappings would be another share")
PENDING: Final = Unavailable(Reason.NOT_READ, "numa_maps of the process has not been read yet: at most eight are in an "
                             "interval, for 1 % of the time", "wait for the next intervals")
MALFORMED: Final = Unavailable(Reason.FAILED, "numa_maps of the process has a line that proc(5) does not describe")


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """The memory that a process has mapped and that is in RAM, by node; what it shares with others is in it."""

    nodes: Mapping[int, int]  # bytes
    age_ns: int  # since it was read

    @property
    def total(self) -> int:
        """Bytes on all nodes."""
        return sum(self.nodes.values())

    @property
    def node(self) -> int:
        """The node with the most of it, the first of several."""
        return min(self.nodes, key=lambda node: (-self.nodes[node], node))


def parse_numa_maps(text: bytes) -> dict[int, int] | None:
    """Return the bytes on each node; None if a line says otherwise than proc(5) does.

    A mapping's pages on node 0 are `N0=pages`, of `kernelpagesize_kB`. In names of files blanks, ends of lines and `=`
    are octal (show_numa_map, fs/proc/task_mmu.c), so no name can pass for such a word.
    """
    nodes: dict[int, int] = {}
    for line in text.split(b"\n"):
        pages: list[tuple[int, int]] = []
        size = None
        for word in line.split(b" ")[2:]:
            name, equals, value = word.partition(b"=")
            if name == b"kernelpagesize_kB":
                size = integer_or_none(value)
            elif equals and name[:1] == b"N" and name[1:].isdigit():
                node, count = integer_or_none(name[1:]), integer_or_none(value)
                if node is None or count is None or node >= MOST_NODES or count < 0:
                    return None
                pages.append((node, count))
        if pages and (size is None or size <= 0):
            return None
        for node, count in pages:
            nodes[node] = nodes.get(node, 0) + count * (size or 0) * 1024
    return nodes if sum(nodes.values()) <= _MOST_BYTES else None


class NumaMemory:
    """Reads the memory of processes by node, and keeps it.

    A thread of its own reads, so that no screen waits and nobody's samples stay in their rings meanwhile.

    Args:
        host: the machine of the processes.
        topology: the nodes of its CPUs.

    Attributes:
        node_of: the node of each measured CPU.
    """

    def __init__(self, host: Host, topology: Topology) -> None:
        self._host = host
        self.node_of = {cpu: place.node for cpu, place in topology.places.items()}
        self._lock = threading.Lock()
        # by process its start, the time of the read, and what came of it
        self._known: dict[int, tuple[int, int, dict[int, int] | Unavailable]] = {}
        self._wanted: dict[int, int] = {}  # starts of the processes that are to be read
        # a read was begun and has not ended
        self.reading = False
        self._thread: NamedThread | None = None
        self._next_ns = 0

    @property
    def rested(self) -> bool:
        """Whether reads may begin: they have taken less than 1 % of the time since the first one."""
        return self._host.now_ns() >= self._next_ns

    def of(self, pid: int, started: int, *, read: bool) -> tuple[NodeMemory | Unavailable, bool]:
        """Return a process's memory as it was read before, and whether a read was begun for a later call.

        Args:
            started: the start of the process, in clock ticks since boot.
            read: whether its file may be read now.
        """
        if self.is_single:
            return ONE_NODE, False
        now = self._host.now_ns()
        with self._lock:
            known = self._known.get(pid)
            is_fresh = known is not None and known[0] == started and now - known[1] < FRESH_NS
            is_read = read and not is_fresh and len(self._wanted) < _WAITING
            if is_read:
                self._wanted[pid] = started
            if self._wanted and not self.reading:
                self.reading = True
                self._thread = NamedThread(target=self._drain, name="numa maps", daemon=True)
                self._thread.start()
        if known is None or known[0] != started:
            return PENDING, is_read
        pages = known[2]
        return pages if isinstance(pages, Unavailable) else NodeMemory(pages, max(0, now - known[1])), is_read

    def wait(self, seconds: float) -> None:
        """Wait until all is read that was begun, at most for some seconds."""
        if self._thread is not None:
            self._thread.join(seconds)

    @cached_property
    def is_single(self) -> bool:
        """Whether the machine has one node, nodes without CPUs included."""
        names = names_in(self._host, "/sys/devices/system/node")
        with_memory = sum(name.startswith("node") and name[4:].isdigit() for name in names)
        return max(with_memory, len(set(self.node_of.values()))) < 2

    def _drain(self) -> None:
        while True:
            with self._lock:
                if not self._wanted:
                    self.reading = False
                    return
                pid, started = self._wanted.popitem()
            begin = self._host.now_ns()
            pages = self._read(pid, started)
            end = self._host.now_ns()
            with self._lock:
                self._next_ns = max(self._next_ns, end) + _REST * (end - begin)
                self._known.pop(pid, None)
                self._known[pid] = started, end, pages
                while len(self._known) > _KEPT:
                    del self._known[next(iter(self._known))]

    def _read(self, pid: int, started: int) -> dict[int, int] | Unavailable:
        path = f"/proc/{pid}/numa_maps"
        text = bytearray()
        try:
            with closing(self._host, self._host.open_file(path)) as descriptor:
                while part := self._host.read_at(descriptor, _CHUNK, len(text)):
                    text += part
                    if len(text) > _LARGEST:
                        return TOO_LONG
        except HostError as error:
            return self._refusal(pid, error)
        if self._start(pid) != started:  # the number is another process's by now
            return GONE
        if (nodes := parse_numa_maps(bytes(text))) is None:
            return MALFORMED
        return nodes if any(nodes.values()) else EMPTY

    def _start(self, pid: int) -> int | None:
        stat = process_stat(bytes_of(self._host, f"/proc/{pid}/stat", _STAT))
        return None if stat is None else stat.started

    def _refusal(self, pid: int, error: HostError) -> Unavailable:
        if error.errno in (errno.EACCES, errno.EPERM):
            return Unavailable(Reason.NOT_PERMITTED, str(error), "run as root, or with CAP_SYS_PTRACE")
        if error.errno in (errno.ENOENT, errno.ESRCH):
            return GONE if self._start(pid) is None else NO_FILE
        return Unavailable(Reason.FAILED, str(error))
