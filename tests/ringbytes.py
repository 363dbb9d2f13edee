"""Records as the kernel writes them, for tests of the parser and the aggregator."""

from __future__ import annotations

import struct

from turbotui.machine.perf_records import ReadFormat

FORMAT = int(ReadFormat.GROUP | ReadFormat.ENABLED | ReadFormat.RUNNING | ReadFormat.ID)
WITH_LOST = FORMAT | int(ReadFormat.LOST)


def record(kind: int, body: bytes, misc: int = 0) -> bytes:
    return struct.pack("IHH", kind, misc, 8 + len(body)) + body


def trailer(pid: int, tid: int, time: int, cpu: int = 0, event: int = 77) -> bytes:
    return struct.pack("IIQIIQ", pid, tid, time, cpu, 0, event)


def group(values: tuple[int, ...], enabled: int = 100, running: int = 100, lost: tuple[int, ...] = ()) -> bytes:
    body = struct.pack("QQQ", len(values), enabled, running)
    for number, value in enumerate(values):
        body += struct.pack("QQ", value, number + 1)
        if lost:
            body += struct.pack("Q", lost[number])
    return body


def sample(pid: int, tid: int, time: int, values: tuple[int, ...], cpu: int = 0, *, event: int = 77,
           lost: tuple[int, ...] = ()) -> bytes:
    return record(9, struct.pack("QIIQII", event, pid, tid, time, cpu, 0)
                  + group(values, running=values[1], lost=lost))  # the kernel's clock of a set is its run time


def fork(pid: int, parent_pid: int, tid: int, parent_tid: int, time: int) -> bytes:
    return record(7, struct.pack("IIIIQ", pid, parent_pid, tid, parent_tid, time)
                  + trailer(parent_pid, parent_tid, time))


def ended(pid: int, tid: int, time: int) -> bytes:
    return record(4, struct.pack("IIIIQ", pid, 1, tid, 1, time) + trailer(pid, tid, time))


def comm(pid: int, tid: int, name: bytes, time: int) -> bytes:
    padded = name + b"\0" * (8 - len(name) % 8)
    return record(3, struct.pack("II", pid, tid) + padded + trailer(pid, tid, time), misc=1 << 13)


def lost(count: int, time: int) -> bytes:
    return record(2, struct.pack("QQ", 77, count) + trailer(0, 0, time))


def last_counts(pid: int, tid: int, time: int, values: tuple[int, ...], *, event: int = 77) -> bytes:
    return record(8, struct.pack("II", pid, tid) + group(values, running=values[1])
                  + trailer(pid, tid, time, event=event))


def switch(tid: int, time: int, *, out: bool, cpu: int = 0) -> bytes:
    return record(14, trailer(tid, tid, time, cpu), misc=out << 13)


def cpu_switch(tid: int, time: int, *, out: bool, other: int = 0, event: int = 79) -> bytes:
    return record(15, struct.pack("II", other, other) + trailer(tid, tid, time, event=event), misc=out << 13)
