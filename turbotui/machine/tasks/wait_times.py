"""Records the waits of all threads of a machine in rings of their own, from tracepoints or records of switches.

Each switch of the whole machine has a cost, whichever threads are watched: 3 to 5 us of CPU time here, and the kernel's
time to write the record. So nothing is open unless waits are shown.

There are two ways. Tracepoints (sched:sched_switch, sched_wakeup, sched_wakeup_new) say what a thread waits for and
when it is woken; their `format` in tracefs has the positions of their fields (kernel Documentation/trace/events.rst).
Records of switches (PERF_RECORD_SWITCH_CPU_WIDE) only say which thread left the CPU, which one came, and whether the
first one could have continued.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, Protocol, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError, HostKind, PerfAttr
from turbotui.machine.perf_abi import ENABLE, control
from turbotui.machine.perf_records import HEADER, PREEMPTED, SWITCH_OUT, WORD, RecordType, SampleType
from turbotui.machine.perf_ring import SET_OUTPUT, Ring
from turbotui.machine.tasks.memory import pages_for
from turbotui.machine.tasks.run_queue import LeaveReason, RunQueue, WaitSums
from turbotui.machine.tasks.sets import timed
from turbotui.machine.tasks.wait_set import WaitSet
from turbotui.quantities.plain_numbers import integer
from turbotui.quantities.unavailable import Reason, Unavailable

TRACED: Final = SampleType.TID | SampleType.TIME | SampleType(1 << 10)  # PERF_SAMPLE_RAW
RECORDED: Final = SampleType.TID | SampleType.TIME
_RAW_AT: Final = HEADER.size + 8 + 8 + 4  # after thread, time and the size of the raw data
_FIELD: Final = re.compile(r"field:[^;]*?(\w+)(?:\[\d+\])?;\s*offset:(\d+);\s*size:(\d+);\s*signed:(\d);")
_CODES: Final = {(2, False): "H", (2, True): "h", (4, False): "I", (4, True): "i", (8, False): "Q", (8, True): "q"}
_SAMPLE: Final = int(RecordType.SAMPLE)
_LOST: Final = int(RecordType.LOST)
_SWITCHED: Final = int(RecordType.SWITCH_CPU_WIDE)
_TIME: Final = itemgetter(0)
_SWITCH: Final = struct.Struct("=8xIIIIQ")  # after the header: the other thread, the thread, time

# Bits of prev_state as the print format of sched_switch names them: S, D, then T, t, X, Z, P, I; a higher bit says
# that the thread was preempted (include/trace/events/sched.h, __trace_sched_switch_state).
_ASLEEP, _STORAGE, _OTHERS, _ENDED = 0x1, 0x2, 0xCC, 0x30


Event: TypeAlias = tuple[int, int, int, LeaveReason, int]
"""Time in ns, the thread that left (or `WOKEN` or `RUNS`), the one that came, why it left, the number of the ring."""
WOKEN: Final = -1
RUNS: Final = -2


@dataclass(frozen=True, slots=True)
class PointLayout:
    """The positions of a tracepoint's fields in a sample."""

    number: int  # the tracepoint's number
    fields: struct.Struct  # unpacks time and fields from the beginning of a record


def layout(number: int, text: str, names: tuple[str, ...]) -> PointLayout:
    """Return the layout of the fields of these names, from a tracepoint's `format`.

    Raises:
        ValueError: `format` lacks one of the fields, or has an impossible size or position.
    """
    fields = {name: (integer(at), integer(size), signed == "1") for name, at, size, signed in _FIELD.findall(text)}
    parts, at = "=16xQ", HEADER.size + 16
    for name in names:
        if name not in fields or fields[name][1:] not in _CODES:
            raise ValueError(f"tracepoint {number} has no field {name} that is a number")
        place = _RAW_AT + fields[name][0]
        if place < at:
            raise ValueError(f"the fields of tracepoint {number} stand in another order")
        parts += f"{place - at}x{_CODES[fields[name][1:]]}"
        at = place + fields[name][1]
    return PointLayout(number, struct.Struct(parts))


