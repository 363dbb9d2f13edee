"""Answers the system calls of a fake machine's programs: perf_event_open, the two of CPU affinity, and those of time.

By seccomp user notification (seccomp_unotify(2)). A counter is a file of the served tree whose read(2) answers in the
format of perf, put into the asking process with SECCOMP_ADDFD_FLAG_SEND.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import select
import struct
from collections.abc import Collection
from typing import Final

from served_tree import ServedTree

from turbotui.machine.host import HostError, PerfAttr
from turbotui.machine.perf_abi import PerfEventAttr
from turbotui.simulated import ManualClock, SimulatedHost

_RECEIVE, _SEND, _ADD = 0xC050_2100, 0xC018_2101, 0x4018_2103  # SECCOMP_IOCTL_NOTIF_RECV, _SEND, _ADDFD
_NOTICE: Final = struct.Struct("<QIIiIQ6Q")  # id pid flags, nr arch ip args
_CONTINUE: Final = 1  # SECCOMP_USER_NOTIF_FLAG_CONTINUE
_AND_SEND: Final = 2  # SECCOMP_ADDFD_FLAG_SEND
_PERF: Final = (298, 241)  # perf_event_open on x86_64, aarch64
_GETAFFINITY: Final = (204, 123)
# x86-64 only; they are asked about where the machine's clock is moved by hand
_GETTIMEOFDAY, _TIME, _CLOCK_GETTIME, _NANOSLEEP, _CLOCK_NANOSLEEP, _SELECT, _PSELECT = 96, 201, 228, 35, 230, 23, 270
_TIME_CALLS: Final = (_GETTIMEOFDAY, _TIME, _CLOCK_GETTIME, _NANOSLEEP, _CLOCK_NANOSLEEP, _SELECT, _PSELECT)
_WALL_CLOCKS: Final = (0, 5)  # CLOCK_REALTIME, CLOCK_REALTIME_COARSE
_PAIR: Final = struct.Struct("<qq")  # struct timeval and struct timespec of 64-bit machines
_ANY: Final = 1 << 32  # a C int of -1 comes as 2**32 - 1 or 2**64 - 1
_LEAST_ATTR: Final = 64  # PERF_ATTR_SIZE_VER0

_libc = ctypes.CDLL(None, use_errno=True)


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _peek(pid: int, address: int, size: int) -> bytes:
    """Memory of another process."""
    data = ctypes.create_string_buffer(size)
    here, there = _Vector(ctypes.addressof(data), size), _Vector(address, size)
    if _libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) != size:
        raise HostError(errno.EFAULT, f"memory of {pid}")
    return data.raw


def _poke(pid: int, address: int, data: bytes) -> None:
    kept = ctypes.create_string_buffer(data, len(data))
    here, there = _Vector(ctypes.addressof(kept), len(data)), _Vector(address, len(data))
    if _libc.process_vm_writev(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) != len(data):
        raise HostError(errno.EFAULT, f"memory of {pid}")


def _signed(word: int) -> int:
    return (word & _ANY - 1) - _ANY if word & 1 << 31 else word & _ANY - 1


class Supervisor:
    """Answers for one program and its children until the last of them has ended. One thread calls `serve`.

    Args:
        listener: the descriptor that the filter gave.
        counters: a descriptor of the folder /perf of the served tree.
        host: the machine.
        tree: what serves it.
        refuse: errno of every perf_event_open, 0 for those of the machine.
    """

    def __init__(self, listener: int, counters: int, host: SimulatedHost, tree: ServedTree, refuse: int) -> None:
        self._listener = listener
        self._counters = counters
        self._host = host
        self._tree = tree
        self._refuse = refuse
        self._masks: dict[int, bytes] = {}
        self.opened = 0

    def confine(self, pid: int, cpus: Collection[int] | None) -> None:
        """Set a thread's affinity as taskset does from outside; None: give it back."""
        if cpus is None:
            self._masks.pop(pid, None)
        else:
            self._masks[pid] = sum(1 << cpu for cpu in cpus).to_bytes(1024, "little")

    def serve(self) -> None:
        """Answer until no process is left that could call."""
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        while True:
            for _descriptor, happened in poll.poll():
                if happened & select.POLLIN:
                    self._one()
                elif happened & select.POLLHUP:
                    return

    def _one(self) -> None:
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, notice)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):  # who asked has been killed meanwhile
                return
            raise
        identity, pid, _flags, number, _arch, _ip, *words = _NOTICE.unpack(notice)
        try:
            if number in _PERF:
                if self._open(identity, pid, words):
                    return
                self._reply(identity, flags=_CONTINUE)
                return
            if number in _TIME_CALLS:
                self._reply(identity, self._time(pid, number, words))
                return
            value = self._get(pid, words) if number in _GETAFFINITY else self._set(pid, words)
            self._reply(identity, value)
        except OSError as error:
            self._reply(identity, error=error.errno or errno.EIO)

    def _reply(self, identity: int, value: int = 0, error: int = 0, flags: int = 0) -> None:
        try:
            fcntl.ioctl(self._listener, _SEND, bytearray(struct.pack("<QqiI", identity, value, -error, flags)))
        except OSError as failure:
            if failure.errno != errno.ENOENT:
                raise

    def _open(self, identity: int, pid: int, words: list[int]) -> bool:
        """Answer perf_event_open; False for a counter of a task, which the real kernel has.

        A counter that is opened disabled counts all the same: programs turn it on by an ioctl that changes nothing.
        """
        address, task, cpu, group, flags = words[0], *map(_signed, words[1:4]), words[4]
        if self._refuse:
            raise HostError(self._refuse, "perf_event_open")
        if task != -1:
            return False
        size = int.from_bytes(_peek(pid, address + 4, 4), "little")
        whole = ctypes.sizeof(PerfEventAttr)
        if size < _LEAST_ATTR or size > whole:
            raise HostError(errno.E2BIG, "perf_event_attr")
        raw = PerfEventAttr.from_buffer_copy(_peek(pid, address, size).ljust(whole, b"\0"))
        attr = PerfAttr(
            type=raw.type, config=raw.config, config1=raw.config1, config2=raw.config2, config3=raw.config3,
            flags=raw.flags & ~1, read_format=raw.read_format, config4=raw.config4,
        )
        leader = -1 if group == -1 else self._leader(pid, group)
        counter = self._host.perf_event_open(attr, task, cpu, leader)
        self._tree.counter(counter, cpu)
        selected = os.open(str(counter), os.O_RDWR | os.O_CLOEXEC, dir_fd=self._counters)
        try:
            close_on_exec = os.O_CLOEXEC if flags & 8 else 0
            fcntl.ioctl(self._listener, _ADD, struct.pack("<QIIII", identity, _AND_SEND, selected, 0, close_on_exec))
        finally:
            os.close(selected)
        self.opened += 1
        return True

    def _time(self, pid: int, number: int, words: list[int]) -> int:
        """Return the machine's time, or let a sleep end at once by advancing the machine's clock."""
        if number in (_GETTIMEOFDAY, _TIME, _CLOCK_GETTIME):
            wall = number != _CLOCK_GETTIME or words[0] in _WALL_CLOCKS
            now = self._host.wall_ns() if wall else self._host.now_ns()
            seconds, rest = divmod(now, 1_000_000_000)
            if number == _TIME:
                return seconds
            address = words[1] if number == _CLOCK_GETTIME else words[0]
            _poke(pid, address, _PAIR.pack(seconds, rest // 1000 if number == _GETTIMEOFDAY else rest))
            return 0
        address = {_NANOSLEEP: words[0], _CLOCK_NANOSLEEP: words[2]}.get(number, words[4])
        seconds, rest = _PAIR.unpack(_peek(pid, address, _PAIR.size))
        clock = self._host._clock
        assert isinstance(clock, ManualClock)
        clock.advance(seconds + rest * (1e-6 if number == _SELECT else 1e-9))
        return 0

    def cpu_of(self, pid: int) -> int:
        """The first CPU that a thread may run on."""
        mask = int.from_bytes(self._masks.get(pid, b"\1"), "little")
        return (mask & -mask).bit_length() - 1

    def _leader(self, pid: int, descriptor: int) -> int:
        """Our counter behind a descriptor of the process."""
        try:
            folder, _, name = os.readlink(f"/proc/{pid}/fd/{descriptor}").rpartition("/")
        except OSError as error:
            raise HostError(errno.EBADF, f"group {descriptor}") from error
        if not folder.endswith("/perf") or not name.isdigit():
            raise HostError(errno.EBADF, f"group {descriptor}")
        return int(name)

    def _width(self) -> int:
        """Bytes of the kernel's CPU mask."""
        return -(-len(self._host.model.online) // 64) * 8

    def _set(self, pid: int, words: list[int]) -> int:
        mask = int.from_bytes(_peek(pid, words[2], min(words[1], 1024)), "little")
        cpus = [cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1]
        self._host.pin_this_thread(cpus)
        self._masks[words[0] or pid] = mask.to_bytes(1024, "little")
        return 0

    def _get(self, pid: int, words: list[int]) -> int:
        online = self._host.model.online
        width = self._width()
        if words[1] * 8 < len(online) or words[1] % 8:
            raise HostError(errno.EINVAL, "sched_getaffinity")
        every = sum(1 << cpu for cpu, up in enumerate(online) if up)
        chosen = self._masks.get(words[0] or pid)
        mask = every if chosen is None else every & int.from_bytes(chosen, "little")
        _poke(pid, words[2], mask.to_bytes(width, "little"))
        return width
