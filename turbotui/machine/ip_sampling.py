"""Samples of a command's instruction pointers: by time, and by events of which each sample stands for a number."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.machine.ip_records import SAMPLE_TYPE, AddressSpaces, IpRecord, parse_ip_records
from turbotui.machine.perf_abi import control
from turbotui.machine.perf_records import RecordError
from turbotui.machine.perf_ring import SET_OUTPUT, Ring, event_id

# bits of the flag word of struct perf_event_attr (include/uapi/linux/perf_event.h)
_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HV = 1 << 0, 1 << 1, 1 << 5, 1 << 6
_MMAP, _COMM, _ENABLE_ON_EXEC, _TASK = 1 << 8, 1 << 9, 1 << 12, 1 << 13
_SAMPLE_ID_ALL, _MMAP2, _COMM_EXEC, _USE_CLOCKID = 1 << 18, 1 << 23, 1 << 24, 1 << 25
_RECORDS: Final = _MMAP | _MMAP2 | _COMM | _COMM_EXEC | _TASK
CPU_CLOCK: Final = PerfAttr(1, 0)
"""PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK: what every kernel has."""
_PERIOD_NS: Final = 1_000_003  # no multiple of a tick
_PAGES: Final = 64  # 256 KiB: with 517 KiB a CPU an unprivileged user may lock it (kernel.perf_event_mlock_kb)
_DRAIN: Final = 0.1  # seconds
_MONOTONIC: Final = time.CLOCK_MONOTONIC


class IpSampler:
    """Samples a command from its exec(2) on, with all that it starts; a thread of its own empties the rings.

    Args:
        host: this machine.
        pid: of a process that waits before its exec.
        cpus: online CPUs; each has a ring.
        events: sampled beside time, each after as many as its `sample_period` says. A fixed number: where the kernel
            adapts it to a rate, a sample of bursts carries another number than has passed.

    Attributes:
        spaces: what was seen, complete after `stop`.
        keys: position of the event in `events` (-1 for time), by the identifier in `spaces.weights`.
        refused: events that cannot be sampled, by position, and why.
        user_only: whether the kernel's part is left out, for want of rights.
        damaged: rings' contents that could not be understood.

    Raises:
        HostError: not even time can be sampled; nothing stays open.
    """

    def __init__(self, host: Host, pid: int, cpus: Sequence[int], events: Sequence[PerfAttr] = ()) -> None:
        self._host = host
        self._descriptors: list[int] = []
        self._rings: list[Ring] = []
        self._waiting: list[IpRecord] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.spaces = AddressSpaces()
        self.keys: dict[int, int] = {}
        self.refused: dict[int, HostError] = {}
        self.user_only = False
        self.damaged = 0
        try:
            try:
                self._open(pid, cpus, events, 0)
            except HostError as error:
                if error.errno not in (errno.EACCES, errno.EPERM):
                    raise
                self._close()
                self.user_only = True
                self._open(pid, cpus, events, _EXCLUDE_KERNEL | _EXCLUDE_HV)
        except HostError:
            self._close()
            raise

    def _open(self, pid: int, cpus: Sequence[int], events: Sequence[PerfAttr], flags: int) -> None:
        self.keys, self.refused = {}, {}
        for cpu in cpus:
            first = self._add(pid, cpu, replace(CPU_CLOCK, sample_period=_PERIOD_NS), flags | _RECORDS)
            ring = Ring(first, _PAGES)
            self._rings.append(ring)
            self.keys[event_id(first)] = -1
            for number, attr in enumerate(events):
                if number in self.refused:
                    continue
                try:
                    descriptor = self._add(pid, cpu, attr, flags)
                    control(descriptor, SET_OUTPUT, first, "the ring of a sampled event")
                    self.keys[event_id(descriptor)] = number
                except HostError as error:
                    self.refused[number] = error

    def _add(self, pid: int, cpu: int, attr: PerfAttr, flags: int) -> int:
        asked = replace(attr, read_format=0, sample_type=SAMPLE_TYPE, clockid=_MONOTONIC,
                        flags=attr.flags | flags | _DISABLED | _INHERIT | _ENABLE_ON_EXEC | _SAMPLE_ID_ALL
                        | _USE_CLOCKID)
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
            self._drain(last=True)
        self._close()

    def _run(self) -> None:
        while not self._stop.wait(_DRAIN):
            self._drain()

    def _drain(self, *, last: bool = False) -> None:
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

    def _close(self) -> None:
        for ring in self._rings:
            ring.close()
        for descriptor in self._descriptors:
            self._host.close(descriptor)
        self._rings, self._descriptors = [], []


def _time(record: IpRecord) -> int:
    return record.time
