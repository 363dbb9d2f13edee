"""Columns: what people read. A column names the signals it needs and computes one cell from their reduced deltas."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from enum import Enum
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from turbotui.dataclass import dataclass
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId
from turbotui.untrusted import one_line

ColumnId: TypeAlias = str
"""Equal to turbostat's column name where turbostat has the column."""

Value: TypeAlias = float | int | str | None
"""A computed value in the column's display unit; None is unknown, and `Frame.why` says why."""

R = TypeVar("R")
"""What the formulas of a table are given: one row of it."""


class Category(Enum):
    """Groups of columns in the picker, with turbostat's category names (man page; docs/specs/turbostat.md 1.4)."""

    TOPOLOGY = "topology"
    FREQUENCY = "frequency"
    IDLE = "idle"
    POWER = "power"
    THERMAL = "thermal"
    KERNEL = "kernel"
    INTERRUPT = "interrupt"
    PRESSURE = "pressure"
    CACHE = "cache"
    OTHER = "other"


INTERVAL: Final = ""
"""In place of a signal's id: the interval from tick to tick, for what is made of no signal."""


class Inputs(Protocol):
    """Inputs of a column's formula, reduced to the row it is computed for.

    Every method gives None for what is unknown. Values are SI (Hz, s, J, °C).
    """

    def delta(self, signal: SignalId) -> float | None:
        """Increase over the interval, reduced by the signal's rule."""

    def total(self, signal: SignalId) -> float | None:
        """Increase over the interval summed over all instances, whatever the signal's rule; None if one is unknown."""

    def rate(self, signal: SignalId) -> float | None:
        """Increase per second, each instance divided by its own elapsed time before reducing."""

    def total_rate(self, signal: SignalId) -> float | None:
        """Like `total`, but divides each instance's increase by its own elapsed time before adding."""

    def together(self, *signals: SignalId) -> bool:
        """Whether the increases of these counters are of one window of time, as far as they are known at all.

        They are if every instance in the row has the same elapsed time: read by one system call, or by a clock that
        stands still meanwhile. Else a quotient of increases is off by the quotient of the windows, and rates are to be
        divided instead: see `catalog.formulas.comparable`.
        """

    def value(self, signal: SignalId) -> float | None:
        """A gauge at the end of the interval, or a constant."""

    def text(self, signal: SignalId) -> str | None:
        """A text gauge (governor, driver); None when instances differ."""

    def elapsed(self, signal: SignalId) -> float | None:
        """Seconds between the two readings of this signal (mean over the instances of the row), or of `INTERVAL`."""

    def place(self, scope: Scope) -> int | None:
        """The id that sysfs gives the enclosing instance (core_id, physical_package_id ...); None above its scope."""

    def each(self, scope: Scope) -> Iterable[Inputs]:
        """Inputs of every instance of a finer level inside the row; of the row itself where it is not coarser.

        For what cannot be made of reduced signals: a product of two of them is not the sum of the products. Ask each
        before the next is taken.
        """

    def core_type(self) -> str | None:
        """"P", "E", "LP", an Arm capacity class, or None on machines with one kind of core."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Values from which a cell is marked; `low` true means marked at or below them instead."""

    amber: float
    red: float
    low: bool = False


End: TypeAlias = float | ColumnId
"""An end of a scale: a number in the display unit, or the column of the same table that has it in the same row."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Between which ends a value lies: how much it is of what is possible.

    Attributes:
        high: the upper end, best first: the first that is known is taken.
        low: the lower end, likewise.
        most: numbers beyond this are no end: registers say "no limit" so.
    """

    high: tuple[End, ...]
    low: tuple[End, ...] = (0.0,)
    most: float = math.inf

    def ends(self, find: Callable[[ColumnId], Value]) -> tuple[float, float] | None:
        """Both ends by the columns of a row, the lower one first; None where the upper one is not known."""
        low, high = (self._first(ends, find) for ends in (self.low, self.high))
        return None if low is None or high is None or high <= low else (low, high)

    def _first(self, ends: tuple[End, ...], find: Callable[[ColumnId], Value]) -> float | None:
        for end in ends:
            value = find(end) if isinstance(end, str) else end
            if isinstance(value, int | float) and value <= self.most:
                return float(value)
        return None


PERCENT = Scale((100.0,))
"""The scale of shares of a hundred of which much is worth a look."""


@dataclass(frozen=True, slots=True)
class ShownAs:
    """Another unit in which people want to read a value; nothing is computed in it.

    Attributes:
        unit: its symbol.
        factor, offset: the shown number is the value times the factor, and the offset.
    """

    unit: str
    factor: float
    offset: float = 0.0

    def of(self, value: float) -> float:
        """The number that is shown for a value."""
        return value * self.factor + self.offset

    def back(self, shown: float) -> float:
        """The value that is shown as this number."""
        return (shown - self.offset) / self.factor

    def worked(self, value: str) -> str:
        """The arithmetic that leads from a value to what is shown: "47 x 1.8 + 32"."""
        times = "" if self.factor == 1.0 else f" x {self.factor:g}"
        return f"{value}{times}" + (f" + {self.offset:g}" if self.offset else "")


