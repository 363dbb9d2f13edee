"""Readers that a worker holds open: how each is read and decoded, and when it tries again to open what it lacks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

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
    momentary: Momentary | None = None  # the same reader, if it may take any time, and is read once
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
        interrupted = self.momentary is None and is_interrupted(ended - started, self.quickest)
        self.quickest = 0 if self.momentary is not None else min(self.quickest or ended - started, ended - started)
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
    if has_role(reader, Rotating):
        rotating = cast("Rotating", reader)
        return HeldReader(task.wanted, task, reader, rotating, rotating.capture, rotating.decode)
    lacking = cast("Incomplete", reader) if has_role(reader, Incomplete) else None
    if lacking is not None and not lacking.incomplete:
        lacking = None
    momentary = cast("Momentary", reader) if has_role(reader, Momentary) else None
    return HeldReader(task.wanted, task, reader, None, reader.read, _as_it_is, momentary,
                      lacking=lacking, retry_at=0.0 if lacking is None else now + _FIRST_GAP)


def has_role(reader: object, protocol: type) -> bool:
    """Whether a reader has all that a protocol asks for.

    `isinstance` lists the protocol's members anew each time, in 10 to 40 us; 224 CPUs have some thousand readers.
    """
    return all(hasattr(reader, name) for name in _members(protocol))


@cache
def _members(protocol: type) -> tuple[str, ...]:
    return tuple(name for name in vars(protocol) if not name.startswith("_"))


def _as_it_is(raw: Sequence[Raw], _started: int, _ended: int) -> Sequence[Raw]:
    return raw
