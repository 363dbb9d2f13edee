"""Rules: a cause of slowness each, when it holds in an interval, how sure that is, and the words for it.

Findings of different kinds are compared by one number: the share of the wanted work that is lost. Of what tasks would
have got done in the interval on the same machine with nothing in their way, it is the part that they did not get done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from functools import cached_property
from typing import Final, cast

from turbotui.dataclass import dataclass
from turbotui.diagnosis.limit_history import LimitVerdict
from turbotui.machine.tasks.process_stats import TICKS
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.sampling.frame import Frame
from turbotui.tables.row_names import row_name

_NUMBERS: Final = frozenset((int, float))
_FEWEST_TICKS: Final = 2.5  # one or two can be chance


class Certainty(Enum):
    """How sure a rule is that its cause is present and costs what the finding says."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


WEIGHTS: Final[Mapping[Certainty, float]] = {
    Certainty.CERTAIN: 1.0, Certainty.LIKELY: 0.8, Certainty.POSSIBLE: 0.5,
}  # fmt: skip
"""Factors by which findings are ranked: a guess goes behind what was counted, unless it would cost twice as much."""


class Whose(Enum):
    """By which of their figures the tasks responsible for a cause are ranked."""

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
    """A rule's answer where it has nothing to report."""

    CLEAR = "not so"
    UNKNOWN = "what it reads is not known here"
    NOT_ASKED = "nobody had read what it reads"


@dataclass(frozen=True, slots=True)
class Observed:
    """A cause that is there in an interval.

    Attributes:
        lost: share of the wanted work that it takes, 0 to 1.
        sentence: with the number; begins with a capital letter, and has no full stop.
        sure: how sure that is.
        row: where; the whole machine where it is everywhere.
        remedy: what a person can do, where it is more than the rule's own.
        who: names of groups or devices that the readings themselves give.
    """

    lost: float
    sentence: str
    sure: Certainty
    row: RowId = SYSTEM_ROW
    remedy: str = ""
    who: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SlownessRule:
    """A cause of slowness.

    Attributes:
        id: one word, as machine formats have it.
        cause: a noun phrase for people.
        needs: the columns that it reads; of each group one has to be known.
        judge: what is so in an interval.
        source: where these readings come from, in a word, for the line that says what could not be judged.
        screen: key of the screen that leads on.
        remedy: what a person can do; command lines are for them to run, never run here.
        whose: by what the tasks are found that have to do with it.
        wants: columns that make the sentence better.
        costly: whether reading it takes files of every CPU, so that it is only read where somebody asks.
        least: percent of the wanted work below which a person does not want to hear of it.
    """

    id: str
    cause: str
    needs: tuple[tuple[ColumnId, ...], ...]
    judge: Callable[[JudgedFrame], Observed | NoFinding]
    source: str
    screen: str
    remedy: str
    whose: Whose = Whose.NOBODY
    wants: tuple[ColumnId, ...] = ()
    costly: bool = False
    least: float = 0.0

    @property
    def columns(self) -> tuple[ColumnId, ...]:
        """Every column that the rule reads."""
        return (*(name for group in self.needs for name in group), *self.wants)


@dataclass(frozen=True, slots=True)
class MemoryShare:
    """Memory traffic of a package in an interval.

    Attributes:
        row: the package.
        rate: bytes per second.
        peak: bytes per second that its channels can move.
        at_most: whether the peak is only an upper limit.
    """

    row: RowId
    rate: float
    peak: float
    at_most: bool


@dataclass(frozen=True, slots=True)
class ThrottledGroup:
    """A control group whose CPU quota was used up.

    Attributes:
        name: below the mount, as it may reach a terminal.
        percent: of the periods of its quota.
        quota: CPUs that it allows; None where it is not known.
        stood: CPUs' worth of time for which its tasks stood still; None where the kernel does not count it.
    """

    name: str
    percent: float
    quota: float | None
    stood: float | None = None


@dataclass(frozen=True, slots=True)
class PressedGroup:
    """A control group whose tasks waited.

    Attributes:
        name: below the mount, as it may reach a terminal.
        percent: of the time in which some of its tasks waited for a resource.
    """

    name: str
    percent: float

    @property
    def said(self) -> str:
        """The group and how much it waited."""
        return f"{self.name} (waits {self.percent:.0f} % of the time)"