def left_by(state: int) -> LeaveReason:
    """Return why a thread left its CPU, from prev_state of sched_switch."""
    if state & _STORAGE:
        return LeaveReason.STORAGE
    if state & _ASLEEP:
        return LeaveReason.ASLEEP
    if state & _ENDED:
        return LeaveReason.ENDED
    return LeaveReason.ASLEEP if state & _OTHERS else LeaveReason.PUSHED


class WaitReader(Protocol):
    """Reads records of one kind."""

    def event(self, kind: int, misc: int, data: bytes, at: int, ring: int) -> Event | None:
        """Return the event of the record that begins at `at`; None if the record is of another kind."""


class TracepointReader:
    """Reads samples of sched_switch (prev_pid, prev_state, next_pid) and of wake-ups (pid)."""

    def __init__(self, switch: PointLayout, wakes: tuple[PointLayout, ...]) -> None:
        self._number = switch.number
        self._switch = switch.fields.unpack_from
        self._wakes: Mapping[int, struct.Struct] = {wake.number: wake.fields for wake in wakes}
        self._left: dict[int, LeaveReason] = {}

    def event(self, kind: int, _misc: int, data: bytes, at: int, ring: int) -> Event | None:
        if kind != _SAMPLE:
            return None
        number = data[at + _RAW_AT] | data[at + _RAW_AT + 1] << 8
        if number == self._number:
            time, before, state, after = self._switch(data, at)
            if (left := self._left.get(state)) is None:
                left = self._left[state] = left_by(state)
            return time, before, after, left, ring
        if (wake := self._wakes.get(number)) is None:
            return None
        time, tid = wake.unpack_from(data, at)
        return time, WOKEN, tid, LeaveReason.PUSHED, ring


class SwitchReader:
    """Reads records of switches, which say nothing of wake-ups."""

    @staticmethod
    def event(kind: int, misc: int, data: bytes, at: int, ring: int) -> Event | None:
        if kind != _SWITCHED:
            return None
        _process, other, _own_process, tid, time = _SWITCH.unpack_from(data, at)
        if misc & SWITCH_OUT:
            return time, tid, other, LeaveReason.PUSHED if misc & PREEMPTED else LeaveReason.AWAY, ring
        return time, RUNS, tid, LeaveReason.PUSHED, ring  # the previous record may be missing if it was the idle task's


class WaitRecords:
    """Orders the records of several rings by time.

    A ring that is emptied later has newer records than one that is emptied earlier, so events after the beginning of a
    call wait for the next call.

    Attributes:
        lost: the number of records without room in a ring.
        damaged: the number of malformed blocks and records.
    """

    def __init__(self, reader: WaitReader) -> None:
        self.queue = RunQueue()
        self.lost = 0
        self.damaged = 0
        self._reader = reader
        self._pending: list[Event] = []
        self._lost = False

    def take(self, blocks: Iterator[bytes], began: int) -> None:
        """Add the content of rings.

        Args:
            blocks: whole records, of one ring each, in the order of CPUs.
            began: a time in ns, before the first ring was emptied.
        """
        events = self._pending
        for cpu, block in enumerate(blocks):
            self._read(block, events, cpu)
        events.sort(key=_TIME)
        if self._lost:
            self._lost = False
            self.queue.lost()
        queue = self.queue
        number = 0
        for number, (time, before, after, left, cpu) in enumerate(events):  # noqa: B007 - the first that is too new
            if time > began:
                break
            if before >= 0:
                queue.switched(time, before, after, left, cpu)
            elif before == WOKEN:
                queue.woken(time, after)
            else:
                queue.runs(time, after, cpu)
        else:
            number = len(events)
        self._pending = events[number:]

    def _read(self, block: bytes, events: list[Event], cpu: int) -> None:
        at, end, read, header = 0, len(block), self._reader.event, HEADER.unpack_from
        while at + HEADER.size <= end:
            kind, misc, size = header(block, at)
            if size < HEADER.size or at + size > end:
                self.damaged += 1
                self._lost = True
                return
            if kind == _LOST:
                self._lost = True
                self.lost += WORD.unpack_from(block, at + 16)[0]
            else:
                try:
                    event = read(kind, misc, block, at, cpu)
                except (struct.error, IndexError):
                    self.damaged += 1
                else:
                    if event is not None:
                        events.append(event)
            at += size


