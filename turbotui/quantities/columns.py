"""Columns: what people read. A column names the signals it needs and computes a cell from their increases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from enum import Enum
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from turbotui.dataclass import dataclass
from turbotui.installed_features import failure_of, package_of
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId
from turbotui.quantities.unavailable import Unavailable
from turbotui.untrusted import one_line

ColumnId: TypeAlias = str
"""Equal to turbostat's column name where turbostat has the column."""

Value: TypeAlias = "float | int | str | None"
"""A computed value in the column's display unit; None is unknown, and `Frame.why` says why."""

R = TypeVar("R")
"""The input that a table gives its columns' formulas: one row."""


class Category(Enum):
    """Groups of columns in the picker, by turbostat's category names (man page; docs/specs/turbostat.md 1.4)."""

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
"""Stands for a signal's id in formulas without signals: the interval from tick to tick."""


class Inputs(Protocol):
    """Inputs of a column's formula, reduced to one row.

    Every method returns None for an unknown value. Values are in SI units (Hz, s, J, °C).
    """

    def offers(self, signal: SignalId) -> bool:
        """Whether the row has this signal at all; if it has, an unknown number of it is a lost one."""

    def delta(self, signal: SignalId) -> float | None:
        """Increase over the interval, reduced by the signal's rule."""

    def total(self, signal: SignalId) -> float | None:
        """Increase over the interval summed over all instances, whatever the signal's rule; None if one is unknown."""

    def rate(self, signal: SignalId) -> float | None:
        """Increase per second, each instance divided by its own elapsed time before reducing."""

    def total_rate(self, signal: SignalId) -> float | None:
        """Like `total`, but divides each instance's increase by its own elapsed time before adding."""

    def together(self, *signals: SignalId) -> bool:
        """Whether the increases of these counters, as far as they are known, cover one window of time.

        The increases cover one window if every instance in the row has the same elapsed time, because one system call
        read them or because the clock stood still meanwhile. Otherwise a quotient of increases is wrong by the quotient
        of the windows, and rates have to be divided instead, as `catalog.formulas.comparable` does.
        """

    def value(self, signal: SignalId) -> float | None:
        """A gauge at the end of the interval, or a constant."""

    def text(self, signal: SignalId) -> str | None:
        """A text gauge (governor, driver); None if instances differ."""

    def elapsed(self, signal: SignalId) -> float | None:
        """Seconds between the two readings of this signal (mean over the instances of the row), or of `INTERVAL`."""

    def place(self, scope: Scope) -> int | None:
        """The id that sysfs gives the enclosing instance (core_id, physical_package_id ...); None above its scope."""

    def each(self, scope: Scope) -> Iterable[Inputs]:
        """Inputs of every instance of a finer level inside the row, or of the row itself if the level is not finer.

        Use it for values that reduced signals cannot give: a product of two sums is not the sum of the products. Ask
            each instance for its values before taking the next.
        """

    def core_type(self) -> str | None:
        """"P", "E", "LP", an Arm capacity class, or None on machines with one kind of core."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Values from which a cell is marked; with `low`, values at or below them."""

    amber: float
    red: float
    low: bool = False


End: TypeAlias = "float | ColumnId"
"""An end of a scale: a number in the display unit, or a column of the same table whose value is the end."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The range in which a column's values lie; it gives the level of a value."""

    high: tuple[End, ...]  # candidates for the upper end, best first; the first that is known counts
    low: tuple[End, ...] = (0.0,)  # candidates for the lower end, likewise
    most: float = math.inf  # larger numbers are no end, because registers use them for "no limit"

    def ends(self, find: Callable[[ColumnId], Value]) -> tuple[float, float] | None:
        """Both ends, the lower one first, from the columns of a row; None if the upper end is unknown."""
        low, high = (self._first(ends, find) for ends in (self.low, self.high))
        return None if low is None or high is None or high <= low else (low, high)

    def _first(self, ends: tuple[End, ...], find: Callable[[ColumnId], Value]) -> float | None:
        for end in ends:
            value = find(end) if isinstance(end, str) else end
            if isinstance(value, (int, float)) and value <= self.most:
                return float(value)
        return None


