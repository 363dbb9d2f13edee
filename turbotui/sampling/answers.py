"""Requests to workers and their answers: what was read on which CPU by which source, and when."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from typing import Protocol

from turbotui.dataclass import dataclass
from turbotui.machine.machine import Machine
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.signals import Raw, SignalId
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.arithmetic import words
from turbotui.sampling.plan import Task
from turbotui.sampling.rows import RowTick
from turbotui.sources.source import Source

SHARED = -1
"""Stands for a CPU number if a reading covers all CPUs."""


class AnsweringWorker(Protocol):
    """A worker that answers requests; compared by identity."""

    busy: bool  # whether it was asked and has not answered yet


@dataclass(frozen=True, slots=True)
class Readings:
    """Results of reads as parallel lists, one item per reader, in order of time.

    The lists are parallel because a machine with a thousand CPUs has ten thousand results every tick, and their
    consumer runs on another CPU: it then touches the lists and the values, and nothing else.
    """

    cpus: list[int] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)  # id of the source
    # the signals of each reading; the same tuple object as long as a reader returns the same signals
    signals: list[tuple[SignalId, ...]] = field(default_factory=list)
    # started_ns, ended_ns: host monotonic time around the read
    started_ns: list[int] = field(default_factory=list)
    ended_ns: list[int] = field(default_factory=list)
    middles_ns: array[int] = field(default_factory=lambda: array("Q"))  # the middle of that time
    # one raw value per signal, in an array if all are words; None if the read failed
    raws: list[Sequence[Raw] | None] = field(default_factory=list)

    def add(self, head: tuple[int, str], signals: tuple[SignalId, ...], started_ns: int, ended_ns: int,
            raw: Sequence[Raw] | None) -> None:
        """Append the reading of a CPU by a source."""
        self.cpus.append(head[0])
        self.sources.append(head[1])
        self.signals.append(signals)
        self.started_ns.append(started_ns)
        self.ended_ns.append(ended_ns)
        self.middles_ns.append((started_ns + ended_ns) >> 1)
        self.raws.append(None if raw is None else words(raw))

    def extend(self, other: Readings) -> None:
        """Append the readings of another worker."""
        for item in fields(self):
            getattr(self, item.name).extend(getattr(other, item.name))

    def each(self) -> Iterator[tuple[tuple[int, str], tuple[SignalId, ...], int, int, Sequence[Raw]]]:
        """Iterate over the successful reads, in the form of `add`'s arguments."""
        heads = zip(self.cpus, self.sources, strict=True)
        for head, names, began, ended, raw in zip(heads, self.signals, self.started_ns, self.ended_ns, self.raws,
                                                  strict=True):
            if raw is not None:
                yield head, names, began, ended, raw

    def known(self) -> Readings:
        """A copy without failed reads."""
        readings = Readings()
        for answer in self.each():
            readings.add(*answer)
        return readings

    def kind(self) -> Readings:
        """The CPUs, sources and signals of these readings without their values; cheap to keep."""
        return Readings(self.cpus, self.sources, self.signals)

    def alike(self, other: Readings) -> bool:
        """Whether both have the same CPUs, sources and signals in the same order."""
        return self.cpus == other.cpus and self.sources == other.sources and self.signals == other.signals


@dataclass(frozen=True, slots=True)
class SharedReading:
    """The result of reading a file that covers all CPUs: for each signal, a sequence over its instances."""

    source: str
    signals: tuple[SignalId, ...]
    started_ns: int
    ended_ns: int
    raw: Sequence[Sequence[Raw]] | None
    lost: bool = False  # whether the thread lost its CPU in between
    unsure: Mapping[SignalId, frozenset[int]] = field(default_factory=dict)  # of a `Summing` reader


@dataclass(frozen=True, slots=True)
class Answer:
    """A worker's answer to one tick."""

    worker: AnsweringWorker
    readings: Readings = field(default_factory=Readings)
    shared: tuple[SharedReading, ...] = ()
    gone: frozenset[int] = frozenset()  # CPUs that were found offline
    began: frozenset[tuple[str, int]] = frozenset()  # (source id, CPU or SHARED) whose counts start with this tick
    # (source id, CPU or SHARED) -> why opening or reading failed
    failures: Mapping[tuple[str, int], str] = field(default_factory=dict)
    # answers to the ticks of a request for several, by tick number; the other fields are empty then
    ticks: Mapping[int, Answer] = field(default_factory=dict)
    late: bool = False  # whether it came after its own tick and stands in for a later one
    # (source id, CPU or SHARED) -> length in ns of a read in which the thread lost its CPU
    interrupted: Mapping[tuple[str, int], int] = field(default_factory=dict)
    # the rows of the worker's kind, or the reason why there are none
    rows: Mapping[KindId, RowTick | Unavailable] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowRequest:
    """The tick at which rows are to be read."""

    wall_ns: int  # this, and the next: see `RowTick`
    started_ns: int
    slept_ns: int = 0  # see `Columns.begin`
    published: Mapping[KindId, RowTick] = field(default_factory=dict)  # the newest tick that a snapshot has


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """One request: make the open readers match these tasks, then read all of them."""

    tasks: tuple[Task, ...]
    shared: tuple[tuple[Source, frozenset[SignalId]], ...]
    machine: Machine
    reply: Callable[[Answer], None]
    # only read open counters of these tasks, to see whether they wrapped between two ticks; open and close nothing
    wrap_check: bool = False
    # times on the loop's clock (monotonic, in s) at which to read; empty: once, immediately
    ticks: tuple[float, ...] = ()
    after: float = 0.0  # seconds after each tick at which this worker reads
    rows: RowRequest | None = None  # for a worker that reads rows; the others read nothing for it

    @property
    def cpus(self) -> set[int]:
        """The CPUs of the tasks, and SHARED for files of all CPUs."""
        return {task.cpu for task in self.tasks}.union((SHARED,) if self.shared else ())
