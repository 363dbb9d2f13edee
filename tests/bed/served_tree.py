"""A simulated machine as a tree for FUSE: /machine holds its files and registers, /perf its open counters."""

from __future__ import annotations

import errno
import itertools
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from fuse_wire import Answer, Node

from turbotui.machine.host import HostError
from turbotui.simulated import SimulatedHost
from turbotui.simulated.perf import OpenEvent
from turbotui.simulated.tree import Device, File, Folder, find

_MACHINE: Final = "/machine"
_PERF: Final = "/perf"
_REGISTERS: Final = re.compile(r"/dev/cpu/([0-9]+)/msr\Z")
_OF_CPU: Final = re.compile(r"/dev/cpu/([0-9]+)/msr\Z|/sys/devices/system/cpu/cpu([0-9]+)/cpuidle/")
_CHANGING: Final = re.compile(r"/dev/cpu/[0-9]|/sys/devices/system/cpu/cpu[0-9]")
_WHOLE: Final = 1 << 30
_ENABLE, _DISABLE, _RESET, _ID = 0x2400, 0x2401, 0x2403, 0x8008_2407  # PERF_EVENT_IOC_* (uapi linux/perf_event.h)


@dataclass(slots=True)
class _Handle:
    """One open file; `text` is the content read at offset 0, which later reads continue, as with seq_file."""

    descriptor: int
    cpu: int = -1
    counter: bool = False
    addressed: bool = False
    text: bytes = b""


class ServedTree:
    """A simulated machine as the kernel sees it.

    Args:
        host: the machine.
        read: called with a CPU before and after each read of its registers, counters or idle states.
        plugging: CPUs will come and go, so that the kernel must not remember which paths there are.
        blank: registers that the machine does not have read as zero.
    """

    def __init__(
        self, host: SimulatedHost, read: Callable[[int], None], *, plugging: bool, blank: bool = False
    ) -> None:
        self._host = host
        self._reads = read
        self._plugging = plugging
        self._blank = blank
        self._handles: dict[int, _Handle] = {}
        self._numbers = itertools.count(1)
        self._counters: dict[int, int] = {}
        self._lock = threading.Lock()

    def counter(self, descriptor: int, cpu: int) -> None:
        """Show an open counter of the host as /perf/<descriptor>."""
        with self._lock:
            self._counters[descriptor] = cpu

    @property
    def open_files(self) -> int:
        """The number of open files, registers and counters."""
        return len(self._handles)

    def node(self, path: str) -> Node:
        if path in ("", _PERF, _MACHINE):
            return Node(folder=True, mode=0o755, lasting=True)
        if path.startswith(_PERF):
            if int(path.rpartition("/")[2]) not in self._counters:
                raise Answer(2)
            return Node(folder=False, mode=0o600, lasting=False)
        inside = path.removeprefix(_MACHINE)
        result = self._find(inside)
        lasting = not (self._plugging and _CHANGING.match(inside))
        if isinstance(result, File):
            return Node(folder=False, mode=result.mode, lasting=lasting)
        return Node(folder=True, mode=0o755, lasting=lasting)

    def _find(self, path: str) -> File | Folder:
        try:
            return find(self._host._root, path)
        except HostError as error:
            raise Answer(error.errno or 5) from error

    def names(self, path: str) -> tuple[str, ...]:
        if path == "":
            return ("machine", "perf")
        if path == _PERF:
            return ()
        try:
            return self._host.list_dir(path.removeprefix(_MACHINE) or "/")
        except HostError as error:
            raise Answer(error.errno or 5) from error

    def open(self, path: str) -> int:
        if path.startswith(_PERF + "/"):
            descriptor = int(path.rpartition("/")[2])
            handle = _Handle(descriptor, self._counters[descriptor], counter=True)
        else:
            inside = path.removeprefix(_MACHINE)
            addressed = _REGISTERS.match(inside) is not None or isinstance(self._find(inside), Device)
            try:
                opened = self._host.open_file(inside)
            except HostError as error:
                raise Answer(error.errno or 5) from error
            of_cpu = _OF_CPU.match(inside)
            handle = _Handle(opened, int(of_cpu[1] or of_cpu[2]) if of_cpu else -1, addressed=addressed)
        number = next(self._numbers)
        self._handles[number] = handle
        return number

    def read(self, handle: int, size: int, offset: int) -> bytes:
        held = self._handles[handle]
        if held.cpu < 0:
            return self._answer(held, size, offset)
        self._reads(held.cpu)
        try:
            return self._answer(held, size, offset)
        finally:
            self._reads(held.cpu)

    def _answer(self, held: _Handle, size: int, offset: int) -> bytes:
        try:
            if held.counter:
                return self._host.read_counter(held.descriptor, size)
            if held.addressed:
                return self._host.read_at(held.descriptor, size, offset)
            if offset == 0:
                held.text = self._host.read_at(held.descriptor, _WHOLE, 0)
            return held.text[offset : offset + size]
        except HostError as error:
            if self._blank and held.addressed:
                return bytes(size)
            raise Answer(error.errno or 5) from error

    def control(self, handle: int, command: int) -> int:
        """Answer an ioctl of a counter: its id; they count from the beginning, so that turning them on does nothing."""
        held = self._handles[handle]
        if not held.counter or command not in (_ENABLE, _DISABLE, _RESET, _ID):
            raise Answer(errno.ENOTTY)
        if command != _ID:
            return 0
        counter = self._host._open[held.descriptor]
        assert isinstance(counter, OpenEvent)
        return counter.identity

    def release(self, handle: int) -> None:
        held = self._handles.pop(handle)
        with self._lock:
            self._counters.pop(held.descriptor, None)
        self._host.close(held.descriptor)
