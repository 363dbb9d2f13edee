"""Records of switches and wake-ups as the kernel writes them."""

from __future__ import annotations

import struct

import pytest

from turbotui.machine.tasks.run_queue import LeaveReason, WaitSums
from turbotui.machine.tasks.wait_times import SwitchReader, TracepointReader, WaitRecords, layout, left_by

# Formats of Linux 6.18, x86-64, without their print lines
COMMON = """\
name: {}
ID: {}
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

"""
SWITCH = COMMON.format("sched_switch", 372) + """\
\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;
\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;
\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;
\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;
\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;
"""
WAKE = COMMON.format("sched_wakeup", 374) + """\
\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;
\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;
\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;
"""
NAMES = ("prev_pid", "prev_state", "next_pid")
A, B = 4_000_001, 77
LATE = 10**9


def traced() -> TracepointReader:
    return TracepointReader(layout(372, SWITCH, NAMES), (layout(374, WAKE, ("pid",)),))


def sample(number: int, time: int, body: bytes) -> bytes:
    raw = struct.pack("=HBBi", number, 0, 0, 1) + body
    raw += b"\0" * ((-len(raw) - 4) % 8)
    return struct.pack("=IHHIIQI", 9, 0, 28 + len(raw), 1, 1, time, len(raw)) + raw


def switch(time: int, before: int, state: int, after: int) -> bytes:
    body = b"before".ljust(16, b"\0") + struct.pack("=iiq", before, 120, state)
    return sample(372, time, body + b"after".ljust(16, b"\0") + struct.pack("=ii", after, 120))


def wake(time: int, tid: int) -> bytes:
    return sample(374, time, b"who".ljust(16, b"\0") + struct.pack("=iii", tid, 120, 1))


def record(time: int, tid: int, other: int, misc: int) -> bytes:
    return struct.pack("=IHHIIIIQ", 15, misc, 32, other, other, tid, tid, time)


def lost(count: int) -> bytes:
    return struct.pack("=IHHQQ", 2, 0, 24, 0, count)


OUT, PUSHED = 1 << 13, 1 << 14


def waited(records: WaitRecords, *blocks: bytes, began: int = LATE, now: int = LATE) -> dict[int, WaitSums]:
    records.take(iter(blocks), began)
    return dict(records.queue.take(now))


@pytest.mark.parametrize(("state", "left"), [
    (0x0, LeaveReason.PUSHED), (0x100, LeaveReason.PUSHED), (0x1000, LeaveReason.PUSHED), (0x1, LeaveReason.ASLEEP),
    (0x2, LeaveReason.STORAGE),
    (0x82, LeaveReason.STORAGE), (0x80, LeaveReason.ASLEEP), (0x4, LeaveReason.ASLEEP), (0x10, LeaveReason.ENDED),
    (0x20, LeaveReason.ENDED),
])
def test_states_as_the_kernel_writes_them(state: int, left: LeaveReason) -> None:
    assert left_by(state) is left


def test_tracepoints_say_what_a_thread_waits_for_and_until_when() -> None:
    result = waited(WaitRecords(traced()), switch(100, A, 2, B) + wake(400, A) + switch(450, B, 0x100, A) +
                    switch(500, A, 0x10, B))
    assert result[A] == WaitSums(queued=50, times=1, longest=50, storage=300)
    assert result[B] == WaitSums(queued=50, times=1, longest=50, pushed=1, pushers={A: 1})


def test_rings_are_brought_into_one_order() -> None:
    """The wake-up is in another CPU's ring than the switches around it."""
    result = waited(WaitRecords(traced()), switch(100, A, 1, B) + switch(900, B, 1, A), wake(300, A), now=900)
    assert result[A] == WaitSums(queued=600, times=1, longest=600, asleep=200)


def test_what_came_after_the_look_began_waits_for_the_rings_that_were_emptied_before() -> None:
    records = WaitRecords(traced())
    assert waited(records, switch(100, A, 1, B) + switch(900, B, 1, A), began=500, now=500)[A].asleep == 400
    assert waited(records, wake(600, A), now=1000)[A] == WaitSums(queued=300, times=1, longest=300, asleep=100)


def test_records_of_switches_alone_know_who_was_pushed_off() -> None:
    result = waited(WaitRecords(SwitchReader()), record(100, A, B, OUT | PUSHED) + record(101, B, A, 0) +
                    record(600, B, A, OUT) + record(601, A, B, 0))
    assert result[A] == WaitSums(queued=500, times=1, longest=500, pushed=1, pushers={B: 1})
    assert B not in result, "nobody knows when it will have been woken"


def test_a_thread_that_comes_after_an_idle_task_nobody_recorded() -> None:
    result = waited(WaitRecords(SwitchReader()), record(100, A, B, OUT | PUSHED), record(700, A, 0, 0))
    assert result[A].queued == 600


def test_losses_are_counted_and_nothing_is_made_up() -> None:
    records = WaitRecords(traced())
    result = waited(records, switch(100, A, 0, B), began=150, now=150)
    assert result[A].queued == 50
    assert A not in waited(records, lost(12) + switch(9_000, B, 1, A))
    assert records.lost == 12


def test_other_records_and_tracepoints_say_nothing() -> None:
    records = WaitRecords(traced())
    assert waited(records, sample(999, 5, b"\0" * 32) + struct.pack("=IHHQ", 3, 0, 16, 0)) == {}
    assert records.damaged == 0


@pytest.mark.parametrize("block", [struct.pack("=IHH", 9, 0, 4), switch(100, A, 0, B)[:-8],
                                   struct.pack("=IHHQ", 9, 0, 16, 0)])
def test_what_is_cut_or_wrong_is_counted_as_damaged(block: bytes) -> None:
    records = WaitRecords(traced())
    assert waited(records, block) == {}
    assert records.damaged == 1


@pytest.mark.parametrize(("text", "names"), [
    (WAKE, ("prev_pid",)), (SWITCH, ("prev_comm",)), (SWITCH, ("next_pid", "prev_pid")), ("", ("pid",))])
def test_a_format_that_lacks_a_field_is_refused(text: str, names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="tracepoint 5"):
        layout(5, text, names)


def test_a_wait_is_booked_up_to_the_end_of_its_span_and_no_further() -> None:
    records = WaitRecords(traced())
    for until, block, queued in ((500, switch(100, A, 0, B) + switch(900, B, 1, A), 400), (1_000, b"", 400)):
        records.take(iter([block]), until)
        assert records.queue.take(until)[A].queued == queued