PERCENT = Scale((100.0,))
"""The scale of a percentage whose high values deserve attention."""


@dataclass(frozen=True, slots=True)
class ShownAs:
    """Another unit in which a user wants to read a value; nothing is computed in this unit."""

    unit: str  # its symbol
    # factor, offset: the shown number is value * factor + offset
    factor: float
    offset: float = 0.0

    def of(self, value: float) -> float:
        """The number shown for a value."""
        return value * self.factor + self.offset

    def back(self, shown: float) -> float:
        """The value that a shown number stands for."""
        return (shown - self.offset) / self.factor

    def worked(self, value: str) -> str:
        """The arithmetic from a value to the shown number: "47 x 1.8 + 32"."""
        times = "" if self.factor == 1.0 else f" x {self.factor:g}"
        return f"{value}{times}" + (f" + {self.offset:g}" if self.offset else "")


def _contained(compute: Callable[[R], Value]) -> Callable[[R], Value]:
    """A formula of another package, whose errors are unknown values."""
    def contained(row: R) -> Value:
        try:
            return _checked(compute(row))
        except Exception as error:  # noqa: BLE001 - whatever the formula raises
            failure_of(error, compute.__module__)
            return None
    return contained


def _contained_doubt(compute: Callable[[R], Value], doubt: Callable[[R], str] | None) -> Callable[[R], str]:
    """Why a formula of another package has no value: its error, or what it says itself."""
    def contained(row: R) -> str:
        try:
            _checked(compute(row))
            return "" if doubt is None else doubt(row)
        except Exception as error:  # noqa: BLE001 - as above
            return failure_of(error, compute.__module__)
    return contained


_SMALL: Final = 0.1
"""Below this a number of fixed decimals has few digits that mean something."""


def _checked(value: Value) -> Value:
    if value is None or isinstance(value, (float, int, str)):
        return value
    raise TypeError(f"a value is {type(value).__name__}")