@dataclass(frozen=True, slots=True)
class Seen:
    """Findings of looks at tasks, control groups and settings, which cost too much for every tick.

    Attributes:
        busiest: name of the thread that has the most CPU time, and its share of one CPU; None where nobody looked.
        groups: whether control groups were looked at.
        throttled: the one that stood still most; None where none did.
        pressed: by resource ("cpu", "memory", "io") the innermost group that waited most for it.
        placement: what says why the kernel chose the cores that it chose; "" for nothing.
    """

    busiest: tuple[str, float] | None = None
    groups: bool = False
    throttled: ThrottledGroup | None = None
    pressed: Mapping[str, PressedGroup] = field(default_factory=dict, hash=False)
    placement: str = ""

    def waiting(self, resource: str) -> tuple[str, ...]:
        """The group that waited most for a resource, in words; none where none did."""
        group = self.pressed.get(resource)
        return () if group is None else (group.said,)


@dataclass(frozen=True)
class JudgedFrame:
    """One interval as rules see it.

    Attributes:
        frame: of the interval.
        catalog: of the machine.
        limits: what holds each package back, with the past that was seen.
        memory: what the memory of the fullest package moved, of what it can; NOT_ASKED where nobody asked.
        seen: what looks at tasks and control groups found, beside the frame's columns.
    """

    frame: Frame
    catalog: Catalog
    limits: Sequence[LimitVerdict] = ()
    memory: MemoryShare | NoFinding = NoFinding.NOT_ASKED
    seen: Seen = field(default_factory=Seen)
    _numbers: dict[ColumnId, Mapping[RowId, float]] = field(default_factory=dict, repr=False)

    def number(self, *names: ColumnId, row: RowId = SYSTEM_ROW) -> float | None:
        """The first of these columns that has a number in a row."""
        for name in names:
            column = self.catalog.get(name)
            value = None if column is None else self.frame.cell(column, row)
            if isinstance(value, int | float):
                return value
        return None

    def said(self, *names: ColumnId, unit: bool = True) -> str:
        """The first of these columns that has a number for the machine, as a person reads it; "" for none."""
        for name in names:
            column, value = self.catalog.get(name), self.number(name)
            if column is not None and value is not None:
                return column.amount(value, unit=unit)
        return ""

    def can(self, name: ColumnId) -> bool:
        """Whether the machine has what a column needs, be it read in this interval or not."""
        column = self.catalog.get(name)
        return column is not None and self.frame.can(column)

    def numbers(self, *names: ColumnId) -> Mapping[RowId, float]:
        """The first of these columns that is known on any CPU, as far as it is known."""
        for name in names:
            found = self._numbers.get(name)
            if found is None:
                found = self._numbers[name] = self._read(name)
            if found:
                return found
        return {}

    def _read(self, name: ColumnId) -> Mapping[RowId, float]:
        column = self.catalog.get(name)
        if column is None or not self.frame.can(column):
            return {}
        rows = self.frame.rows(Scope.CPU)
        cells = self.frame.cells(column, rows)
        if set(map(type, cells)) <= _NUMBERS:  # nearly always: a thousand rows are not looked at one by one
            return dict(zip(rows, cast("Sequence[float]", cells), strict=True))
        return {row: cell for row, cell in zip(rows, cells, strict=True) if isinstance(cell, int | float)}

    def texts(self, name: ColumnId) -> Mapping[RowId, str]:
        """The words of a column on each CPU, as far as they are known."""
        column = self.catalog.get(name)
        if column is None or not self.frame.can(column):
            return {}
        rows = self.frame.rows(Scope.CPU)
        cells = self.frame.cells(column, rows)
        return {row: cell for row, cell in zip(rows, cells, strict=True) if isinstance(cell, str)}

    @cached_property
    def busy(self) -> Mapping[RowId, float]:
        """Percent of the interval in which each CPU worked, as far as it is known."""
        return self.numbers("Busy%", "Load%")

    def lasts(self, percent: float, cpus: int) -> bool:
        """Whether a share of the time is several ticks of /proc/stat: one is 10 % of a CPU in 0.1 s.

        Args:
            percent: of their time in the interval.
            cpus: whose time it is a share of.
        """
        return percent / 100.0 * cpus * (self.frame.seconds or 0.0) * TICKS >= _FEWEST_TICKS

    @property
    def online(self) -> int:
        """CPUs that tasks can run on, be they measured or not: run queue and pressure are those of all."""
        topology = self.frame.topology
        return max(len(topology.cpus), len(topology.ids.get(Scope.CPU, ())))

    @cached_property
    def load(self) -> float | None:
        """Percent of the interval in which the CPUs worked, or wanted to, as the kernel accounts for it."""
        return self.number("Load%", "Busy%")


def name_of(moment: JudgedFrame, row: RowId) -> str:
    """A row within a sentence: "CPU 3", "package 0"."""
    name = row_name(moment.frame.topology, row)
    return f"CPU{name[3:]}" if row.scope is Scope.CPU else name


def opening(text: str) -> str:
    """A text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]