@dataclass(frozen=True)  # with slots, Column[R](...) fails: typing sets __orig_class__ (CPython issue 90562)
class Column(Generic[R]):
    """One column of a table whose formulas are given an R: what screens, formats, explanations and help all walk.

    Attributes:
        id: its name, unique in its table; also the title.
        unit: what the number is in: "MHz", "%", "W", "°C", "/s", "".
        decimals: fixed number of decimals; -1 for texts, and for numbers that are written in full.
        needs: what it is made of, by the names that its table knows: all of these must be had.
        compute: the formula; returns the display unit, None for unknown. Must not raise on zero deltas. Run on
            `traced.Traced` numbers it tells its arithmetic, so it is plain arithmetic on what it asks for: no float(),
            int() or max() of it.
        formula: in words, where the arithmetic of `compute` does not say what is done.
        help: one or more sentences.
        document: what it follows.
        width: of the value at its widest, without separators; the title may be wider.
        priority: 0 stays longest when the terminal is narrow.
        default: shown from the start.
        thresholds: from which values a cell is marked.
        scale: what its values are a share of, for their level; None where much is no more than little.
        scale_max: fixed top of the sparkline in display units; None where the machine's limits or the peak decide.
        doubt: what keeps `compute` from a value although every need is known: "cycles is 0"; "" for nothing special.
        identity: says which row it is rather than what it measures: machine formats have it as a key of the row.
        hexadecimal: written in hexadecimal in text.
        shown: the unit in which a person wants to read it on screen; None for its own.
    """

    id: ColumnId
    unit: str
    decimals: int
    needs: tuple[str, ...]
    compute: Callable[[R], Value]
    formula: str = ""
    help: str = ""
    document: str = ""
    width: int = 6
    priority: int = 5
    default: bool = True
    thresholds: Thresholds | None = None
    scale: Scale | None = None
    scale_max: float | None = None
    doubt: Callable[[R], str] | None = None
    identity: bool = False
    hexadecimal: bool = False
    shown: ShownAs | None = None

    def __post_init__(self) -> None:
        """Names and units that a person, a file or a device gave stay in their cell: no TAB, no line break."""
        for name in ("id", "unit"):
            object.__setattr__(self, name, one_line(getattr(self, name)))

    @property
    def title(self) -> str:
        """The heading of the column."""
        return self.id if self.shown is None else f"{self.id}{self.shown.unit}"

    @property
    def shown_unit(self) -> str:
        """The unit in which its values are read on screen."""
        return self.unit if self.shown is None else self.shown.unit

    def as_shown(self, value: Value) -> Value:
        """A value in the unit in which it is read on screen."""
        if self.shown is None or not isinstance(value, int | float):
            return value
        return self.shown.of(value)

    def amount(self, value: float, *, unit: bool = True) -> str:
        """A value of the column for a sentence, in the unit of the screen: "3,498 MHz".

        Args:
            value: in the unit in which it is computed.
            unit: whether the unit stands behind it.
        """
        shown = value if self.shown is None else self.shown.of(value)
        text = f"{shown:,.{max(0, self.decimals)}f}"
        return f"{text} {self.shown_unit}" if unit and self.unit else text

    @property
    def hint(self) -> str:
        """The help beyond the title, or the formula where the title says all."""
        return self.formula if self.help in self.title else self.help

    @property
    def heading(self) -> tuple[str, ...]:
        """The title for people, in short lines: with the unit below, unless the title says it."""
        return (self.title,) if self.title.endswith(self.unit) else (self.title, self.unit)


@dataclass(frozen=True, kw_only=True)
class CounterColumn(Column[Inputs]):
    """One column of the catalog: of CPUs and of every level of the topology.

    Attributes:
        id: turbostat's name where it has one.
        category: where the picker lists it.
        groups: every turbostat category word that selects it in --show and --hide.
        scope: the topology level it describes; a row above it is computed from reduced signals, a row below it repeats
            the value of the instance it belongs to.
        needs: signals. A column whose need is missing is listed greyed with that signal's reason.
        wants: signals used when they can be had.
        extra: beyond turbostat: not among the default columns of `turbotui stat`, so that scripts see what they know.
        whole_only: has a value on the summary row only.
        rule: is 1 where a value stands out by a rule that its vendor wrote, beside `thresholds`.
        refusal: why a need is not read although it is there, "" where it is: its device sleeps.
        bits: for a register that is told in words: what each bit of each signal means.
    """

    category: Category
    scope: Scope
    wants: tuple[SignalId, ...] = ()
    groups: tuple[str, ...] = ()
    extra: bool = False
    whole_only: bool = False
    bits: Mapping[SignalId, Mapping[int, str]] = field(default_factory=dict, compare=False)
    refusal: Callable[[Inputs], str] | None = None
    rule: CounterColumn | None = None

    @property
    def heading(self) -> tuple[str, ...]:
        """The title alone: turbostat's, whose units people know."""
        return (self.title,)
