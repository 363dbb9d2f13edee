"""Rules: a cause of slowness each, with the test for it, its certainty and its words.

One number compares findings of different kinds: the share of the wanted work that is lost. Wanted work is what tasks
    would have got done in the interval on the same machine with nothing in their way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from functools import cached_property
from typing import Final, cast

from turbotui.dataclass import dataclass
from turbotui.diagnosis.core_clocks import LoweredClock
from turbotui.diagnosis.limit_history import LimitVerdict
from turbotui.machine.tasks.process_stats import TICKS
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import ColumnId, Value
from turbotui.quantities.marks import sign_above_peak
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame
from turbotui.tables.row_names import row_name

_NUMBERS: Final = frozenset((int, float))
_FEWEST_TICKS: Final = 2.5  # one or two can be chance


NEVER: Final = 1000.0
"""More percent busy than there is: a rule without which a verdict is sure."""


class Certainty(Enum):
    """How certain it is that a cause is present and costs what the finding says."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


WEIGHTS: Final[Mapping[Certainty, float]] = {Certainty.CERTAIN: 1.0, Certainty.LIKELY: 0.8, Certainty.POSSIBLE: 0.5}
"""Factors for ranking findings: a guess ranks below what was counted, unless it would cost twice as much."""


class RankedBy(Enum):
    """The figure by which the tasks responsible for a cause are ranked."""

    CPU = "CPU time"
    THREAD = "one thread's CPU time"
    WAIT = "waits for a CPU"
    IO = "waits for input and output"
    BYTES = "bytes to and from storage"
    FAULTS = "major page faults"
    VECTORS = "use of AVX-512"
    WAKES = "wake-ups"
    NOBODY = "not a task's doing"


class NoFinding(Enum):
    """A rule's answer where it has nothing to report.

    A rule answers CLEAR, UNKNOWN or NOT_ASKED. The diagnosis turns an UNKNOWN into BLIND or LATE, by the reasons of the
    columns that the rule needs.
    """

    CLEAR = "does not hold"
    UNKNOWN = "unknown"
    BLIND = "cannot be read here"
    LATE = "unknown in this interval"
    NOT_ASKED = "not asked for"


@dataclass(frozen=True, slots=True)
class Observed:
    """A cause that is present in an interval."""

    lost: float  # share of the wanted work that it costs, 0 to 1
    sentence: str  # with the number; starts with a capital letter and has no full stop
    sure: Certainty
    row: RowId = SYSTEM_ROW  # the affected row; the whole machine if it is everywhere
    remedy: str = ""  # what a user can do, if it goes beyond the rule's own remedy
    who: tuple[str, ...] = ()  # names of groups or devices from the readings themselves
    # whether nothing is lost that is seen: no task waits, and none is slowed. Such a finding is no bottleneck.
    news: bool = False


@dataclass(frozen=True, slots=True)
class SlownessRule:
    """A cause of slowness."""

    id: str  # one word, as machine formats have it
    cause: str  # a noun phrase for people
    needs: tuple[tuple[ColumnId, ...], ...]  # the columns that it reads; one of each group has to be known
    judge: Callable[[JudgedFrame], Observed | NoFinding]  # the observation in an interval
    source: str  # what it reads in a word or two, for sentences about causes that cannot be judged
    screen: str  # key of the screen with details
    remedy: str  # what a user can do; command lines are for the user, and never run here
    whose: RankedBy = RankedBy.NOBODY  # the figure by which responsible tasks are found
    wants: tuple[ColumnId, ...] = ()  # columns that improve the sentence
    kinds: tuple[KindId, ...] = ()  # kinds of rows that do, where they are read
    costly: bool = False  # whether reading takes files of every CPU, so that it is done on request only
    least: float = 0.0  # percent of the wanted work below which the user does not want to see it
    # percent busy of the machine from which no verdict is sure while this rule cannot be judged; NEVER for a cause that
    # costs little, or that few machines can show
    decides_from: float = 0.0

    @property
    def columns(self) -> tuple[ColumnId, ...]:
        """Every column that the rule reads."""
        return (*(name for group in self.needs for name in group), *self.wants)


def of_peak(rate: float, peak: float, *, at_most: bool) -> str:
    """Bytes per second beside the most that there can be, "33.6 of 614 GB/s (5 %)"; `?` marks more than that."""
    limit, least = ("at most ", " or more") if at_most else ("", "")
    mark = sign_above_peak(rate / peak) or least
    return f"{rate / 1e9:,.1f} of {limit}{peak / 1e9:,.0f} GB/s ({100 * rate / peak:.0f} %{mark})"