_ROOTS: Final = ("/sys/kernel/tracing/events/sched", "/sys/kernel/debug/tracing/events/sched")
_REMEDY: Final = "mount -t tracefs tracefs /sys/kernel/tracing, and run as root"
_SHARE: Final = 4  # by this factor, the rings of samples are larger
_SOFTWARE, _TRACEPOINT, _DUMMY = 1, 2, 9  # PERF_TYPE_SOFTWARE, PERF_TYPE_TRACEPOINT, PERF_COUNT_SW_DUMMY
_DISABLED, _SAMPLE_ID_ALL, _CONTEXT_SWITCH = 1 << 0, 1 << 18, 1 << 26


class WaitTimes:
    """Records the switches of all CPUs, and computes what threads waited for.

    Args:
        host: this machine.
        waiting: ends its wait when a ring is half full.

    Attributes:
        why_no_wakeups: why wake-ups and the reasons of sleep are unknown; None if they are known.

    Raises:
        HostError: EACCES if the user may not watch whole CPUs, EMFILE, EPERM beyond the memory that may be locked.
    """

    def __init__(self, host: Host, cpus: Sequence[int], waiting: WaitSet) -> None:
        self._host = host
        self._cpus = tuple(cpus)
        self._waiting = waiting
        self._rings: list[Ring] = []
        self._descriptors: list[int] = []
        self._leaders: list[int] = []
        self._pages = max(1, pages_for(len(cpus)) // _SHARE)
        self.why_no_wakeups: Unavailable | None = None
        points = find_tracepoints(host)
        if not isinstance(points, Unavailable):
            try:
                self._open(cpus, [PerfAttr(_TRACEPOINT, point.number, sample_period=1, sample_type=int(TRACED),
                                           flags=_DISABLED | _SAMPLE_ID_ALL) for point in points])
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

    def drain(self, until: int) -> None:
        """Add the records since the last call, up to a time that has passed."""
        self._records.take((ring.take() for ring in self._rings), until)

    def take(self, until: int) -> Mapping[int, WaitSums]:
        """Return the waits of each thread since the last call, up to a time that has passed.

        Events while the rings are emptied belong to the next span, so waits in progress are not added beyond `until`: a
        waiting thread may run meanwhile.
        """
        self.drain(until)
        sums = self._records.queue.take(until)
        for waited in sums.values():
            if waited.cpus:
                waited.cpus = {self._cpus[place]: length for place, length in waited.cpus.items()}
        return sums

    def take_cpus(self) -> dict[int, WaitSums]:
        """Return the waits that ended since the last call by the CPU on which they ended, after `take`."""
        return {self._cpus[place]: waited for place, waited in self._records.queue.take_cpus().items()}

    @property
    def lost(self) -> int:
        """The number of records that had no room in a ring or were malformed."""
        return self._records.lost + self._records.damaged

    def close(self) -> None:
        """Close every descriptor."""
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
    """Return sched_switch, then the wake-ups; or why they are unavailable."""
    if host.kind is not HostKind.REAL:
        return Unavailable(Reason.NO_HARDWARE, f"{host.name} has no scheduler that could be traced")
    refused: HostError | None = None
    for root in _ROOTS:
        try:
            layouts = [layout(integer(host.read_text(f"{root}/{name}/id")),
                              host.read_text(f"{root}/{name}/format"), fields)
                       for name, fields in (("sched_switch", ("prev_pid", "prev_state", "next_pid")),
                                            ("sched_wakeup", ("pid",)), ("sched_wakeup_new", ("pid",)))]
        except HostError as error:
            refused = refused or error
        except ValueError as error:
            return Unavailable(Reason.NO_DRIVER, f"{root}: {error}")
        else:
            if not host.privileges().contained("pid"):
                return tuple(layouts)
            return Unavailable(
                Reason.VIRTUALISED, "tracepoints name threads by numbers that are others in this container",
                "run turbotui on the machine itself")
    return Unavailable(Reason.NO_DRIVER, f"the scheduler's tracepoints cannot be read: {refused}", _REMEDY)
