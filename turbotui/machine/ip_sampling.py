"""Samples instruction pointers by time, and by overflows of events.

The target is a command from its exec(2) on, with its descendants, or running work: CPUs, or one thread.
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
from turbotui.machine.ip_records import SAMPLE_TYPE, AddressSpaces, FileMapped, IpRecord, parse_ip_records
from turbotui.machine.perf_abi import control
from turbotui.machine.perf_records import RecordError
from turbotui.machine.perf_ring import SET_OUTPUT, Ring, event_id
from turbotui.machine.small_files import text_of
from turbotui.quantities.plain_numbers import hexadecimal, integer
from turbotui.threads import NamedThread
from turbotui.untrusted import one_line

# bits of the flag word of struct perf_event_attr (include/uapi/linux/perf_event.h)
_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HV, _EXCLUDE_IDLE = 1 << 0, 1 << 1, 1 << 5, 1 << 6, 1 << 7
_MMAP, _COMM, _ENABLE_ON_EXEC, _TASK = 1 << 8, 1 << 9, 1 << 12, 1 << 13
_SAMPLE_ID_ALL, _MMAP2, _COMM_EXEC, _USE_CLOCKID = 1 << 18, 1 << 23, 1 << 24, 1 << 25
_RECORDS: Final = _MMAP | _MMAP2 | _COMM | _COMM_EXEC | _TASK
CPU_CLOCK: Final = PerfAttr(1, 0)
"""PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, which every kernel has."""
_PERIOD_NS: Final = 1_000_003  # no multiple of a tick
_PAGES: Final = 64  # 256 KiB, within the 517 KiB a CPU that an unprivileged user may lock (kernel.perf_event_mlock_kb)
DRAIN: Final = 0.1
"""Seconds between two reads, in which the rings of busy CPUs do not overflow."""
_MONOTONIC: Final = time.CLOCK_MONOTONIC
_TIMES: Final = 1 << 0 | 1 << 1  # PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING
_READING: Final = struct.Struct("=QQQ")  # the count and both times
_EVERY: Final = -1  # perf_event_open(2): every process, or every CPU
_CODE: Final = re.compile(
    r"([0-9a-f]{1,16})-([0-9a-f]{1,16}) ..x. ([0-9a-f]{1,16}) [0-9a-f]+:[0-9a-f]+ ([0-9]{1,19}) *(.*)")
"""A line of /proc/PID/maps that is executable (proc_pid_maps(5))."""


@dataclass(frozen=True, slots=True)
class SampledAttr:
    """A sampled event."""

    # the attribute with a fixed `sample_period`, because samples of bursts carry a wrong number if the kernel adapts
    # the period to a rate
    attr: PerfAttr
    cpus: frozenset[int] | None = None  # the CPUs that count the event; None for all


@dataclass(frozen=True, slots=True)
class SampledCode:
    """Tasks whose instruction pointers are sampled, with one ring for each (pid, CPU) of perf_event_open(2)."""

    targets: tuple[tuple[int, int], ...]  # the (pid, CPU) pairs
    running: bool  # whether they run already; otherwise a command that waits before its exec(2), with its descendants

    @classmethod
    def of_command(cls, pid: int, cpus: Sequence[int]) -> SampledCode:
        """Sample a command that waits before its exec(2)."""
        return cls(tuple((pid, cpu) for cpu in cpus), running=False)

    @classmethod
    def of_cpus(cls, cpus: Sequence[int]) -> SampledCode:
        """Sample everything that runs on these CPUs."""
        return cls(tuple((_EVERY, cpu) for cpu in cpus), running=True)

    @classmethod
    def of_thread(cls, tid: int) -> SampledCode:
        """Sample one thread, on any CPU."""
        return cls(((tid, _EVERY),), running=True)


class IpSampler:
    """Samples instruction pointers; its own thread reads the rings, or the caller does by `drain`.

    Args:
        events: events to sample in addition to time.

    Attributes:
        keys: position of the event in `events` (-1 for time), by the identifier in `spaces.weights`.
        refused: events that cannot be sampled, by position, and why.
        user_only: whether the kernel's part is excluded, for lack of permission.
        damaged: the number of contents of rings that could not be parsed.

    Raises:
        HostError: not even time can be sampled; then nothing stays open.
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
        # on a whole CPU the clock also runs while the CPU is idle
        busy = flags | _RECORDS | (_EXCLUDE_IDLE if self._code.running else 0)
        for pid, cpu in self._code.targets:
            first = self._add(pid, cpu, replace(CPU_CLOCK, sample_period=_PERIOD_NS), busy)
            self._rings.append(Ring(first, _PAGES))
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
        """Begin to read the rings."""
        self._thread = NamedThread(target=self._run, name="samples", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Read the rest, and close everything."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._rings:
            self.drain(last=True)
            self._shares = self.shares()
        self._close()

    def shares(self) -> dict[int, float]:
        """Return the part of the time in which each event's counter ran, by position, because of multiplexing.

        For events of one core type and a thread that changes between types the part is unknown, and taken as 1.
        """
        if not self._counting:
            return self._shares
        times: dict[int, list[int]] = {}
        for number, descriptor, clock in self._counting:
            totals = times.setdefault(number, [0, 0])
            if clock is not None:
                # against the running time of the same ring's clock, which is never multiplexed: time_enabled of a
                # thread's event for one CPU also advances while the thread is on another CPU
                for at, descriptor_of in enumerate((clock, descriptor)):
                    totals[at] += self._running(descriptor_of)
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
        """Read all rings; records newer than the beginning of this call wait for other rings' records of that time."""
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

    def _mapped(self, pid: int) -> Iterator[FileMapped]:
        """Return the present executable mappings of a process; none if it has ended, or is hidden."""
        for line in text_of(self._host, f"/proc/{pid}/maps").splitlines():
            if (match := _CODE.match(line)) is not None:
                start, end, offset = (hexadecimal(match[at]) for at in (1, 2, 3))
                yield FileMapped(0, pid, start, end - start, offset, integer(match[4]), one_line(match[5]))

    def _close(self) -> None:
        for ring in self._rings:
            ring.close()
        for descriptor in self._descriptors:
            self._host.close(descriptor)
        self._rings, self._descriptors, self._counting = [], [], []


def _time(record: IpRecord) -> int:
    return record.time
