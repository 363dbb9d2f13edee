"""Samples of instruction pointers: by time, and by events of which each sample stands for a number.

Of a command from its exec(2) on, with all that it starts; or of what runs already: CPUs, or one thread.
"""

from __future__ import annotations

import errno
import re
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.machine.ip_records import SAMPLE_TYPE, AddressSpaces, IpRecord, Mapped, parse_ip_records
from turbotui.machine.perf_abi import control
from turbotui.machine.perf_records import RecordError
from turbotui.machine.perf_ring import SET_OUTPUT, Ring, event_id
from turbotui.untrusted import one_line

# bits of the flag word of struct perf_event_attr (include/uapi/linux/perf_event.h)
_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HV, _EXCLUDE_IDLE = 1 << 0, 1 << 1, 1 << 5, 1 << 6, 1 << 7
_MMAP, _COMM, _ENABLE_ON_EXEC, _TASK = 1 << 8, 1 << 9, 1 << 12, 1 << 13
_SAMPLE_ID_ALL, _MMAP2, _COMM_EXEC, _USE_CLOCKID = 1 << 18, 1 << 23, 1 << 24, 1 << 25
_RECORDS: Final = _MMAP | _MMAP2 | _COMM | _COMM_EXEC | _TASK
CPU_CLOCK: Final = PerfAttr(1, 0)
"""PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK: what every kernel has."""
_PERIOD_NS: Final = 1_000_003  # no multiple of a tick
_PAGES: Final = 64  # 256 KiB: with 517 KiB a CPU an unprivileged user may lock it (kernel.perf_event_mlock_kb)
DRAIN: Final = 0.1
"""Seconds in which the rings of busy CPUs do not fill up."""
_MONOTONIC: Final = time.CLOCK_MONOTONIC
_TIMES: Final = 1 << 0 | 1 << 1  # PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING
_READING: Final = struct.Struct("=QQQ")  # the count and both times
_EVERY: Final = -1  # perf_event_open(2): every process, or every CPU
_CODE: Final = re.compile(r"([0-9a-f]+)-([0-9a-f]+) ..x. ([0-9a-f]+) [0-9a-f]+:[0-9a-f]+ ([0-9]+) *(.*)")
"""A line of /proc/PID/maps that is executable (proc_pid_maps(5))."""


@dataclass(frozen=True, slots=True)
class SampledAttr:
    """An event that is sampled.

    Attributes:
        attr: with the number of it that a sample stands for as its `sample_period`. A fixed number: where the kernel
            adapts it to a rate, a sample of bursts carries another number than has passed.
        cpus: that count it; None for every one.
    """

    attr: PerfAttr
    cpus: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class SampledCode:
    """Tasks whose instruction pointers are sampled, with one ring for each (pid, CPU) of perf_event_open(2).

    Attributes:
        targets: these.
        running: whether they run already; else a command that waits before its exec(2), with all that it starts.
    """

    targets: tuple[tuple[int, int], ...]
    running: bool

    @classmethod
    def of_command(cls, pid: int, cpus: Sequence[int]) -> SampledCode:
        """A command that waits before its exec(2)."""
        return cls(tuple((pid, cpu) for cpu in cpus), running=False)

    @classmethod
    def of_cpus(cls, cpus: Sequence[int]) -> SampledCode:
        """Whatever runs on these CPUs."""
        return cls(tuple((_EVERY, cpu) for cpu in cpus), running=True)

    @classmethod
    def of_thread(cls, tid: int) -> SampledCode:
        """One thread, on any CPU."""
        return cls(((tid, _EVERY),), running=True)