@dataclass(frozen=True)  # with slots, Column[R](...) fails because typing sets __orig_class__ (CPython issue 90562)
class Column(Generic[R]):
    """One column of a table whose formulas take an R; screens, formats, explanations and help all use it."""

    id: ColumnId  # its name, unique in its table; also the title
    unit: str  # what the number is in: "MHz", "%", "W", "°C", "/s", ""
    decimals: int  # fixed number of decimals; -1 for texts, and for numbers that are written in full
    needs: tuple[str, ...]  # names of the inputs, all of which must be available
    # the formula; returns the display unit, None for unknown. It must not raise on zero deltas. Run on `traced.Traced`
    # numbers it reports its arithmetic, so it must be plain arithmetic on its inputs, without float(), int() or max().
    compute: Callable[[R], Value]
    formula: str = ""  # words, if the arithmetic of `compute` does not show what is done
    help: str = ""  # one or more sentences
    document: str = ""  # the document that defines it
    width: int = 6  # of the value at its widest, without separators; the title may be wider
    priority: int = 5  # 0 stays longest when the terminal is narrow
    default: bool = True  # shown from the start
    thresholds: Thresholds | None = None  # from which values a cell is marked
    # the range of its values, for their colour level; None if a high value is no worse than a low one
    scale: Scale | None = None
    # fixed top of the sparkline in display units; None if the machine's limits or the peak decide
    scale_max: float | None = None
    # why `compute` may have no value although every need is known: "cycles is 0"; "" for no special reason
    doubt: Callable[[R], str] | None = None
    identity: bool = False  # whether it names the row instead of measuring; machine formats have it as a key of the row
    hexadecimal: bool = False  # written in hexadecimal in text
    shown: ShownAs | None = None  # the unit in which a user wants to read it on screen; None for its own
    most_decimals: int = 0  # of a number below 0.1, which gets two significant digits; 0 where decimals are fixed
    of_peak: bool = False  # whether it is the percent of a peak, of which nothing has more than 100
    # whether it is an amount of the interval, of which twice the time has twice as much; columns of CPUs need not say
    # so, because their mean interval is made of its counters
    accumulates: bool = False

    def __post_init__(self) -> None:
        """Make names and units from users, files and devices one line without TABs, which stays in its cell."""
        for name in ("id", "unit"):
            object.__setattr__(self, name, one_line(getattr(self, name)))
        if package_of(getattr(self.compute, "__module__", None) or ""):
            object.__setattr__(self, "doubt", _contained_doubt(self.compute, self.doubt))
            object.__setattr__(self, "compute", _contained(self.compute))

    def decimals_of(self, value: float) -> int:
        """Decimals of one value: two significant digits of a small number where its size is not known before."""
        if not self.most_decimals or not 0 < abs(value) < _SMALL:
            return max(0, self.decimals)
        return max(self.decimals, min(self.most_decimals, 1 - math.floor(math.log10(abs(value)))))

    def tiny(self, value: float) -> str:
        """A number so small that `most_decimals` would leave it without two significant digits: "8.0e-7"; else ""."""
        if not self.most_decimals or not 0 < abs(value) < 10 ** (1 - self.most_decimals):
            return ""
        digits, _, exponent = f"{value:.1e}".partition("e")
        return f"{digits}e-{exponent.lstrip('-0')}"

    @property
    def title(self) -> str:
        """The heading of the column."""
        return self.id if self.shown is None else f"{self.id}{self.shown.unit}"

    @property
    def shown_unit(self) -> str:
        """The unit in which the screen shows the column's values."""
        return self.unit if self.shown is None else self.shown.unit

    def as_shown(self, value: Value) -> Value:
        """A value in the unit in which the screen shows it."""
        return value if self.shown is None or not isinstance(value, (int, float)) else self.shown.of(value)

    def amount(self, value: float, *, unit: bool = True) -> str:
        """A value of the column for a sentence, in the unit of the screen: "3,498 MHz".

        Args:
            value: in the unit in which the column is computed.
            unit: whether to append the unit.
        """
        shown = value if self.shown is None else self.shown.of(value)
        text = self.tiny(shown) or f"{shown:,.{self.decimals_of(shown)}f}"
        return f"{text} {self.shown_unit}" if unit and self.unit else text

    @property
    def hint(self) -> str:
        """The help text after the title, or the formula if the title says everything."""
        return self.formula if self.help in self.title else self.help

    @property
    def heading(self) -> tuple[str, ...]:
        """The title for people, in short lines: with the unit below, unless the title says it."""
        return (self.title,) if self.title.endswith(self.unit) else (self.title, self.unit)


@dataclass(frozen=True, kw_only=True)
class CounterColumn(Column[Inputs]):
    """A column of the catalog, for CPUs and every other level of the topology.

    Attributes:
        id: turbostat's name where it has one.
        category: where the picker lists it.
        groups: every turbostat category word that selects it in --show and --hide.
        scope: the topology level it describes; a row above it is computed from reduced signals, a row below it repeats
            the value of the instance it belongs to.
        needs: signals. A column whose need is missing is listed greyed with that signal's reason.
        wants: signals used when they can be had.
        extra: beyond turbostat: not among the default columns of `turbotui stat`, so that scripts see the columns they
            know.
        whole_only: has a value on the summary row only.
        rule: is 1 where a value stands out by its vendor's rule, beside `thresholds`.
        refusal: why an available need is not read (its device sleeps); None if it is read.
        instead_of: signals beside which it is not shown from the start, because they tell the same better.
        error: the column that tells how far its values may be off; whoever asks for it by name gets both. None
            for values as exact as what was read.
        bits: for a register shown in words, the meaning of each bit of each signal.
    """

    category: Category
    scope: Scope
    wants: tuple[SignalId, ...] = ()
    groups: tuple[str, ...] = ()
    extra: bool = False
    whole_only: bool = False
    bits: Mapping[SignalId, Mapping[int, str]] = field(default_factory=dict, compare=False)
    refusal: Callable[[Inputs], Unavailable | None] | None = None
    instead_of: frozenset[SignalId] = frozenset()
    error: CounterColumn | None = None
    rule: CounterColumn | None = None

    @property
    def heading(self) -> tuple[str, ...]:
        """The title alone: it is turbostat's, and its users know the unit."""
        return (self.title,)
