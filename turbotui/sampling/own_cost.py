"""The cost of watching: CPU time, wake-ups, memory and system calls of this process, frame by frame."""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.quantities.plain_numbers import integer
from turbotui.sampling.frame import Frame

_RESIDENT_SECONDS: Final = 3.0  # between two readings of the process's own memory, each of which costs a cold 0.1 ms


@dataclass(frozen=True, slots=True)
class OwnCost:
    """The cost of watching: CPU time, memory, wake-ups and late answers.

    Frames that were held back and published together share the cost of their group evenly.
    """

    cpu_percent: float | None  # of one CPU, over the last interval, children not included; None before the second frame
    rss_bytes: int | None  # resident memory; None where /proc/self/statm cannot be read
    sample_ms: float  # from the first read's start to the last one's end in the last tick
    late: int  # worker answers that came too late since the start
    overruns: int  # ticks skipped since the start because a tick was still in progress
    cpu_us: float | None = None  # CPU time of one interval in microseconds, all threads; None before the second frame
    # number of wake-ups of this process's threads in an interval; None before the second frame
    wakeups: float | None = None
    reads: float = 0.0  # counter groups that spies read in an interval
    opened: float = 0.0  # counters that they opened in an interval


def missed_words(frame: Frame | None, interval: float) -> str:
    """A sentence about missed deadlines and late CPUs since the start; "" if there were none.

    Args:
        interval: nominal seconds between deadlines.
    """
    if frame is None:
        return ""
    skipped, late = frame.newer.overruns, frame.newer.late_total
    sentences = []
    if skipped:
        were, them = ("was", "it") if skipped == 1 else ("were", "them")
        sentences.append(f"{skipped:,} of {frame.seq + skipped:,} deadlines {were} missed: reading and printing took "
                         f"longer than the interval of {interval:g} s; the intervals that hold {them} are longer")
    if late:
        sentences.append("1 answer of a CPU came too late for its interval, and counts in the next" if late == 1 else
                         f"{late:,} answers of CPUs came too late for their intervals, and count in the next")
    return "; ".join(sentences) + ("; a longer --interval loses none" if sentences else "")


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU time and wake-ups of this process since its start."""

    at: float  # s of monotonic time
    used: float  # s of CPU time, all threads
    woken: int  # number of wake-ups of its threads


def usage_now() -> Usage:
    """Read the CPU time and the wake-ups of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    # a thread that waits yields its CPU voluntarily, and is woken once for it (getrusage(2), ru_nvcsw)
    return Usage(time.monotonic(), usage.ru_utime + usage.ru_stime, usage.ru_nvcsw)


@dataclass(frozen=True, slots=True)
class _Mark:
    usage: Usage
    reads: int
    opened: int
    frames: int  # that were published together, and share what was used since the mark before


def _cost_between(before: _Mark | None, mark: _Mark, known: OwnCost) -> OwnCost:
    """The cost of each frame of a group, which is all that was used since the group before."""
    frames = mark.frames
    if before is None or mark.usage.at <= before.usage.at:
        return replace(known, reads=mark.reads / frames, opened=mark.opened / frames)
    used = mark.usage.used - before.usage.used
    return replace(
        known, cpu_percent=100.0 * used / (mark.usage.at - before.usage.at), cpu_us=1e6 * used / frames,
        wakeups=(mark.usage.woken - before.usage.woken) / frames, reads=(mark.reads - before.reads) / frames,
        opened=(mark.opened - before.opened) / frames)


class Meter:
    """Measures this process from frame to frame, on the thread that publishes frames.

    Args:
        host: the machine on which this process runs, whatever it watches.
    """

    def __init__(self, host: Host, usage: Callable[[], Usage] = usage_now) -> None:
        self._host = host
        self._usage = usage
        # the marks of the last two groups of frames, and the last frame's ns of reading, late answers and overruns:
        # one object, which another thread sees whole
        self._noted: tuple[_Mark | None, _Mark | None, tuple[int, int, int]] = (None, None, (0, 0, 0))
        self._behind = 0
        self._resident_at = -math.inf
        self._resident_bytes: int | None = None

    @property
    def cost(self) -> OwnCost:
        """The cost beside the newest frame, worked out and memory read when it is asked for: text output never asks."""
        before, mark, (span_ns, late, overruns) = self._noted
        cost = OwnCost(None, None, span_ns / 1e6, late, overruns)
        if mark is None:
            return cost
        if mark.usage.at - self._resident_at >= _RESIDENT_SECONDS:
            self._resident_at, self._resident_bytes = mark.usage.at, self._resident()
        return replace(_cost_between(before, mark, cost), rss_bytes=self._resident_bytes)

    def note(self, frame: Frame, reads: int, opened: int) -> None:
        """Note a new frame, with the groups that spies read and the counters that they opened since the start."""
        newer = frame.newer
        before, mark, _ = self._noted
        if not self._behind:  # the first of those that were held back together
            before, mark = mark, _Mark(self._usage(), reads, opened, newer.behind + 1)
        self._behind = newer.behind
        self._noted = before, mark, (newer.span_ns, newer.late_total, newer.overruns)

    def _resident(self) -> int | None:
        try:
            words = self._host.read_text("/proc/self/statm").split()  # proc(5): pages, the second is resident
            return integer(words[1]) * resource.getpagesize()
        except (HostError, IndexError, ValueError):
            return None
