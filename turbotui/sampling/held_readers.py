"""Readers that a worker holds open: how each is read and decoded, and when it tries again to open what it lacks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from turbotui.dataclass import dataclass
from turbotui.machine.host import HostError
from turbotui.machine.timed_reads import is_interrupted, undisturbed
from turbotui.machine.topology import Topology
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sampling.plan import Task
from turbotui.sources.source import CpuGone, Incomplete, Momentary, Reader, Rotating, SharedReader, Summing

_FIRST_GAP, _LONGEST_GAP = 0.5, 60.0  # seconds before a reader tries again to open what it lacks: at first, at most
_APART = 8  # parts of a gap by which the attempts of CPUs differ


@dataclass(slots=True)
class HeldReader:
    """An open reader with what was learned of it."""

    wanted: frozenset[SignalId]  # the signals that it returns
    task: Task
    reader: Reader
    rotating: Rotating | None  # the same reader, if it rotates between event sets
    take: Callable[[], object]  # reads it; `decode` turns the result, read between two times in ns, into values
    decode: Callable[[Any, int, int], Sequence[Raw]]
    momentary: bool = False  # whether it may take any time, and is read once
    quickest: int = 0  # ns of its quickest read so far; 0 before the first
    lacking: Incomplete | None = None  # the same reader, while it lacks something that may be had later
    retry_at: float = 0.0  # when it tries to get that again, on the worker's clock
    gap: float = _FIRST_GAP  # seconds between the last two attempts

    def retry(self, now: float) -> None:
        """Try to complete the reader if it is time; the attempts become rarer, and those of CPUs do not coincide."""
        if self.lacking is None or now < self.retry_at:
            return
        with contextlib.suppress(HostError, CpuGone):  # of the CPU, reading tells; for a descriptor it tries again
            self.lacking.retry()
        self.gap = min(_LONGEST_GAP, 2 * self.gap)
        self.retry_at = now + self.gap * (1 + self.task.cpu % _APART / _APART)
        if not self.lacking.incomplete:
            self.lacking = None

    def taken(self, now: Callable[[], int]) -> Taken:
        """Read once, and return the result with the time before and after.

        Raises:
            HostError: the reader cannot read, or whatever else `take` raises.
        """
        started, result, ended = undisturbed(self.take, self.quickest, now)
        interrupted = not self.momentary and is_interrupted(ended - started, self.quickest)
        self.quickest = 0 if self.momentary else min(self.quickest or ended - started, ended - started)
        return self, started, result, ended, interrupted


@dataclass(slots=True)
class HeldSharedReader:
    """An open reader of a file that covers all CPUs."""

    wanted: frozenset[SignalId]  # the signals that it returns
    topology: Topology  # whose CPUs it returns
    reader: SharedReader
    summing: Summing | None  # the same reader, if it adds up counts itself
    quickest: int = 0  # ns of its quickest read so far; 0 before the first


Taken = tuple[HeldReader, int, object, int, bool]
"""The reader, ns before, the result or error of `take`, ns after; whether the thread lost its CPU in between."""


def hold(task: Task, reader: Reader, now: float) -> HeldReader:
    """Hold a reader that was opened at this time of the worker's clock."""
    if isinstance(reader, Rotating):
        return HeldReader(task.wanted, task, reader, reader, reader.capture, reader.decode)
    lacking = reader if isinstance(reader, Incomplete) and reader.incomplete else None
    return HeldReader(task.wanted, task, reader, None, reader.read, _as_it_is, isinstance(reader, Momentary),
                      lacking=lacking, retry_at=0.0 if lacking is None else now + _FIRST_GAP)


def _as_it_is(raw: Sequence[Raw], _started: int, _ended: int) -> Sequence[Raw]:
    return raw
