"""Waits of all threads of a machine, from rings of their own: by tracepoints, or by records of switches.

Costs come with each switch of the whole machine, whoever is watched: 3 to 5 us of CPU time here, and what
the kernel takes to write the record. So nothing is open while nobody wants to know.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.machine.host import Host, HostError, HostKind, PerfAttr
from turbotui.machine.perf_abi import ENABLE, control
from turbotui.machine.perf_ring import SET_OUTPUT, Ring
from turbotui.machine.tasks.memory import pages_for
from turbotui.machine.tasks.run_queue import Waited
from turbotui.machine.tasks.sets import timed
from turbotui.machine.tasks.wait_records import (
    RECORDED,
    TRACED,
    PointLayout,
    SwitchReader,
    TracepointReader,
    WaitRecords,
    layout,
)
from turbotui.machine.tasks.waiting import Waiting
from turbotui.quantities.unavailable import Reason, Unavailable

_ROOTS: Final = ("/sys/kernel/tracing/events/sched", "/sys/kernel/debug/tracing/events/sched")
_REMEDY: Final = "mount -t tracefs tracefs /sys/kernel/tracing, and run as root"
_NAMESPACE: Final = "/proc/self/ns/pid"
_FIRST_NAMESPACE: Final = "pid:[4026531836]"  # PROC_PID_INIT_INO, include/linux/proc_ns.h
_SHARE: Final = 4  # how much larger the rings of samples are
_SOFTWARE, _TRACEPOINT, _DUMMY = 1, 2, 9  # PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT, PERF_COUNT_SW_DUMMY
_DISABLED, _SAMPLE_ID_ALL, _CONTEXT_SWITCH = 1 << 0, 1 << 18, 1 << 26


class WaitTimes:
    """Records of all CPUs, and what threads waited for by them.

    Args:
        host: this machine.
        cpus: online ones.
        waiting: ends its wait when a ring is half full.

    Attributes:
        why_no_wakeups: why it is not known when threads are woken and what they sleep for; None where it is.

    Raises:
        HostError: EACCES where whole CPUs may not be watched, EMFILE, EPERM beyond the memory that may be locked.
    """

    def __init__(self, host: Host, cpus: Sequence[int], waiting: Waiting) -> None:
        self._host = host
        self._waiting = waiting
        self._rings: list[Ring] = []
        self._descriptors: list[int] = []
        self._leaders: list[int] = []
        self._pages = max(1, pages_for(len(cpus)) // _SHARE)
        self.why_no_wakeups: Unavailable | None = None
        points = find_tracepoints(host)
        if not isinstance(points, Unavailable):
            try:
                self._open(cpus, [PerfAttr(_TRACEPOINT, one.number, sample_period=1, sample_type=int(TRACED),
                                           flags=_DISABLED | _SAMPLE_ID_ALL) for one in points])
            except HostError as error:
                self.close()
                points = Unavailable(Reason.NOT_PERMITTED, f"tracepoints of the scheduler: {error}", _REMEDY)
        if isinstance(points, Unavailable):
            self.why_no_wakeups = points
            self._open(cpus, [PerfAttr(_SOFTWARE, _DUMMY, sample_type=int(RECORDED),
                                       flags=_DISABLED | _SAMPLE_ID_ALL | _CONTEXT_SWITCH)])
            self._records = WaitRecords(SwitchReader())
        else:
            self._records = WaitRecords(TracepointReader(points[0], tuple(points[1:])))

    def drain(self) -> None:
        """Book what has been written since the last call."""
        began = self._host.now_ns()
        self._records.take((ring.take() for ring in self._rings), began)

    def take(self) -> Mapping[int, Waited]:
        """Waits of each thread since the last call, up to now."""
        self.drain()
        return self._records.queue.take(self._host.now_ns())

    @property
    def lost(self) -> int:
        """Records that found no room in a ring, or could not be understood."""
        return self._records.lost + self._records.damaged

    def close(self) -> None:
        """Give every descriptor back."""
        for leader in self._leaders:
            self._waiting.remove(leader)
        for ring in self._rings:
            ring.close()
        for descriptor in reversed(self._descriptors):
            self._host.close(descriptor)
        self._leaders, self._rings, self._descriptors = [], [], []

    def _open(self, cpus: Sequence[int], events: Sequence[PerfAttr]) -> None:
        try:
            for cpu in cpus:
                leader = -1
                for event in events:
                    descriptor = self._host.perf_event_open(timed(event), -1, cpu, -1)
                    self._descriptors.append(descriptor)
                    if leader < 0:
                        leader = descriptor
                        self._rings.append(Ring(descriptor, self._pages))
                        self._waiting.add(descriptor)
                        self._leaders.append(descriptor)
                    else:
                        control(descriptor, SET_OUTPUT, leader, "sending wake-ups to the ring of switches")
            for descriptor in self._descriptors:
                control(descriptor, ENABLE, 0, "records of switches")
        except HostError:
            self.close()
            raise


def find_tracepoints(host: Host) -> tuple[PointLayout, ...] | Unavailable:
    """sched_switch, then the wake-ups; or why they cannot be had."""
    if host.kind is not HostKind.REAL:
        return Unavailable(Reason.NO_HARDWARE, f"{host.name} has no scheduler that could be traced")
    refused: HostError | None = None
    for root in _ROOTS:
        try:
            found = [layout(int(host.read_text(f"{root}/{name}/id")), host.read_text(f"{root}/{name}/format"), fields)
                     for name, fields in (("sched_switch", ("prev_pid", "prev_state", "next_pid")),
                                          ("sched_wakeup", ("pid",)), ("sched_wakeup_new", ("pid",)))]
        except HostError as error:
            refused = refused or error
        except ValueError as error:
            return Unavailable(Reason.NO_DRIVER, f"{root}: {error}")
        else:
            return _unless_contained(tuple(found))
    return Unavailable(Reason.NO_DRIVER, f"the scheduler's tracepoints cannot be read: {refused}", _REMEDY)


def _unless_contained(found: tuple[PointLayout, ...]) -> tuple[PointLayout, ...] | Unavailable:
    """Tracepoints name threads by the machine's own numbers, which within a namespace of processes mean others."""
    try:
        here = os.readlink(_NAMESPACE)
    except OSError:
        return found
    if here == _FIRST_NAMESPACE:
        return found
    return Unavailable(Reason.VIRTUALISED, "tracepoints name threads by numbers that are others in this container",
                       "run turbotui on the machine itself")