@dataclass(frozen=True, slots=True)
class MemoryShare:
    """Memory traffic of a package in an interval."""

    row: RowId  # the package
    rate: float  # bytes per second
    peak: float  # bytes per second that its channels can move
    at_most: bool  # whether the peak is only an upper limit

    @property
    def words(self) -> str:
        """The traffic and its share of the peak."""
        return of_peak(self.rate, self.peak, at_most=self.at_most)


@dataclass(frozen=True, slots=True)
class MemoryTotal:
    """Memory traffic of the whole machine in an interval."""

    rate: float  # bytes per second
    peak: float | None  # bytes per second that all channels can move; None if unknown
    at_most: bool = False  # whether the peak is only an upper limit
    local: float | None = None  # bytes per second from and to memory of the node that asks; None if unknown

    @property
    def words(self) -> str:
        """The traffic, its share of the peak and what of it is local."""
        text = (of_peak(self.rate, self.peak, at_most=self.at_most) if self.peak else f"{self.rate / 1e9:,.1f} GB/s")
        return text if self.local is None or not self.rate else f"{text}, {100 * self.local / self.rate:.0f} % local"


@dataclass(frozen=True, slots=True)
class ThrottledGroup:
    """A control group that used up its CPU quota."""

    name: str  # below the mount, as safe text
    percent: float  # of the periods of its quota
    quota: float | None  # number of CPUs that it allows; None if unknown
    stood: float | None = None  # time for which its tasks stood still, in CPUs; None if the kernel does not count it


@dataclass(frozen=True, slots=True)
class PressedGroup:
    """A control group whose tasks waited."""

    name: str  # below the mount, as safe text
    percent: float  # of the time in which some of its tasks waited for a resource

    @property
    def words(self) -> str:
        """The group and how long it waited, in words."""
        return f"{self.name} (waits {self.percent:.0f} % of the time)"


@dataclass(frozen=True, slots=True)
class MemoryMover:
    """A group of resctrl that moved more bytes from and to memory than any other."""

    name: str  # as safe text
    rate: float  # bytes a second
    share: float | None = None  # of the bytes of all groups, 0 to 1; None where some are not counted
    least: bool = False  # whether a group inside is not counted, so that the rate is the least

    @property
    def words(self) -> str:
        """The group and what it moves."""
        share = " of what is counted" if self.share is None else f", {100 * self.share:.0f} % of all groups"
        return f"{self.name} moves {'at least ' if self.least else ''}{self.rate / 1e9:,.0f} GB/s{share}"


@dataclass(frozen=True, slots=True)
class UnseenTasks:
    """Tasks that /proc does not list."""

    why: Unavailable  # what keeps them from being seen, and what would show them
    ran: float | None = None  # how many CPUs they kept busy between two looks; None if unknown

    @property
    def words(self) -> str:
        """A name for them, with their part."""
        return "tasks that cannot be seen" + ("" if self.ran is None else f" ({100 * self.ran:,.0f} % CPU)")

    @property
    def sentence(self) -> str:
        """Their part, and what would show them."""
        return f"{self.words}: {self.why.sentence()}"


@dataclass(frozen=True, slots=True)
class LookResults:
    """Results of looks at tasks, control groups and settings, which are too expensive for every tick."""

    # name of the thread with the most CPU time, and its share of a CPU; None without a look
    busiest: tuple[str, float] | None = None
    groups: bool = False  # whether control groups were looked at
    throttled: ThrottledGroup | None = None  # the group that stood still most; None for none
    # by resource ("cpu", "memory", "io"), the innermost of the groups that waited most for it
    pressed: Mapping[str, PressedGroup] = field(default_factory=dict, hash=False)
    placement: str = ""  # why the kernel chose its cores; "" if unknown
    # the tasks behind causes, the largest part first, by the figure that ranks them
    who: Mapping[RankedBy, tuple[str, ...]] = field(default_factory=dict, hash=False)
    unseen: UnseenTasks | None = None  # tasks that cannot be looked at; None if all can
    mover: MemoryMover | None = None  # who moved most bytes; None where no resctrl counts them
    # bytes a second that L3 caches moved from and to memory; None where not all of them are counted, and in recordings
    traffic: float | None = None
    local: float | None = None  # those of them from and to memory of the caches' own node; None likewise
    tail: str = ""  # whose waits for a CPU are long, and behind whom; "" where switches are not read

    def waiting(self, resource: str) -> tuple[str, ...]:
        """The group that waited most for a resource, in words; empty for none."""
        group = self.pressed.get(resource)
        return () if group is None else (group.words,)


