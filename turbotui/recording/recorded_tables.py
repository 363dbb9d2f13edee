"""Tables that a recording can hold beside columns and kinds of rows, as features register them."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Final

from turbotui.dataclass import dataclass
from turbotui.feature_list import FEATURES, parts_of
from turbotui.machine.machine import Machine
from turbotui.machine.region_pipes import RegionPipe
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.signals import SignalId
from turbotui.recording.framing import RecordingError
from turbotui.recording.rows import IntervalRows
from turbotui.sampling.frame import Frame
from turbotui.sampling.session import Session
from turbotui.sources.source import Source

if TYPE_CHECKING:  # what only watches imports no codec: its feature is asked here what a recording would hold
    from turbotui.recording.recorder import FrameRecorder

PATIENCE: Final = 5.0
"""Seconds to wait for the rows of an interval."""


class RowRecorder:
    """Records the rows of a table, interval by interval.

    Attributes:
        what: the word for the rows, for people.
        failure: why they are not recorded; "" while they are.
    """

    what: ClassVar[str]

    def __init__(self, recorder: FrameRecorder) -> None:
        self.failure = ""
        self._recorder = recorder
        self._taken = threading.Semaphore(0)
        self._asked = False

    def start(self) -> None:
        """Begin to count; rows that are read at ticks need nothing before the first one."""

    def settle(self) -> None:
        """Wait until the requested interval was recorded; called before the next tick is, which a reader waits for."""
        if self._asked and self._can_answer:
            self._taken.acquire(timeout=PATIENCE)
        self._asked = False

    @property
    def _can_answer(self) -> bool:
        """Whether a requested interval will come."""
        return True

    def end_interval(self, frame: Frame) -> None:
        """End the interval of the rows at a frame's tick, after the previous one was recorded."""
        raise NotImplementedError

    def stop(self) -> None:
        """Record the last interval, and close every counter and file that is open."""

    def _record(self, rows: IntervalRows) -> None:
        with contextlib.suppress(RecordingError):  # the next frame fails in the same way, and is reported
            self._recorder.rows(rows)



@dataclass(slots=True)
class RecordingRequest:
    """A recording that is about to begin."""

    session: Session
    recorder: FrameRecorder
    tables: Container[str]  # the words of the tables that it has to hold
    # pipe, pid: the FIFO of the marks of the recorded command, and its process; none if no table is of marks
    pipe: RegionPipe | None = None
    pid: int = 0
    made: list[RowRecorder] = field(default_factory=list)  # the recorders so far


@dataclass(frozen=True, slots=True)
class SourcesBeside:
    """What a recording reads beside its columns."""

    sources: tuple[Source, ...] = ()
    signals: frozenset[SignalId] = frozenset()
    notes: tuple[str, ...] = ()  # why requested ones are not among them


@dataclass(frozen=True, slots=True)
class RecordedTables:
    """Tables of a feature that a recording can hold."""

    words: Mapping[str, str]  # the words of `record --tables`, and what each stands for
    # of the machine and the requested words, of which it may find none; called for every recording
    sources: Callable[[Machine, Container[str]], SourcesBeside] | None = None
    columns: Callable[[Iterable[CounterColumn]], tuple[CounterColumn, ...]] | None = None  # those to record
    recorders: Callable[[RecordingRequest], None] | None = None  # adds to `made`
    marked: tuple[str, ...] = ()  # words of what a command marks
    exclusive: str = ""  # why no two of the words can be recorded together


@functools.cache
def known_tables() -> tuple[RecordedTables, ...]:
    """The tables of all features."""
    return tuple(tables for feature in FEATURES for tables in parts_of(feature, "recorded", RecordedTables))