class IpSampler:
    """Samples instruction pointers; a thread of its own empties the rings, or whoever calls `drain`.

    Args:
        host: this machine.
        code: what is sampled.
        events: sampled beside time.

    Attributes:
        spaces: what was seen, complete after `stop`.
        keys: position of the event in `events` (-1 for time), by the identifier in `spaces.weights`.
        refused: events that cannot be sampled, by position, and why.
        user_only: whether the kernel's part is left out, for want of rights.
        damaged: rings' contents that could not be understood.

    Raises:
        HostError: not even time can be sampled; nothing stays open.
    """

    def __init__(self, host: Host, code: SampledCode, events: Sequence[SampledAttr] = ()) -> None:
        self._host = host
        self._code = code
        self._descriptors: list[int] = []
        self._rings: list[Ring] = []
        self._waiting: list[IpRecord] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.spaces = AddressSpaces(self._mapped if code.running else None)
        self.keys: dict[int, int] = {}
        self.refused: dict[int, HostError] = {}
        self._counting: list[tuple[int, int, int | None]] = []
        self._shares: dict[int, float] = {}
        self.user_only = False
        self.damaged = 0
        try:
            try:
                self._open(events, 0)
            except HostError as error:
                if error.errno not in (errno.EACCES, errno.EPERM):
                    raise
                self._close()
                self.user_only = True
                self._open(events, _EXCLUDE_KERNEL | _EXCLUDE_HV)
        except HostError:
            self._close()
            raise

    def _open(self, events: Sequence[SampledAttr], flags: int) -> None:
        self.keys, self.refused = {}, {}
        # of a whole CPU the clock goes on while nothing runs
        busy = flags | _RECORDS | (_EXCLUDE_IDLE if self._code.running else 0)
        for pid, cpu in self._code.targets:
            first = self._add(pid, cpu, replace(CPU_CLOCK, sample_period=_PERIOD_NS), busy)
            ring = Ring(first, _PAGES)
            self._rings.append(ring)
            self.keys[event_id(first)] = -1
            for number, event in enumerate(events):
                if number in self.refused or (event.cpus is not None and cpu != _EVERY and cpu not in event.cpus):
                    continue
                try:
                    descriptor = self._add(pid, cpu, event.attr, flags)
                    control(descriptor, SET_OUTPUT, first, "the ring of a sampled event")
                    self.keys[event_id(descriptor)] = number
                    moves = cpu == _EVERY and event.cpus is not None
                    self._counting.append((number, descriptor, None if moves else first))
                except HostError as error:
                    self.refused[number] = error

    def _add(self, pid: int, cpu: int, attr: PerfAttr, flags: int) -> int:
        waits = 0 if self._code.running else _DISABLED | _INHERIT | _ENABLE_ON_EXEC
        asked = replace(attr, read_format=_TIMES, sample_type=SAMPLE_TYPE, clockid=_MONOTONIC,
                        flags=attr.flags | flags | waits | _SAMPLE_ID_ALL | _USE_CLOCKID)
        descriptor = self._host.perf_event_open(asked, pid, cpu, -1)
        self._descriptors.append(descriptor)
        return descriptor

    def start(self) -> None:
        """Begin to empty the rings."""
        self._thread = threading.Thread(target=self._run, name="samples", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take what is left, and close everything."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._rings:
            self.drain(last=True)
            self._shares = self.shares()
        self._close()

    def shares(self) -> dict[int, float]:
        """The part of the time that was sampled in which each event's counter was on, by position: they may take turns.

        Measured by the time in which the clock of the same ring ran, which is never off: time_enabled of a thread's
        event for one CPU goes on while the thread is on another. Of events of one kind of core, and a thread that goes
        from one kind to another, nobody can tell; they are taken for always on.
        """
        if not self._counting:
            return self._shares
        times: dict[int, list[int]] = {}
        for number, descriptor, clock in self._counting:
            mine = times.setdefault(number, [0, 0])
            if clock is not None:
                for at, one in enumerate((clock, descriptor)):
                    mine[at] += self._running(one)
        return {number: min(1.0, running / sampled) if sampled else 1.0
                for number, (sampled, running) in times.items()}

    def _running(self, descriptor: int) -> int:
        try:
            return int(_READING.unpack(self._host.read_counter(descriptor, _READING.size))[2])
        except (HostError, struct.error):
            return 0

    def _run(self) -> None:
        while not self._stop.wait(DRAIN):
            self.drain()

    def drain(self, *, last: bool = False) -> None:
        """Take all rings; what is younger than the beginning waits for what other rings have of that time."""
        began = time.monotonic_ns()
        for ring in self._rings:
            try:
                self._waiting += parse_ip_records(ring.take())
            except RecordError:
                self.damaged += 1
        self._waiting.sort(key=_time)
        due = len(self._waiting) if last else sum(record.time < began for record in self._waiting)
        for record in self._waiting[:due]:
            self.spaces.take(record)
        del self._waiting[:due]

    def _mapped(self, pid: int) -> Iterator[Mapped]:
        """What a process has mapped to be executed now; nothing where it has ended, or is hidden."""
        try:
            lines = self._host.read_text(f"/proc/{pid}/maps").splitlines()
        except HostError:
            return
        for line in lines:
            found = _CODE.match(line)
            if found is not None:
                start, end, offset = (int(found[at], 16) for at in (1, 2, 3))
                yield Mapped(0, pid, start, end - start, offset, int(found[4]), one_line(found[5]))

    def _close(self) -> None:
        for ring in self._rings:
            ring.close()
        for descriptor in self._descriptors:
            self._host.close(descriptor)
        self._rings, self._descriptors, self._counting = [], [], []


def _time(record: IpRecord) -> int:
    return record.time