@dataclass(frozen=True)
class JudgedFrame:
    """An interval as rules see it."""

    frame: Frame  # the interval
    catalog: Catalog  # of the machine
    limits: Sequence[LimitVerdict] = ()  # what holds each package back, including earlier intervals
    # memory traffic of the fullest package and its peak, or why it is unknown; None if it is not asked for
    memory: MemoryShare | Unavailable | None = None
    # results of looks at tasks and control groups, beside the frame's columns
    seen: LookResults = field(default_factory=LookResults)
    # of the CPUs whose clock was timed in the interval, by how much their host has lowered it; None for not at all
    clocks: Mapping[RowId, LoweredClock | None] = field(default_factory=dict, hash=False)
    _numbers: dict[ColumnId, Mapping[RowId, float]] = field(default_factory=dict, repr=False)

    def number(self, *names: ColumnId, row: RowId = SYSTEM_ROW) -> float | None:
        """The first of these columns that has a number in a row."""
        for name in names:
            column = self.catalog.get(name)
            value = None if column is None else self.frame.cell(column, row)
            if isinstance(value, (int, float)):
                return value
        return None

    def amount(self, *names: ColumnId, unit: bool = True) -> str:
        """The first of these columns that has a number for the machine, in the user's unit; "" for none."""
        for name in names:
            column, value = self.catalog.get(name), self.number(name)
            if column is not None and value is not None:
                return column.amount(value, unit=unit)
        return ""

    def why(self, name: ColumnId) -> Unavailable | None:
        """Why a column has no value for the machine; None if it has one."""
        if (column := self.catalog.get(name)) is None:
            return Unavailable(Reason.NO_HARDWARE, f"this machine has no column {name}")
        return self.frame.why(column, SYSTEM_ROW)

    def can(self, name: ColumnId) -> bool:
        """Whether the machine has what a column needs, whether or not it was read in this interval."""
        column = self.catalog.get(name)
        return column is not None and self.frame.can(column)

    def numbers(self, *names: ColumnId) -> Mapping[RowId, float]:
        """The first of these columns that is known on any CPU, by CPU."""
        for name in names:
            if (numbers := self._numbers.get(name)) is None:
                numbers = self._numbers[name] = self._read(name)
            if numbers:
                return numbers
        return {}

    def _cells(self, name: ColumnId) -> tuple[Sequence[RowId], Sequence[Value]]:
        """The CPUs and a column's cells of them; nothing where the machine has no such column."""
        column = self.catalog.get(name)
        if column is None or not self.frame.can(column):
            return (), ()
        rows = self.frame.rows(Scope.CPU)
        return rows, self.frame.cells(column, rows)

    def _read(self, name: ColumnId) -> Mapping[RowId, float]:
        rows, cells = self._cells(name)
        if set(map(type, cells)) <= _NUMBERS:  # the usual case: a thousand rows are not checked one by one
            return dict(zip(rows, cast("Sequence[float]", cells), strict=True))
        return {row: cell for row, cell in zip(rows, cells, strict=True) if isinstance(cell, (int, float))}

    def texts(self, name: ColumnId) -> Mapping[RowId, str]:
        """The words of a column by CPU, as far as known."""
        return {row: cell for row, cell in zip(*self._cells(name), strict=True) if isinstance(cell, str)}

    @cached_property
    def busy(self) -> Mapping[RowId, float]:
        """Percent of the interval in which each CPU worked, as far as known."""
        return self.numbers("Busy%", "Load%")

    def lasts(self, percent: float, cpus: int) -> bool:
        """Whether a share of time is several ticks of /proc/stat, one of which is 10 % of a CPU in 0.1 s.

        Args:
            percent: of the CPUs' time in the interval.
            cpus: the CPUs of which it is a share.
        """
        return percent / 100.0 * cpus * (self.frame.seconds or 0.0) * TICKS >= _FEWEST_TICKS

    @cached_property
    def queued(self) -> float | None:
        """Mean number of tasks that wait for a CPU, or the share of time in which one does; None if unknown."""
        waited = self.number("RunDelay%", "PSIcpu%")
        return None if waited is None else waited / 100.0

    @property
    def online(self) -> int:
        """The CPUs on which tasks can run, measured or not, because run queue and pressure cover all of them."""
        return self.frame.topology.online(Scope.CPU)

    @cached_property
    def load(self) -> float | None:
        """Percent of the interval in which the CPUs worked or wanted to work, by the kernel's accounting."""
        return self.number("Load%", "Busy%")


def name_of(moment: JudgedFrame, row: RowId) -> str:
    """A row's name within a sentence: "CPU 3", "package 0"."""
    name = row_name(moment.frame.topology, row)
    return f"CPU{name[3:]}" if row.scope is Scope.CPU else name


def opening(text: str) -> str:
    """A text at the start of a sentence."""
    return text[:1].upper() + text[1:]
